import type { NamedValues, Snapshot } from '../snapshot/snapshot.ts'

/** The approximate number of rows of one statement. It keeps progress visible and memory small. */
const SLICE_ROWS = 50_000

const ACCOUNTS = 1_000

/** A part of a table, as a condition on its alias `t`. */
export interface Slice {
  where: string
  values: NamedValues
}

/** A table whose primary key is the workspace and one more column. */
export interface Sliced {
  table: 'ledger_entries' | 'messages'
  key: 'seq' | 'id'
}

/**
 * All rows of a table, or of one workspace, in parts that follow each other by the primary key without a gap. The cuts
 * come from the numbers of entries in the accounts: to count rows up to a cut takes as long as the sum itself. Wrong
 * accounts only make the parts uneven. Each part is a range of workspaces, or a range within one workspace, which one
 * range of the index serves.
 */
export async function* slicesOf(
  snapshot: Snapshot,
  { key }: Sliced,
  workspaceId: string | null,
  rows = SLICE_ROWS,
): AsyncGenerator<Slice> {
  if (workspaceId !== null) {
    yield* slicesIn(snapshot, key, workspaceId, rows)
    return
  }
  let after: string | null = null
  let last = ''
  let sum = 0
  for await (const { workspace_id, seq } of accountsOf(snapshot)) {
    const isLarge = seq > rows
    if (isLarge || sum + seq > rows) {
      // The part ends with the previous account, or just before a large account, so that no workspace between the two
      // is left out.
      yield between(after, isLarge ? ['<', workspace_id] : ['<=', last])
      after = isLarge ? workspace_id : last
      sum = 0
    }
    if (isLarge) yield* slicesIn(snapshot, key, workspace_id, rows)
    else sum += seq
    last = workspace_id
  }
  yield between(after, null)
}

function between(after: string | null, until: ['<' | '<=', string] | null): Slice {
  const begin = after === null ? 'true' : 't.workspace_id > :aw'
  const end = until === null ? 'true' : `t.workspace_id ${until[0]} :uw`
  return {
    where: `${begin} and ${end}`,
    values: { ...(after !== null && { aw: after }), ...(until !== null && { uw: until[1] }) },
  }
}

async function* accountsOf(
  snapshot: Snapshot,
): AsyncGenerator<{ workspace_id: string; seq: number }> {
  let after = ''
  for (;;) {
    const accounts = await snapshot.rows<{ workspace_id: string; seq: number }>(
      `select workspace_id, seq from credit_accounts where workspace_id > :after
       order by workspace_id limit ${ACCOUNTS}`,
      { after },
    )
    yield* accounts
    const last = accounts.at(-1)
    if (!last) return
    after = last.workspace_id
  }
}

async function* slicesIn(
  snapshot: Snapshot,
  key: Sliced['key'],
  workspace: string,
  rows: number,
): AsyncGenerator<Slice> {
  let ak: number | string | null = null
  for (let seq = rows; ; seq += rows) {
    const cut = await cutAt(snapshot, { workspace, seq, ak, key })
    const begin = ak === null ? '' : ` and t.${key} > :ak`
    const end = cut === null ? '' : ` and t.${key} <= :uk`
    yield {
      where: `t.workspace_id = :workspace${begin}${end}`,
      values: { workspace, ...(ak !== null && { ak }), ...(cut !== null && { uk: cut }) },
    }
    if (cut === null) return
    ak = cut
  }
}

/**
 * The key at which to cut near an entry. For messages it is the id to which the entry refers, because ids of messages
 * rise with time as entries do.
 */
async function cutAt(
  snapshot: Snapshot,
  at: { workspace: string; seq: number; ak: number | string | null; key: Sliced['key'] },
): Promise<number | string | null> {
  const { workspace, seq, ak, key } = at
  const [cut] = await snapshot.rows<{ seq: number; ref_id: string }>(
    key === 'seq'
      ? `select seq, ref_id from ledger_entries where workspace_id = :workspace and seq >= :seq order by seq limit 1`
      : `select seq, ref_id from ledger_entries where workspace_id = :workspace and seq >= :seq
         and kind = 'send' and ref_id > :ak order by seq limit 1`,
    { workspace, seq, ...(key === 'id' && { ak: ak ?? '' }) },
  )
  return cut ? cut[key === 'seq' ? 'seq' : 'ref_id'] : null
}
