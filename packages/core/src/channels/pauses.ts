import type { PauseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The pauses of providers and senders. They are in the database, so that all servers read them and they survive a restart. */
export interface Pauses {
  /**
   * Whether the provider may send from this sender. After a pause for wrong settings, sends are tried again with a single
   * message at a time.
   */
  allows(provider: string, sender: string | null): boolean
  /** Whether an operator paused the provider or this sender: calls that have not begun do not begin. */
  isStopped(provider: string, sender: string | null): boolean
  /** Records that a message is sent to the provider. If the provider is paused, no other message follows for a while. */
  noteSend(provider: string, sender: string | null): void
  /** Records that the provider refused its settings or the sender. */
  noteMisconfigured(
    provider: string,
    sender: string | null,
    fault: { error_code: string; error_message: string },
  ): Promise<void>
  /**
   * Records that the provider accepted a message from this sender, and ends the pause. Has no effect before the time of the
   * next try, because such a message was in flight before the pause.
   */
  noteAccepted(provider: string, sender: string | null): Promise<void>
  /** Reads the pauses from the database. */
  refresh(): Promise<void>
}

const MINUTE_MS = 60_000

/** Durations of successive pauses for wrong settings. */
const RETRY_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS]

/** The minimum time between two messages that try the settings again. */
const PROBE_EVERY_MS = 10_000

/** The accepted difference between the clocks of two servers. */
const CLOCK_SLACK_MS = 10_000

export function createPauses({ storage, runtime }: { storage: Storage; runtime: Runtime }): Pauses {
  let rows = new Map<string, PauseRow>()
  const probed = new Map<string, number>()

  const pausesOf = (provider: string, sender: string | null): PauseRow[] =>
    [...new Set([keyOf(provider, null), keyOf(provider, sender)])].flatMap(
      (key) => rows.get(key) ?? [],
    )

  /** Whether one message may try the settings again. */
  function allowsProbe(row: PauseRow): boolean {
    const last_ms = probed.get(keyOf(row.provider, row.sender)) ?? Number.NEGATIVE_INFINITY
    return isProbing(row, runtime.now()) && runtime.elapsed() - last_ms >= PROBE_EVERY_MS
  }

  async function refresh(): Promise<void> {
    const found = await storage.read.providerPauses.list()
    rows = new Map(found.map((row) => [keyOf(row.provider, row.sender), row]))
    for (const key of probed.keys()) if (!rows.has(key)) probed.delete(key)
  }

  return {
    refresh,
    allows: (provider, sender) => rows.size === 0 || pausesOf(provider, sender).every(allowsProbe),
    isStopped: (provider, sender) =>
      rows.size > 0 && pausesOf(provider, sender).some(({ cause }) => cause === 'operator'),
    noteSend(provider, sender) {
      if (rows.size === 0) return
      for (const row of pausesOf(provider, sender)) {
        probed.set(keyOf(row.provider, row.sender), runtime.elapsed())
      }
    },
    async noteMisconfigured(provider, sender, { error_code, error_message }) {
      const at = runtime.now()
      const known = rows.get(keyOf(provider, sender))
      // An operator's pause stays. Other messages of the same batch are not new failures.
      if (known && !isProbing(known, at)) return
      const failures = (known?.failures ?? 0) + 1
      const wait_ms = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] as number
      const row: PauseRow = {
        provider,
        sender: sender ?? '',
        cause: 'misconfigured',
        code: error_code,
        reason: error_message,
        failures,
        retry_at: new Date(at.getTime() + wait_ms),
        created_at: at,
      }
      rows.set(keyOf(provider, sender), row)
      runtime.log.error(
        { provider, sender, error_code, retry_at: row.retry_at },
        'a provider refuses its settings and is paused; messages wait. See: svc providers status',
      )
      runtime.telemetry?.providerPaused(provider)
      await storage.write(({ providerPauses }) => providerPauses.put(row))
    },
    async noteAccepted(provider, sender) {
      if (rows.size === 0) return
      const at = runtime.now()
      for (const row of pausesOf(provider, sender).filter((row) => isProbing(row, at))) {
        rows.delete(keyOf(row.provider, row.sender))
        runtime.log.info({ provider, sender: row.sender || null }, 'a provider works again')
        await storage.write(({ providerPauses }) => providerPauses.remove(row))
      }
    },
  }
}

/**
 * Whether the next try may start; never for an operator's pause. A pause whose start is in the future was written while
 * the clock was ahead. The end of such a pause is wrong too, so a try may start now.
 */
function isProbing({ retry_at, created_at }: PauseRow, at: Date): boolean {
  if (retry_at === null) return false
  return retry_at <= at || created_at.getTime() > at.getTime() + CLOCK_SLACK_MS
}

function keyOf(provider: string, sender: string | null): string {
  return `${provider}\n${sender ?? ''}`
}
