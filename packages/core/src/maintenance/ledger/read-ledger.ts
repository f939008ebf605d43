import type { Entry } from '../../rules/decide.ts'
import { withSnapshot } from '../snapshot/open-snapshot.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** An entry with its workspace. */
export interface BookedEntry extends Entry {
  email: string
}

/** Selects entries of the ledger; an absent field does not restrict them. */
export interface ReadOptions {
  workspace_id?: string | undefined
  /** Entries from this moment on. */
  since?: Date | undefined
  /** Entries before this moment. */
  until?: Date | undefined
  signal?: AbortSignal | undefined
}

const BATCH_ROWS = 1_000

/**
 * Passes all entries to `take` in batches, in the order of workspace and number. Reads one snapshot, in constant
 * memory. Changes nothing; returns the number of entries.
 * @throws Error in one line, with a `code`: `not_found`; `behind` or `newer` if the schema is not this program's.
 */
export function readLedger(
  database_url: string,
  options: ReadOptions,
  take: (entries: BookedEntry[]) => Promise<void>,
): Promise<number> {
  return withSnapshot(database_url, async (snapshot) => {
    let count = 0
    let after: { aw: string; ak: number } | null = null
    for (;;) {
      options.signal?.throwIfAborted()
      const entries = await batchOf(snapshot, options, after)
      count += entries.length
      if (entries.length > 0) await take(entries)
      const last = entries.at(-1)
      if (!last || entries.length < BATCH_ROWS) return count
      after = { aw: last.workspace_id, ak: last.seq }
    }
  })
}

async function batchOf(
  snapshot: Snapshot,
  { workspace_id, since, until }: ReadOptions,
  after: { aw: string; ak: number } | null,
): Promise<BookedEntry[]> {
  const conditions = [
    after ? '(t.workspace_id, t.seq) > (:aw, :ak)' : 'true',
    workspace_id === undefined ? 'true' : 't.workspace_id = :workspace',
    since === undefined ? 'true' : 't.created_at >= :since',
    until === undefined ? 'true' : 't.created_at < :until',
  ]
  const rows = await snapshot.rows<Omit<BookedEntry, 'created_at'> & { created_at: Date | number }>(
    `select t.*, coalesce(w.email, '') as email from ledger_entries t
     left join workspaces w on w.id = t.workspace_id
     where ${conditions.join(' and ')} order by t.workspace_id, t.seq limit ${BATCH_ROWS}`,
    {
      ...after,
      ...(workspace_id !== undefined && { workspace: workspace_id }),
      ...(since && { since }),
      ...(until && { until }),
    },
  )
  return rows.map((row) => ({ ...row, created_at: new Date(row.created_at) }))
}
