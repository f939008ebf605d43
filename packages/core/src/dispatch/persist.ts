import type { Log } from '../runtime/runtime.ts'

/** The pauses between attempts: about one lease in total, after which the work counts as interrupted. */
const PAUSES_MS = [100, 500, 2_000, 5_000, 10_000, 10_000, 10_000, 10_000, 10_000]

/**
 * Stores results that cannot be obtained again. A failed write is retried for each item separately, so that an item that
 * can never be stored does not block the others.
 */
export async function persist<Item>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<unknown>,
  log: Log,
): Promise<void> {
  try {
    await write(items)
  } catch (error) {
    log.warn({ err: error, items: items.length }, 'outcomes were not stored; retrying each alone')
    await Promise.all(items.map((item) => persistOne(item, write, log)))
  }
}

async function persistOne<Item>(
  item: Item,
  write: (items: readonly Item[]) => Promise<unknown>,
  log: Log,
): Promise<void> {
  for (const pause of PAUSES_MS) {
    // The timer is unreferenced, so that the process may end. The lease then ends, and another claim takes the work.
    await new Promise((resolve) => setTimeout(resolve, pause).unref())
    try {
      await write([item])
      return
    } catch (error) {
      log.error({ err: error }, 'an outcome was not stored')
    }
  }
}
