/**
 * Lets calls that wait together run together: items of callers that arrive while a job still waits in the queue join
 * it. Under load batches grow by themselves, an idle caller waits for nobody, and one flush to disk serves them all:
 * that is what makes a durable commit for each request affordable.
 *
 * A failing batch is tried again caller by caller, so that one caller's fault is not everybody's, unless it is.
 */
export function gather<Item, Result>(
  run: (items: readonly Item[]) => Result[] | Promise<Result[]>,
  /** `again` says that the job was let in once already, so that a bound must not refuse it now. */
  enqueue: (job: () => Result[] | Promise<Result[]>, again?: boolean) => Promise<Result[]>,
  {
    batch_max,
    onJoin = () => {},
    isEverybodys = () => false,
  }: {
    batch_max: number
    /** Told when a caller joins a job that waits already. */
    onJoin?: () => void
    /** Whether a failure has nothing to do with who is in the batch, so that trying each alone is of no use. */
    isEverybodys?: (error: unknown) => boolean
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
      if (batch.callers === 1 || isEverybodys(error)) throw error
      return enqueue(() => run(items), true)
    }
  }
}
