import type { NamedValues, Snapshot } from './snapshot.ts'

/** So many rows are looked at by one statement: progress is seen, and what it holds in memory stays small. */
const SLICE_ROWS = 50_000

/** A part of a table, as a condition on its alias `t`. */
export interface Slice {
  where: string
  values: NamedValues
}

/** A table whose primary key is the workspace and one column more. */
export interface Sliced {
  table: 'ledger_entries' | 'messages'
  key: 'seq' | 'id'
}

/** All rows of a table, or of one workspace, in parts that follow each other by the primary key and leave nothing out. */
export async function* slicesOf(
  snapshot: Snapshot,
  { table, key }: Sliced,
  workspaceId: string | null,
  rows = SLICE_ROWS,
): AsyncGenerator<Slice> {
  const least = key === 'seq' ? Number.MIN_SAFE_INTEGER : ''
  let after: NamedValues = workspaceId === null ? {} : { aw: workspaceId, ak: least }
  for (;;) {
    const begin = 'aw' in after ? `(t.workspace_id, t.${key}) > (:aw, :ak)` : 'true'
    // As a bound of the same index: an equality would make a slice begin at the workspace's first row.
    const own = workspaceId === null ? 'true' : 't.workspace_id <= :workspace'
    const values = { ...after, ...(workspaceId !== null && { workspace: workspaceId }) }
    const [last] = await snapshot.rows<{ uw: string; uk: string | number }>(
      `select t.workspace_id as uw, t.${key} as uk from ${table} t where ${begin} and ${own}
       order by t.workspace_id, t.${key} limit 1 offset ${rows - 1}`,
      values,
    )
    if (!last) {
      yield { where: `${begin} and ${own}`, values }
      return
    }
    yield {
      where: `${begin} and (t.workspace_id, t.${key}) <= (:uw, :uk)`,
      values: { ...after, uw: last.uw, uk: last.uk },
    }
    after = { aw: last.uw, ak: last.uk }
  }
}
