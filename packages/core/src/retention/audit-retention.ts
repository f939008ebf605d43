import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { assertDays } from './retention.ts'

/** The default age in days at which entries are removed. */
export const AUDIT_DAYS_DEFAULT = 365

/**
 * The number of newest entries of each action that stay in a workspace. The limit is per action: a client that changes a
 * webhook 500 times a minute reaches the limit within an hour, and displaces no entry of a login or a key.
 */
const ENTRIES_MAX = 20_000

/** The number of rows in one transaction; sends wait while it runs. */
const STEP_MAX = 1_000

/** The time between two counts, because counting the entries of every workspace scans the whole index. */
const TRIM_EVERY_MS = 60 * 60_000

const DAY_MS = 24 * 60 * 60_000

export interface AuditRetention {
  /** Removes entries that are too old, and the oldest entries of an action above its limit. */
  apply(isStopping: () => boolean): Promise<void>
}

/** @throws RangeError unless `days` is a whole number from 7 to 36,500. */
export function createAuditRetention({
  storage,
  runtime,
  days = AUDIT_DAYS_DEFAULT,
  entries_max = ENTRIES_MAX,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'elapsed'>
  days?: number | undefined
  entries_max?: number
}): AuditRetention {
  assertDays('audit_retention_days', days)
  let trimmed_ms: number | null = null

  return {
    async apply(isStopping) {
      const untilGone = async (step: () => Promise<number>) => {
        while (!isStopping() && (await step()) >= STEP_MAX);
      }
      const before = new Date(runtime.now().getTime() - days * DAY_MS)
      await untilGone(() => storage.write(({ audit }) => audit.forget(before, STEP_MAX)))
      const elapsed_ms = runtime.elapsed()
      if (trimmed_ms !== null && elapsed_ms - trimmed_ms < TRIM_EVERY_MS) return
      trimmed_ms = elapsed_ms
      for (const over of await storage.read.audit.overfull(entries_max)) {
        await untilGone(() => storage.write(({ audit }) => audit.trim(over, STEP_MAX)))
      }
    },
  }
}
