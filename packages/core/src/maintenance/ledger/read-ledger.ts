import type { Units } from '../../contract/fields/units.ts'
import type { EntryKind } from '../../rows/credits.ts'
import type { Entry } from '../../rules/decide.ts'
import { withSnapshot } from '../snapshot/open-snapshot.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { StoredOpening } from './verify-openings.ts'

/** An entry with its workspace, or the opening of a ledger, which stands for older entries that were removed. */
export interface BookedEntry extends Omit<Entry, 'kind'> {
  kind: EntryKind | 'opening'
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
 * Passes all entries and openings to `take` in batches, in the order of workspace and number: an opening after the entries
 * that it keeps, with the sums of what it replaces, and with the hash of the chain as its reference. Reads one snapshot, in constant
 * memory. Changes nothing; returns the number of entries and openings.
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
      const last = entries.length < BATCH_ROWS ? null : entries.at(-1)
      const until = last ? { uw: last.workspace_id, uk: last.seq } : null
      const openings = await openingsIn(snapshot, options, { after, until })
      const all = merged(entries, openings)
      count += all.length
      if (all.length > 0) await take(all)
      if (!last) return count
      after = { aw: last.workspace_id, ak: last.seq }
    }
  })
}

/** The openings of the numbers after `after` up to `until`, sorted by workspace. */
async function openingsIn(
  snapshot: Snapshot,
  { workspace_id, since, until: before }: ReadOptions,
  {
    after,
    until,
  }: { after: { aw: string; ak: number } | null; until: { uw: string; uk: number } | null },
): Promise<BookedEntry[]> {
  const conditions = [
    after ? '(t.workspace_id, t.seq) > (:aw, :ak)' : 'true',
    until ? '(t.workspace_id, t.seq) <= (:uw, :uk)' : 'true',
    workspace_id === undefined ? 'true' : 't.workspace_id = :workspace',
    since === undefined ? 'true' : 't.last_at >= :since',
    before === undefined ? 'true' : 't.last_at < :before',
  ]
  const rows = await snapshot.rows<StoredOpening & { email: string }>(
    `select t.*, coalesce(w.email, '') as email from ledger_openings t
     left join workspaces w on w.id = t.workspace_id
     where ${conditions.join(' and ')} order by t.workspace_id`,
    {
      ...{ ...after, ...until },
      ...(workspace_id !== undefined && { workspace: workspace_id }),
      ...(since && { since }),
      ...(before && { before }),
    },
  )
  return rows.map((row) => ({
    ...{ id: row.id, workspace_id: row.workspace_id, email: row.email, seq: row.seq },
    ...{ kind: 'opening', amount: row.amount as Units, held_delta: row.held_delta as Units },
    ...{ balance_after: row.balance, held_after: row.held, counter_account: 'opening' },
    ...{ ref_type: 'opening', ref_id: row.hash, ref_n: 0, channel: null },
    ...{ quantity: row.entries, unit_price: null, resolves: null, actor: null, description: null },
    created_at: new Date(row.last_at),
  }))
}

/** Two lists that are sorted by workspace and number, as one; an opening comes after an entry of its number. */
function merged(entries: BookedEntry[], openings: BookedEntry[]): BookedEntry[] {
  const all: BookedEntry[] = []
  let at = 0
  for (const opening of openings) {
    const { workspace_id, seq } = opening
    for (let entry = entries[at]; entry; entry = entries[at]) {
      if (entry.workspace_id > workspace_id) break
      if (entry.workspace_id === workspace_id && entry.seq > seq) break
      all.push(entry)
      at += 1
    }
    all.push(opening)
  }
  return [...all, ...entries.slice(at)]
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
