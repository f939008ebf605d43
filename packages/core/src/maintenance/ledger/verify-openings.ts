import type { LedgerOpeningRow } from '../../rows/rows.ts'
import type { Entry } from '../../rules/decide.ts'
import { LEDGER_SECRET } from '../../rules/fold.ts'
import { isSigned, nextOfChain, startOfChain } from '../../storage/ledger-chain.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Counters } from './counters.ts'
import type { LedgerReport } from './report.ts'
import type { Run } from './run.ts'

/** The part of the report about openings. */
export type OpeningsReport = Pick<
  LedgerReport,
  'openings' | 'folded_entries' | 'signatures_checked'
>

/** The number of rows of one statement. */
const BATCH_ROWS = 500

/**
 * Compares each opening with its signature, its sums by kind, and the hash of the entries that it keeps, and adds what it
 * stands for to the counter accounts.
 */
export async function verifyOpenings(run: Run, counters: Counters): Promise<OpeningsReport> {
  const key = await keyOf(run)
  const report = { openings: 0, folded_entries: 0, signatures_checked: true }
  for await (const row of openingRows(run.snapshot, run.workspaceId)) {
    const { workspace_id, seq } = row
    const found = (check: 'opening' | 'signature', about: string, stands: string, should: string) =>
      run.found([{ check, workspace_id, seq, about, stands, should }])
    report.openings += 1
    const opening = openingOf(row)
    if (!opening) {
      found('opening', 'opening', 'unreadable sums or times', 'an opening')
      continue
    }
    report.folded_entries += opening.entries
    if (key === null) report.signatures_checked = false
    else if (!isSigned(key, opening)) {
      found('signature', 'opening', opening.signature, 'a signature by the key of the service')
    }
    for (const { counter_account, entries, amount } of opening.sums) {
      counters.book(counter_account, entries, BigInt(amount))
    }
    for (const column of ['entries', 'amount', 'held_delta'] as const) {
      const sum = opening.sums.reduce((all, one) => all + one[column], 0)
      if (sum !== opening[column])
        found('opening', `sums of ${column}`, `${sum}`, `${opening[column]}`)
    }
    const hash = await hashOfKept(run.snapshot, opening)
    if (hash !== opening.kept_hash) found('opening', 'kept entries', hash, opening.kept_hash)
  }
  return report
}

/** The secret that signs openings; null if it cannot be decrypted. */
export async function keyOf({
  snapshot,
  openKey,
}: Pick<Run, 'snapshot' | 'openKey'>): Promise<string | null> {
  const rows = await snapshot.rows<{ value: string }>(
    'select value from secrets where name = :name',
    { name: LEDGER_SECRET },
  )
  const [secret] = rows
  // Without a secret no signature is valid.
  return secret ? openKey(secret.value) : ''
}

/** A row as the engine returns it: times as numbers or dates, sums as text or as a list. */
export type StoredOpening = Omit<LedgerOpeningRow, 'sums' | 'last_at' | 'folded_at'> &
  Record<'sums' | 'last_at' | 'folded_at', never>

/** The openings, sorted by workspace. */
export async function* openingRows(
  snapshot: Snapshot,
  workspaceId: string | null,
): AsyncGenerator<StoredOpening> {
  for (let after = ''; ; ) {
    const rows = await snapshot.rows<StoredOpening>(
      `select * from ledger_openings where workspace_id > :after
       ${workspaceId === null ? '' : 'and workspace_id = :workspace'}
       order by workspace_id limit ${BATCH_ROWS}`,
      { after, ...(workspaceId !== null && { workspace: workspaceId }) },
    )
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < BATCH_ROWS) return
    after = last.workspace_id
  }
}

/** An opening; null if a value is not what its column holds. */
export function openingOf(row: StoredOpening): LedgerOpeningRow | null {
  const times = { last_at: new Date(row.last_at), folded_at: new Date(row.folded_at) }
  if (Object.values(times).some((time) => Number.isNaN(time.getTime()))) return null
  try {
    const sums: unknown = typeof row.sums === 'string' ? JSON.parse(row.sums) : row.sums
    const isSums = Array.isArray(sums) && sums.every((sum) => Number.isSafeInteger(sum?.amount))
    return isSums ? { ...row, ...times, sums } : null
  } catch {
    return null
  }
}

async function hashOfKept(
  snapshot: Snapshot,
  { workspace_id, seq }: LedgerOpeningRow,
): Promise<string> {
  let hash = startOfChain(workspace_id)
  for (let after = 0; ; ) {
    const rows = await snapshot.rows<Entry>(
      `select * from ledger_entries where workspace_id = :workspace_id and seq > :after and seq <= :seq
       order by seq limit ${BATCH_ROWS}`,
      { workspace_id, after, seq },
    )
    for (const row of rows)
      hash = nextOfChain(hash, { ...row, created_at: new Date(row.created_at) })
    const last = rows.at(-1)
    if (!last || rows.length < BATCH_ROWS) return hash
    after = last.seq
  }
}
