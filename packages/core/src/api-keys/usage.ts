import { LIMITS } from '../contract/limits.ts'
import type { ApiKeyRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The first use of a key is stored within a second; later uses are stored at most once a minute. */
const FIRST_MS = 1_000

const WRITE_MAX = 50

/** The maximum number of keys whose use waits to be stored. */
const WAITING_MAX = 10_000

/** Stores `last_used_at` in the background, at most once a minute for each key. */
export function createUsage({ storage, runtime }: { storage: Storage; runtime: Runtime }) {
  let waiting = new Map<string, { workspace_id: string; id: string; at: Date }>()
  let timer: NodeJS.Timeout | null = null

  async function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting.size === 0) return
    // The uses are sorted, so that servers that update the same keys do not deadlock.
    const uses = [...waiting.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    waiting = new Map()
    try {
      // The transactions are small, because sends wait while a transaction runs.
      for (let at = 0; at < uses.length; at += WRITE_MAX) {
        await storage.write(({ apiKeys }) => apiKeys.touch(uses.slice(at, at + WRITE_MAX)))
      }
    } catch (error) {
      runtime.log.warn({ err: error }, 'last_used_at was not written')
    }
  }

  return {
    flush,
    note(key: Pick<ApiKeyRow, 'workspace_id' | 'id' | 'last_used_at'>, at: Date): void {
      const age_s = key.last_used_at ? (at.getTime() - key.last_used_at.getTime()) / 1000 : null
      // A `last_used_at` in the future was stored while the clock was ahead.
      if (age_s !== null && Math.abs(age_s) < LIMITS.api_key_touch_s) return
      if (waiting.has(key.id) || waiting.size >= WAITING_MAX) return
      waiting.set(key.id, { workspace_id: key.workspace_id, id: key.id, at })
      timer ??= setTimeout(() => void flush(), FIRST_MS).unref()
    },
    close: flush,
  }
}
