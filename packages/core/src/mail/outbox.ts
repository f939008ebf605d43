import type { Mail, Mailer, MailKind } from '../contract/outside/mail.ts'
import type { Log } from '../runtime/runtime.ts'
import { within } from '../runtime/within.ts'

/** Composes the mail when a worker takes it; null when there is no mail to send. */
type Compose = () => Promise<Mail | null>

/** A mail before it is composed, with its workspace or its address or both. */
interface About {
  kind: MailKind
  workspace_id?: string
  /** The address as `emailAddress` returns it. */
  address?: string
  /**
   * The caller adds the mail again until it is sent. One of each kind and workspace is in the queue at a time, and it does not take the
   * last half of the queue, because other mails are lost when the queue is full.
   */
  is_repeated?: boolean
}

/** The queue of mails. They are sent after the response, so that the response time does not show whether there was a mail. */
export interface Outbox {
  /**
   * Queues a mail. Returns false and drops it when the whole queue is full. A mail above the limit of its workspace or
   * address is dropped too, but the result is true: only an address with an account has mails in the queue for long, and a
   * response must not disclose that. Each dropped mail is logged, unless it is repeated. `onSent` is called after the mail server
   * took the mail.
   */
  add(compose: Compose, about: About, onSent?: () => Promise<void>): boolean
  /** Resolves when no mail is waiting or being sent. */
  idle(): Promise<void>
  /** Refuses new mails, tries each waiting mail once more, and resolves when done or after `grace_ms`. */
  close(grace_ms: number): Promise<void>
}

const WAITING_MAX = 1_000
/** The maximum number of waiting mails with which a repeated mail is added. */
const WAITING_MAX_REPEATED = 500
/** The maximum number of waiting or sending mails of one workspace or address, so that none of them fills the shared queue. */
const WAITING_EACH_MAX = 5
const AT_ONCE_MAX = 4

/** Delays between tries; after the last try the mail is discarded. */
const RETRY_MS = [1_000, 10_000]
const TRY_MAX_MS = 30_000

/** Holds mails in memory: mails that wait when the process dies are lost, and the owner must request them again. */
export function createOutbox({
  mailer,
  log,
  retry_ms = RETRY_MS,
  try_max_ms = TRY_MAX_MS,
}: {
  mailer: Mailer
  log: Log
  retry_ms?: readonly number[]
  try_max_ms?: number
}): Outbox {
  const waiting: {
    compose: Compose
    keys: readonly string[]
    onSent: (() => Promise<void>) | undefined
  }[] = []
  /** The number of mails of a workspace, or for an address, that are waiting or being sent. */
  const counts = new Map<string, number>()
  const closing = new AbortController()
  let running = 0
  let watchers: (() => void)[] = []

  /** Returns whether the mail server took the mail. */
  async function send(mail: Mail): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const isClosing = closing.signal.aborted
      try {
        await within(try_max_ms, mailer.send(mail), () => {
          throw new Error(`not done within ${try_max_ms} ms`)
        })
        log.info({ kind: mail.kind, attempt }, 'mail.sent')
        return true
      } catch (error) {
        const wait_ms = retry_ms[attempt - 1]
        const fields = { kind: mail.kind, attempt, ...reasonOf(error) }
        if (wait_ms === undefined || isClosing) {
          log.error(fields, 'mail.failed')
          return false
        }
        log.warn(fields, 'mail.attempt_failed')
        await pause(wait_ms, closing.signal)
      }
    }
  }

  function count(keys: readonly string[], change: 1 | -1): void {
    for (const key of keys) {
      const now = (counts.get(key) ?? 0) + change
      if (now === 0) counts.delete(key)
      else counts.set(key, now)
    }
  }

  /** The limit that is reached; null when there is room. */
  function fullOf(keys: readonly string[]): 'all' | 'one' | null {
    if (waiting.length >= WAITING_MAX) return 'all'
    return keys.some((key) => (counts.get(key) ?? 0) >= WAITING_EACH_MAX) ? 'one' : null
  }

  function notNoted(error: unknown): void {
    log.error(reasonOf(error), 'a sent mail could not be noted')
  }

  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        const mail = await next.compose()
        if (mail && (await send(mail))) await next.onSent?.().catch(notNoted)
      } catch (error) {
        log.error(reasonOf(error), 'a mail could not be composed')
      }
      count(next.keys, -1)
    }
    running -= 1
    if (running > 0) return
    for (const resolve of watchers) resolve()
    watchers = []
  }

  async function idle(): Promise<void> {
    if (running > 0) await new Promise<void>((resolve) => watchers.push(resolve))
  }

  return {
    add(compose, about, onSent) {
      if (closing.signal.aborted) return false
      const keys = keysOf(about)
      if (about.is_repeated) {
        if (waiting.length >= WAITING_MAX_REPEATED) return false
        const one = repeatedKey(about)
        if (counts.has(one) || fullOf(keys)) return true
        keys.push(one)
      }
      const full = fullOf(keys)
      if (full) {
        const { kind, workspace_id } = about
        log.warn({ kind, ...(workspace_id && { workspace_id }), waiting: full }, 'mail.dropped')
        return full === 'one'
      }
      count(keys, 1)
      waiting.push({ compose, keys, onSent })
      if (running < AT_ONCE_MAX) {
        running += 1
        // A look-up in SQLite blocks the thread, so the response goes out first.
        setImmediate(() => void work())
      }
      return true
    },
    idle,
    async close(grace_ms) {
      closing.abort()
      await within(grace_ms, idle(), () => log.warn({}, 'not all mails were sent'))
    },
  }
}

function keysOf({ workspace_id, address }: About): string[] {
  return [
    ...(workspace_id === undefined ? [] : [`workspace ${workspace_id}`]),
    ...(address === undefined ? [] : [`address ${address.toLowerCase()}`]),
  ]
}

function repeatedKey({ kind, workspace_id }: About): string {
  return `${kind} of ${workspace_id}`
}

/** The error without its message, which may contain the address or the parameters of a query. */
function reasonOf(error: unknown): { type: string; code: unknown } {
  const { code = null } = (error ?? {}) as { code?: unknown }
  return { type: error instanceof Error ? error.name : typeof error, code }
}

/** Resolves after `ms`, or once the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
