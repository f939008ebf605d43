import type { LedgerCheck } from './report.ts'

/** A check of a row `t`: it fails where `when` and `fault` are true. All texts are SQL of both engines. */
export interface RowCheck {
  check: LedgerCheck
  when: string
  fault: string
  stands: string
  should: string
}

/**
 * The rows with which an entry is compared: the opening of the ledger, the previous entry, and the message to which it
 * refers.
 */
export const ENTRY_FROM = `ledger_entries t
  left join ledger_openings o on o.workspace_id = t.workspace_id
  left join ledger_entries p on p.workspace_id = t.workspace_id and p.seq = t.seq - 1
  left join messages m on t.ref_type = 'message' and m.workspace_id = t.workspace_id and m.id = t.ref_id`

/** SQL: whether an entry `t` belongs to the time of which messages and bulks were removed. */
const isOfRemoved = `t.ref_id <= coalesce((select h.last_id from removed_history h
  where h.workspace_id = t.workspace_id), '')`

/** SQL: whether an entry `t` is about a message that may have been removed. */
export const IS_REMOVED_MESSAGE = `t.ref_type = 'message' and ${isOfRemoved}
  and not exists (select 1 from messages g where g.workspace_id = t.workspace_id and g.id = t.ref_id)`

/** SQL: whether an entry `t` is about a bulk that may have been removed. */
export const IS_REMOVED_BULK = `t.ref_type = 'bulk' and ${isOfRemoved}
  and not exists (select 1 from bulks g where g.workspace_id = t.workspace_id and g.id = t.ref_id)`

/** SQL: the number of the last entry that the opening of the workspace of `t` stands for; 0 without an opening. */
export const OPENING_SEQ = `coalesce((select n.seq from ledger_openings n where n.workspace_id = t.workspace_id), 0)`

/** SQL: whether the ledger of an entry `t` has an opening, so that entries of removed messages may be missing. */
const isFolded = `exists (select 1 from ledger_openings n where n.workspace_id = t.workspace_id)
  and ${IS_REMOVED_MESSAGE}`

// An opening is compared with the entries that it keeps: see `verify-openings.ts`.
const isAfterOpening = 't.seq > coalesce(o.seq, 0)'
const isFirst = 't.seq = coalesce(o.seq, 0) + 1'
const follows = `${isAfterOpening} and (p.seq is not null or ${isFirst})`
const text = (value: string) => `cast(${value} as text)`
const after = (column: 'balance' | 'held', delta: string) =>
  `case when ${isFirst} then coalesce(o.${column}, 0) else p.${column}_after end + t.${delta}`
const bulkCost = `coalesce((select sum(b.credits_used) from messages b indexed by messages_bulk
  where b.workspace_id = t.workspace_id and b.bulk_id = t.ref_id and b.bulk_id is not null), 0)`
const hold = (
  condition: string,
) => `exists (select 1 from ledger_entries h indexed by ledger_entries_reference
  where h.workspace_id = t.workspace_id and h.ref_id = t.ref_id and h.kind = 'hold' and ${condition})`
const isEnded = `exists (select 1 from ledger_entries r
  where r.workspace_id = t.workspace_id and r.resolves = t.id and r.resolves is not null)`
const openHold = `(select o.amount from credit_holds o where o.workspace_id = t.workspace_id and o.id = t.id)`

/** The checks of every entry, by itself and against its message. */
export const ENTRY_CHECKS: readonly RowCheck[] = [
  {
    check: 'sequence',
    when: `${isAfterOpening} and p.seq is null`,
    fault: `not (${isFirst})`,
    stands: `'no entry before it'`,
    should: `'entry ' || ${text('t.seq - 1')}`,
  },
  {
    check: 'balance_after',
    when: follows,
    fault: `t.balance_after <> ${after('balance', 'amount')}`,
    stands: text('t.balance_after'),
    should: text(after('balance', 'amount')),
  },
  {
    check: 'held_after',
    when: follows,
    fault: `t.held_after <> ${after('held', 'held_delta')}`,
    stands: text('t.held_after'),
    should: text(after('held', 'held_delta')),
  },
  {
    check: 'price',
    when: `t.kind in ('send', 'settle') and t.quantity is not null and t.unit_price is not null`,
    fault: '-t.amount <> t.quantity * t.unit_price',
    stands: text('-t.amount'),
    should: text('t.quantity * t.unit_price'),
  },
  {
    check: 'message',
    when: `t.kind = 'send' and t.ref_type = 'message'`,
    fault: `(m.id is null and not (${IS_REMOVED_MESSAGE})) or m.credits_used <> -t.amount`,
    stands: `coalesce(${text('m.credits_used')}, 'no message')`,
    should: text('-t.amount'),
  },
  {
    check: 'bulk',
    when: `t.kind = 'send' and t.ref_type = 'bulk'`,
    fault: `${bulkCost} <> -t.amount and not (${IS_REMOVED_BULK})`,
    stands: text(bulkCost),
    should: text('-t.amount'),
  },
  {
    check: 'reference',
    when: `t.kind = 'send'`,
    fault: `t.ref_type not in ('message', 'bulk')`,
    stands: 't.ref_type',
    should: `'message or bulk'`,
  },
  {
    check: 'refund',
    when: `t.kind = 'refund' and t.ref_type = 'message'`,
    fault: `(m.id is null and not (${IS_REMOVED_MESSAGE}))
      or t.amount > m.credits_used or t.amount <> m.credits_refunded`,
    stands: text('t.amount'),
    should: `coalesce(${text('m.credits_refunded')} || ' of ' || ${text('m.credits_used')}, 'no message')`,
  },
  {
    check: 'settle',
    when: `t.kind = 'settle'`,
    fault: `not exists (select 1 from messages v where v.workspace_id = t.workspace_id and v.id = t.ref_id
      and t.ref_type = 'message') and not ${hold('h.id is not null')} and not (${isFolded})`,
    stands: `'no message and no hold'`,
    should: `'the message that was held for'`,
  },
  {
    check: 'resolves',
    when: 't.resolves is not null',
    fault: `not ${hold('h.id = t.resolves and h.held_delta = -t.held_delta')}
      and not (${isFolded} and not ${hold('h.id = t.resolves')})`,
    stands: text('-t.held_delta'),
    should: `'what hold ' || t.resolves || ' holds'`,
  },
  {
    check: 'hold',
    when: `t.kind = 'hold' and not (${isFolded} and t.seq <= ${OPENING_SEQ})`,
    fault: `coalesce(${openHold}, 0) <> case when ${isEnded} then 0 else t.held_delta end`,
    stands: `coalesce(${text(openHold)}, 'no open hold')`,
    should: `case when ${isEnded} then 'no open hold' else ${text('t.held_delta')} end`,
  },
  {
    check: 'purchase',
    when: `t.kind in ('purchase', 'purchase_adjust')`,
    fault: `not exists (select 1 from purchases q where q.workspace_id = t.workspace_id and q.id = t.ref_id)`,
    stands: `'no purchase'`,
    should: `'purchase ' || t.ref_id`,
  },
]

const faultOf = (...checks: LedgerCheck[]) =>
  ENTRY_CHECKS.filter(({ check }) => checks.includes(check))
    .map(({ when, fault }) => `((${when}) and (${fault}))`)
    .join(' or ')

/** Whether an entry of a rare kind, neither send nor refund, has a fault that no sum covers. */
export const IS_RARE_FAULT = faultOf('price', 'settle', 'resolves', 'hold', 'purchase')

/** Whether a send or a refund ends a hold, which is not allowed. */
export const IS_WRONG_END = `t.resolves is not null and (${faultOf('resolves')})`
