import type { Log } from '../runtime.ts'

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
