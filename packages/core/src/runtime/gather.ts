/**
 * Batches calls: a caller's items join a job that still waits in the queue. Batches grow with the load, and an idle
 * service adds no wait. One flush to disk serves the whole batch, which makes a durable commit for each request
 * affordable.
 *
 * A failed batch is tried again caller by caller, so that one caller's error does not fail the others. A failure that
 * is common to all callers is not tried again.
 */
export function gather<Item, Result>(
  run: (items: readonly Item[]) => Result[] | Promise<Result[]>,
  /** `again`: the job was admitted before, so a limit must not refuse it now. */
  enqueue: (job: () => Result[] | Promise<Result[]>, again?: boolean) => Promise<Result[]>,
  {
    batch_max,
    onJoin = () => {},
    isCommon = () => false,
  }: {
    batch_max: number
    /** Called when a caller joins a waiting job. */
    onJoin?: () => void
    /** Whether a failure does not depend on the items, so that trying each caller alone would not help. */
    isCommon?: (error: unknown) => boolean
  },
): (items: readonly Item[]) => Promise<Result[]> {
  interface Batch {
    items: Item[]
    callers: number
    results: Promise<Result[]>
  }
  let open: Batch | null = null

  function join(items: readonly Item[]): Batch {
    if (open && open.items.length + items.length <= batch_max) {
      onJoin()
      return open
    }
    const batch: Batch = { items: [], callers: 0, results: Promise.resolve([]) }
    batch.results = enqueue(() => {
      if (open === batch) open = null
      return run(batch.items)
    })
    open = batch
    return batch
  }

  return async (items) => {
    if (items.length === 0) return []
    const batch = join(items)
    const start = batch.items.length
    for (const item of items) batch.items.push(item)
    batch.callers += 1
    try {
      const results = await batch.results
      return batch.callers === 1 ? results : results.slice(start, start + items.length)
    } catch (error) {
      // A batch that was refused before it ran must not collect further callers.
      if (open === batch) open = null
      if (batch.callers === 1 || isCommon(error)) throw error
      return enqueue(() => run(items), true)
    }
  }
}
