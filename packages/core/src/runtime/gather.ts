/**
 * Batches calls: a caller's items join a job that still waits in the queue. Batches grow with the load, and an idle
 * service adds no wait. One flush to disk serves the whole batch, which makes a durable commit for each request
 * affordable.
 *
 * A failed batch is tried again in halves, and these in halves again, so that one caller's error does not fail the others
 * and 500 callers need about 18 tries. A failure that is common to all callers is not tried again.
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
    /** Whether a failure does not depend on the items, so that trying fewer callers would not help. */
    isCommon?: (error: unknown) => boolean
  },
): (items: readonly Item[]) => Promise<Result[]> {
  interface Caller {
    items: readonly Item[]
    resolve(results: Result[]): void
    reject(error: unknown): void
  }
  interface Batch {
    callers: Caller[]
    size: number
  }
  let open: Batch | null = null

  function join(caller: Caller): void {
    const { length } = caller.items
    if (open && open.size + length <= batch_max) {
      onJoin()
      open.callers.push(caller)
      open.size += length
      return
    }
    const batch: Batch = { callers: [caller], size: length }
    open = batch
    answer(batch.callers, () =>
      enqueue(() => {
        if (open === batch) open = null
        return run(itemsOf(batch.callers))
      }),
    )
  }

  /** Gives each caller its results. Never rejects: the callers get the error. */
  async function answer(callers: readonly Caller[], begin: () => Promise<Result[]>): Promise<void> {
    try {
      const results = await begin()
      let start = 0
      for (const { items, resolve } of callers) {
        resolve(callers.length === 1 ? results : results.slice(start, start + items.length))
        start += items.length
      }
    } catch (error) {
      // A batch that was refused before it ran must not collect further callers.
      if (open?.callers === callers) open = null
      if (callers.length > 1 && !isCommon(error)) divide(callers)
      else for (const { reject } of callers) reject(error)
    }
  }

  function divide(callers: readonly Caller[]): void {
    const middle = callers.length >> 1
    for (const half of [callers.slice(0, middle), callers.slice(middle)]) {
      answer(half, () => enqueue(() => run(itemsOf(half)), true))
    }
  }

  return (items) => {
    if (items.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => join({ items, resolve, reject }))
  }

  function itemsOf(callers: readonly Caller[]): readonly Item[] {
    const [first] = callers
    return first && callers.length === 1 ? first.items : callers.flatMap(({ items }) => items)
  }
}
