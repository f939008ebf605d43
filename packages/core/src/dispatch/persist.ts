import type { Log } from '../runtime/runtime.ts'

/** Pauses between tries: together about a lease, after which the work counts as interrupted. */
const PAUSES_MS = [100, 500, 2_000, 5_000, 10_000, 10_000, 10_000, 10_000, 10_000]

/**
 * Writes down what happened, which cannot happen again: a write that fails is repeated, first item by item, so that one
 * that can never be written does not keep its neighbours from it.
 */
export async function persist<Item>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<unknown>,
  log: Log,
): Promise<void> {
  try {
    await write(items)
  } catch (error) {
    log.warn({ err: error, items: items.length }, 'outcomes were not written; trying each alone')
    await Promise.all(items.map((item) => persistOne(item, write, log)))
  }
}

async function persistOne<Item>(
  item: Item,
  write: (items: readonly Item[]) => Promise<unknown>,
  log: Log,
): Promise<void> {
  for (const pause of PAUSES_MS) {
    // A process that has nothing else to do need not stay for it: the lease ends, and the work is taken up again.
    await new Promise((resolve) => setTimeout(resolve, pause).unref())
    try {
      await write([item])
      return
    } catch (error) {
      log.error({ err: error }, 'an outcome was not written')
    }
  }
}
