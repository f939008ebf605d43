import { SvcError } from '../contract/errors.ts'

/** The maximum number of waiting calls of one workspace. */
const WAITING_MAX = 20

/** Runs the work of one workspace in sequence, and the work of different workspaces concurrently. */
export type Order = <T>(workspaceId: string, work: () => Promise<T>) => Promise<T>

/** The returned function throws SvcError 429 while `waiting_max` calls of the workspace wait. */
export function createOrder(waiting_max = WAITING_MAX): Order {
  const queues = new Map<string, { last: Promise<unknown>; count: number }>()
  return async (workspaceId, work) => {
    const queue = queues.get(workspaceId) ?? { last: Promise.resolve(), count: 0 }
    if (queue.count > waiting_max) throw busy()
    queues.set(workspaceId, queue)
    queue.count += 1
    const done = queue.last.then(work)
    queue.last = done.catch(() => {})
    try {
      return await done
    } finally {
      queue.count -= 1
      if (queue.count === 0) queues.delete(workspaceId)
    }
  }
}

function busy(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 1,
  })
}
