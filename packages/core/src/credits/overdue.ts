import type { Log } from '../runtime/runtime.ts'
import type { Overdue } from '../storage/ports/stores.ts'

/**
 * Calls `work` with pages of at most `limit` overdue rows until no row is left or `isStopping` returns true, and returns the
 * sum of the results. Each page starts after the last row of the previous page, so that failing rows do not block the others.
 */
export async function eachPage<T extends Overdue>(
  {
    read,
    limit,
    isStopping,
  }: {
    read: (page: { after: Overdue | null; limit: number }) => Promise<T[]>
    limit: number
    isStopping: () => boolean
  },
  work: (rows: T[]) => Promise<number>,
): Promise<number> {
  let done = 0
  let after: Overdue | null = null
  while (!isStopping()) {
    const rows: T[] = await read({ after, limit })
    done += await work(rows)
    after = rows.at(-1) ?? null
    if (rows.length < limit) break
  }
  return done
}

/**
 * Calls `work` with the rows of each workspace and returns the sum of its results. An error of one workspace is logged
 * and does not stop the others; the next call retries the rows of that workspace.
 */
export async function eachWorkspace<T extends { workspace_id: string }>(
  rows: readonly T[],
  log: Log,
  work: (workspaceId: string, rows: T[]) => Promise<number>,
): Promise<number> {
  let done = 0
  for (const workspaceId of new Set(rows.map(({ workspace_id }) => workspace_id))) {
    const own = rows.filter(({ workspace_id }) => workspace_id === workspaceId)
    try {
      done += await work(workspaceId, own)
    } catch (error) {
      log.error({ err: error, workspace_id: workspaceId }, 'overdue credits could not be booked')
    }
  }
  return done
}
