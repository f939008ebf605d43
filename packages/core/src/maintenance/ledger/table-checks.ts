import { IS_REMOVED_BULK, IS_REMOVED_MESSAGE, OPENING_SEQ, type RowCheck } from './entry-checks.ts'
import type { LedgerCheck } from './report.ts'

/** A check of the rows `t` of a table; `about` and `seq` are SQL for the subject of a row. */
export interface TableCheck extends RowCheck {
  table: string
  about: string
  seq?: string
}

const text = (value: string) => `cast(${value} as text)`
const sumOf = (what: string, where: string) => `coalesce((select sum(${what}) ${where}), 0)`
const available = 't.balance - t.held'
const heldOpen = sumOf('o.amount', 'from credit_holds o where o.workspace_id = t.workspace_id')

/** SQL: the first entry after which the available credits stayed below the limit. */
const crossing = `(1 + coalesce((select max(s.seq) from (select (select x.seq from ledger_entries x
    where x.workspace_id = t.workspace_id and x.balance_after - x.held_after >= -t.credit_limit
    order by x.seq desc limit 1) as seq
  union all select (select n.seq from ledger_openings n
    where n.workspace_id = t.workspace_id and n.balance - n.held >= -t.credit_limit) as seq) s), 0))`

const about = (kinds: string) => `from ledger_entries e indexed by ledger_entries_reference
  where e.workspace_id = t.workspace_id and e.ref_id = t.id and e.kind in (${kinds})`
const booked = sumOf('e.amount', about(`'purchase', 'purchase_adjust'`))
const purchases = `(select count(*) ${about(`'purchase'`)})`

/** SQL: whether credits were available when the lot ended, and no other lot that ended then took them. */
const wasLeft = `exists (select 1 from ledger_entries e
  where e.workspace_id = t.workspace_id and e.seq = t.counted_seq and e.balance_after - e.held_after > 0)
  and not exists (select 1 from ledger_entries e
  where e.workspace_id = t.workspace_id and e.seq = t.counted_seq + 1 and e.kind = 'expire')`
const lastSeq = `coalesce((select a.seq from credit_accounts a where a.workspace_id = t.workspace_id), 0)`

/** SQL: the sum of the entries of one kind that are about what was removed. */
const ofRemoved = (what: string, kind: string, isRemoved: string) =>
  `coalesce((select sum(${what}) from ledger_entries t where t.workspace_id = h.workspace_id
    and t.kind = '${kind}' and ${isRemoved}), 0)`

/** SQL: the number of rows of `removed_history` of the workspace of `t`. */
const REMOVED_ROWS = `(select count(*) from removed_history h where h.workspace_id = t.workspace_id)`

/** SQL: the sums of a row `t` of `removed_history`, and the same sums of the ledger. */
const REMOVED_SUMS = [
  ['charged', ofRemoved('-t.amount', 'send', IS_REMOVED_MESSAGE)],
  ['refunded', ofRemoved('t.amount', 'refund', IS_REMOVED_MESSAGE)],
  ['charged_bulks', ofRemoved('-t.amount', 'send', IS_REMOVED_BULK)],
] as const

/** SQL: the entries that the opening `t` keeps. */
const kept = `from ledger_entries e where e.workspace_id = t.workspace_id and e.seq <= t.seq`
const account = (column: string) =>
  `(select a.${column} from credit_accounts a where a.workspace_id = t.workspace_id)`
/** SQL: whether the opening `t` is all that is left of the ledger. The sums of entries do not see such a workspace. */
const isAlone = `not exists (select 1 from ledger_entries e where e.workspace_id = t.workspace_id)`
const opening = (
  check: LedgerCheck,
  [when, stands, should]: [when: string, stands: string, should: string],
): TableCheck => ({
  check,
  ...{ table: 'ledger_openings', about: `'opening'`, seq: 't.seq', when },
  ...{ fault: `coalesce(${stands}, -1) <> ${should}`, stands: text(stands), should: text(should) },
})

/** The checks of openings by sums; `verify-openings.ts` compares signatures and hashes. */
const OPENING_CHECKS: readonly TableCheck[] = [
  opening('opening', ['true', 't.entries + t.kept', 't.seq']),
  opening('opening', ['true', `(select count(*) ${kept})`, 't.kept']),
  opening('opening', ['true', 't.balance', `t.amount + ${sumOf('e.amount', kept)}`]),
  opening('opening', ['true', 't.held', `t.held_delta + ${sumOf('e.held_delta', kept)}`]),
  opening('removed', ['t.entries > 0', REMOVED_ROWS, '1']),
  opening('balance', [isAlone, account('balance'), 't.balance']),
  opening('held', [isAlone, account('held'), 't.held']),
  opening('seq', [isAlone, account('seq'), 't.seq']),
]

