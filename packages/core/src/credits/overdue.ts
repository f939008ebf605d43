import type { Log } from '../runtime/runtime.ts'
import type { Overdue } from '../storage/ports/credits.ts'

/**
 * Works through all that is overdue, at most `limit` rows at a time, until nothing is left or `isStopping`; adds up what
 * `work` says it did. Each page begins behind the last row of the one before: what stays overdue because it fails hides
 * nothing.
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
 * Works through rows that are overdue, workspace by workspace, and adds up what `work` says it did. What fails of one
 * workspace is logged and left for the next time: it must not hold up the others.
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
