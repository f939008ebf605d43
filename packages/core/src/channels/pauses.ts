import type { PauseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Who carries nothing just now: kept in the database, so that all servers know and a restart forgets nothing. */
export interface Pauses {
  /**
   * Whether the provider may carry something from this sender. One that was paused for its settings is tried again
   * after a while, with a single message at a time.
   */
  lets(provider: string, sender: string | null): boolean
  /** A message goes to the provider: where that tries it again, no other one follows for a while. */
  tried(provider: string, sender: string | null): void
  /** The provider said that its settings, or those of this sender, are wrong. */
  misconfigured(
    provider: string,
    sender: string | null,
    fault: { error_code: string; error_message: string },
  ): Promise<void>
  /**
   * The provider took a message from this sender: what is wrong is mended. Says nothing while it is not tried again yet:
   * what it takes then was on its way before.
   */
  worked(provider: string, sender: string | null): Promise<void>
  /** Looks at what others have paused and resumed. */
  refresh(): Promise<void>
}

const MINUTE_MS = 60_000

/** How long a pause for wrong settings lasts: longer each time. */
const RETRY_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS]

/** Between two messages that try whether the settings are right again. */
const PROBE_EVERY_MS = 10_000

/** The clocks of two servers may differ by so much. */
const CLOCK_SLACK_MS = 10_000

export function createPauses({ storage, runtime }: { storage: Storage; runtime: Runtime }): Pauses {
  let rows = new Map<string, PauseRow>()
  const probed = new Map<string, number>()

  const pausesOf = (provider: string, sender: string | null): PauseRow[] =>
    [...new Set([keyOf(provider, null), keyOf(provider, sender)])].flatMap(
      (key) => rows.get(key) ?? [],
    )

  /** Whether one may go through, because it is time to try again. */
  function isOver(row: PauseRow): boolean {
    const last_ms = probed.get(keyOf(row.provider, row.sender)) ?? Number.NEGATIVE_INFINITY
    return isTried(row, runtime.now()) && runtime.elapsed() - last_ms >= PROBE_EVERY_MS
  }

  async function refresh(): Promise<void> {
    const found = await storage.read.providerPauses.list()
    rows = new Map(found.map((row) => [keyOf(row.provider, row.sender), row]))
    for (const key of probed.keys()) if (!rows.has(key)) probed.delete(key)
  }

  return {
    refresh,
    lets: (provider, sender) => rows.size === 0 || pausesOf(provider, sender).every(isOver),
    tried(provider, sender) {
      if (rows.size === 0) return
      for (const row of pausesOf(provider, sender)) {
        probed.set(keyOf(row.provider, row.sender), runtime.elapsed())
      }
    },
    async misconfigured(provider, sender, { error_code, error_message }) {
      const at = runtime.now()
      const known = rows.get(keyOf(provider, sender))
      // An operator's pause stands; and what others of the same batch say is no new failure.
      if (known && !isTried(known, at)) return
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
    async worked(provider, sender) {
      if (rows.size === 0) return
      const at = runtime.now()
      const over = pausesOf(provider, sender).filter((row) => isTried(row, at))
      for (const row of over) {
        rows.delete(keyOf(row.provider, row.sender))
        runtime.log.info({ provider, sender: row.sender || null }, 'a provider works again')
        await storage.write(({ providerPauses }) => providerPauses.remove(row))
      }
    },
  }
}

/**
 * Whether the time has come from which it is tried again; never after an operator's pause. A pause that began later than
 * now was written while the clock was ahead, and so was its end: it is tried now.
 */
function isTried({ retry_at, created_at }: PauseRow, at: Date): boolean {
  if (retry_at === null) return false
  return retry_at <= at || created_at.getTime() > at.getTime() + CLOCK_SLACK_MS
}

function keyOf(provider: string, sender: string | null): string {
  return `${provider}\n${sender ?? ''}`
}