/** The checks of accounts, holds, bulks, purchases, lots, openings and the marks of sums. */
export const TABLE_CHECKS: readonly TableCheck[] = [
  {
    check: 'account',
    table: 'workspaces',
    about: 'null',
    when: 'true',
    fault: 'not exists (select 1 from credit_accounts a where a.workspace_id = t.id)',
    stands: `'no account'`,
    should: `'an account'`,
  },
  {
    check: 'open_holds',
    table: 'credit_accounts',
    about: 'null',
    when: 'true',
    fault: `t.held <> ${heldOpen}`,
    stands: text('t.held'),
    should: text(heldOpen),
  },
  {
    check: 'hold',
    table: 'credit_holds',
    about: `'message:' || t.message_id`,
    when: 'true',
    fault: `not exists (select 1 from ledger_entries h indexed by ledger_entries_reference where h.workspace_id = t.workspace_id
      and h.ref_id = t.message_id and h.kind = 'hold' and h.ref_n = t.n and h.id = t.id
      and h.held_delta = t.amount)
      or exists (select 1 from ledger_entries r
      where r.workspace_id = t.workspace_id and r.resolves = t.id and r.resolves is not null)`,
    stands: text('t.amount'),
    should: `'an entry of this hold that no other has ended'`,
  },
  {
    check: 'stale_hold',
    table: 'credit_holds',
    about: `'message:' || t.message_id`,
    when: 't.expires_at < :hour_ago',
    fault: 'true',
    stands: text('t.amount'),
    should: `'released when it expired'`,
  },
  {
    check: 'bulk_row',
    table: 'bulks',
    about: `'bulk:' || t.id`,
    when: 't.livemode',
    fault: `${sumOf('-e.amount', about(`'send'`))} <> t.credits_used`,
    stands: text('t.credits_used'),
    should: text(sumOf('-e.amount', about(`'send'`))),
  },
  {
    check: 'purchase',
    table: 'purchases',
    about: `'purchase:' || t.id`,
    when: 'true',
    fault: `case when t.paid_at is null then ${purchases} <> 0
      when t.status = 'paid' and t.review_reason is null then ${purchases} <> 1
      else ${purchases} > 1 end`,
    stands: `${text(purchases)} || ' purchase entries'`,
    should: `case when t.paid_at is null then 'none: it was not paid' else 'one' end`,
  },
  {
    check: 'purchase_sum',
    table: 'purchases',
    about: `'purchase:' || t.id`,
    when: 'true',
    fault: `${booked} not between 0 and t.credits`,
    stands: text(booked),
    should: `'0 to ' || ${text('t.credits')}`,
  },
  {
    check: 'credit_limit',
    table: 'credit_accounts',
    about: 'null',
    seq: crossing,
    when: `${available} < -t.credit_limit`,
    fault: `${crossing} > ${OPENING_SEQ} and not exists (select 1 from ledger_entries e
      where e.workspace_id = t.workspace_id and e.seq = ${crossing}
      and e.kind in ('purchase_adjust', 'adjustment', 'expire', 'settle'))`,
    stands: text(available),
    should: `'at least ' || ${text('-t.credit_limit')}`,
  },
  {
    check: 'lot',
    table: 'credit_lots',
    about: `'lot:' || t.id`,
    seq: 't.granted_seq',
    when: 'true',
    fault: `t.remaining < 0 or t.remaining > t.amount or t.counted_seq > ${lastSeq}
      or not exists (select 1 from ledger_entries e where e.workspace_id = t.workspace_id
      and e.seq = t.granted_seq and e.id = t.id and e.amount = t.amount)`,
    stands: `${text('t.remaining')} || ' of ' || ${text('t.amount')} || ', counted to entry ' || ${text('t.counted_seq')}`,
    should: `'what its grant gave, counted to entry ' || ${text(lastSeq)} || ' at most'`,
  },
  {
    check: 'lot',
    table: 'credit_lots',
    about: `'lot:' || t.id`,
    seq: 't.granted_seq',
    when: 't.ended_at is not null and t.remaining > 0',
    fault: `not exists (select 1 ${about(`'expire'`)}) and ${wasLeft}`,
    stands: `${text('t.remaining')} || ' left'`,
    should: `'an expire entry, or nothing left'`,
  },
  {
    check: 'credit_sums',
    table: 'credit_marks',
    about: 'null',
    seq: 't.seq',
    when: 'true',
    fault: `t.seq > ${lastSeq}`,
    stands: `'summed to entry ' || ${text('t.seq')}`,
    should: `'at most ' || ${text(lastSeq)}`,
  },
  ...OPENING_CHECKS,
  ...REMOVED_SUMS.map(([column, sum]): TableCheck => {
    // The sum names its entries `t`, as the checks of entries do.
    const left = `(select ${sum} from (select t.workspace_id as workspace_id) h)`
    const folded = `coalesce((select n.${column} from ledger_openings n where n.workspace_id = t.workspace_id), 0)`
    const booked = `(${left} + ${folded})`
    return {
      check: 'removed',
      table: 'removed_history',
      about: `'${column}'`,
      when: 'true',
      fault: `${booked} <> t.${column}`,
      stands: text(`t.${column}`),
      should: text(booked),
    }
  }),
]
