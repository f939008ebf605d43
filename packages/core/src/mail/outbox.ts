import type { Mail, Mailer, MailKind } from '../contract/outside/mail.ts'
import type { Log } from '../runtime/runtime.ts'

/** Makes the mail when its turn has come; null when there is none to send after all. */
export type Compose = () => Promise<Mail | null>

/** What is known of a mail before it is made: whose it is, or to whom it goes, or both. */
export interface About {
  kind: MailKind
  workspace_id?: string
  /** As `emailAddress` gives it. */
  address?: string
}

/** Mails on their way: behind the answers that promised them, so that no answer's time tells whether there was one. */
export interface Outbox {
  /**
   * Takes a mail to make and send later; false when too many are waiting of all, and then nothing happens. One too many of
   * its workspace or for its address is lost too, and answered true: only an address with an account has mails under way
   * for long, and an answer must not tell that. The log has a line for each mail that is lost.
   */
  add(compose: Compose, about: About): boolean
  /** Resolves when none is waiting or under way. */
  idle(): Promise<void>
  /** Takes no more, tries once more what is waiting, and resolves when that is done or `grace_ms` are over. */
  close(grace_ms: number): Promise<void>
}

const WAITING_MAX = 1_000
/** Of one workspace, and for one address, those under way included: no one of them fills what all share. */
const WAITING_EACH_MAX = 5
const AT_ONCE_MAX = 4

/** From a failed try to the next; after the last one the mail is given up. */
const RETRY_MS = [1_000, 10_000]
const TRY_MAX_MS = 30_000

/** Keeps mails in memory until they are sent: what waits when the process dies is lost, and asked for again. */
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
  const waiting: { compose: Compose; keys: readonly string[] }[] = []
  /** How many mails of a workspace, or for an address, are waiting or under way. */
  const counts = new Map<string, number>()
  const closing = new AbortController()
  let running = 0
  let watchers: (() => void)[] = []

  async function send(mail: Mail): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const isClosing = closing.signal.aborted
      try {
        await inTime(try_max_ms, mailer.send(mail))
        return log.info({ kind: mail.kind, attempt }, 'mail.sent')
      } catch (error) {
        const wait_ms = retry_ms[attempt - 1]
        const fields = { kind: mail.kind, attempt, ...reasonOf(error) }
        if (wait_ms === undefined || isClosing) return log.error(fields, 'mail.failed')
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

  /** Which bound leaves no room for another mail; null where all do. */
  function fullOf(keys: readonly string[]): 'all' | 'one' | null {
    if (waiting.length >= WAITING_MAX) return 'all'
    return keys.some((key) => (counts.get(key) ?? 0) >= WAITING_EACH_MAX) ? 'one' : null
  }

  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        const mail = await next.compose()
        if (mail) await send(mail)
      } catch (error) {
        log.error(reasonOf(error), 'a mail could not be made')
      }
      count(next.keys, -1)
    }
    running -= 1
    if (running > 0) return
    for (const told of watchers) told()
    watchers = []
  }

  async function idle(): Promise<void> {
    if (running > 0) await new Promise<void>((resolve) => watchers.push(resolve))
  }

  return {
    add(compose, about) {
      if (closing.signal.aborted) return false
      const keys = keysOf(about)
      const full = fullOf(keys)
      if (full) {
        const { kind, workspace_id } = about
        log.warn({ kind, ...(workspace_id && { workspace_id }), waiting: full }, 'mail.dropped')
        return full === 'one'
      }
      count(keys, 1)
      waiting.push({ compose, keys })
      if (running < AT_ONCE_MAX) {
        running += 1
        // A look-up in SQLite is done before anything else can be: the answer goes out first.
        setImmediate(() => void work())
      }
      return true
    },
    idle,
    async close(grace_ms) {
      closing.abort()
      await inTime(grace_ms, idle()).catch(() => log.warn({}, 'mails were left unsent'))
    },
  }
}

function keysOf({ workspace_id, address }: About): string[] {
  return [
    ...(workspace_id === undefined ? [] : [`workspace ${workspace_id}`]),
    ...(address === undefined ? [] : [`address ${address.toLowerCase()}`]),
  ]
}

/** What went wrong, without the message: a mail server's names the address, a database's the parameters. */
function reasonOf(error: unknown): { type: string; code: unknown } {
  const { code = null } = (error ?? {}) as { code?: unknown }
  return { type: error instanceof Error ? error.name : typeof error, code }
}

/** Resolves after so long, or once the signal is given. */
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

async function inTime(max_ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${max_ms} ms`)), max_ms)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
