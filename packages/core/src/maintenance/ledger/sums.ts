import type { NamedValues, Snapshot } from '../snapshot/snapshot.ts'
import {
  IS_RARE_FAULT,
  IS_REMOVED_BULK,
  IS_REMOVED_MESSAGE,
  IS_WRONG_END,
  OPENING_SEQ,
} from './entry-checks.ts'
import { HAS_HOLD, IS_STUCK } from './message-checks.ts'
import type { Slice } from './slices.ts'

/** Sums are compared modulo this prime, the largest below 2^31, so that a product of two stays within 64 bits. */
export const MODULUS = 2_147_483_647

/** The weight of the held credits in the chain; the balance has the weight 1. */
export const HELD_WEIGHT = 1_009

/** The constant part of a send's or refund's share, so that two entries for one message differ from one entry. */
const ONE = 1_000_003

const moved = `(t.amount + ${HELD_WEIGHT} * t.held_delta) % ${MODULUS}`
const stood = `(t.balance_after + ${HELD_WEIGHT} * t.held_after) % ${MODULUS}`

/**
 * An entry's share of the chain. If each entry starts at the result of its predecessor, the sum of `seq` squared times
 * each change and `2 seq + 1` times each result equals `seq + 1` squared times the last result. One pass is enough: for
 * a million entries, a join with the entry before takes 0.4 s more, window functions 1.3 s, the bare sum 0.13 s.
 */
const CHAIN = `(${moved} * (t.seq * t.seq % ${MODULUS}) + ${stood} * (2 * t.seq + 1)) % ${MODULUS}`

/** An entry that the opening keeps has no share: entries before and after it may be removed. */
const chainOf = (hasRemoved: boolean) =>
  hasRemoved ? `case when t.seq <= ${OPENING_SEQ} then 0 else ${CHAIN} end` : CHAIN

/** The opening of a ledger, in an alias `o`; all 0 without one. */
const OPENING = ['seq', 'balance', 'held', 'entries', 'amount', 'held_delta']
  .map((column) => `coalesce(o.${column}, 0) as opening_${column}`)
  .join(', ')

/** The opening of the ledger that a row of sums belongs to; all 0 without one. */
export interface OpeningSums {
  opening_seq: number
  opening_balance: number
  opening_held: number
  /** What was removed. */
  opening_entries: number
  opening_amount: number
  opening_held_delta: number
}

/**
 * The sums of one workspace's entries in a slice, with the workspace's account, which may be missing, and the first and
 * last entry.
 */
export interface EntrySums extends Marks, OpeningSums {
  entries: number
  amount: string
  held_delta: string
  chain: string
  balance: number | null
  held: number | null
  seq: number | null
  first_seq: number
  last_seq: number
  /** The balance after the entry that the account names as its last entry. */
  last_balance: number | null
  last_held: number | null
  /** `known` has the number of entries of each known counter account; `amount_1`, … their amounts, except the first. */
  known: string
  [counter: `amount_${number}`]: string
}

/** The sums of sends and refunds of one side: entries or messages. The sums of both sides must be equal. */
export interface Marks {
  workspace_id: string
  mark: string
}

/** Sums the entries of a slice in one pass. */
export function sumEntries(
  snapshot: Snapshot,
  { where, values }: Slice,
  { columns, values: known }: { columns: string; values: NamedValues },
  hasRemoved: boolean,
): Promise<EntrySums[]> {
  return snapshot.rows<EntrySums>(
    `select s.*, a.balance as balance, a.held as held, a.seq as seq,
       (select min(f.seq) from ledger_entries f where f.workspace_id = s.workspace_id) as first_seq,
       (select max(f.seq) from ledger_entries f where f.workspace_id = s.workspace_id) as last_seq,
       l.balance_after as last_balance, l.held_after as last_held, ${OPENING}
     from (
       select t.workspace_id as workspace_id, count(*) as entries, cast(sum(t.amount) as text) as amount,
         cast(sum(t.held_delta) as text) as held_delta, cast(sum(${chainOf(hasRemoved)}) as text) as chain,
         cast(sum(${entryMark(snapshot, hasRemoved)}) as text) as mark${columns}
       from ledger_entries t where ${where} group by t.workspace_id
     ) s left join credit_accounts a on a.workspace_id = s.workspace_id
     left join ledger_openings o on o.workspace_id = s.workspace_id
     left join ledger_entries l on l.workspace_id = s.workspace_id and l.seq = a.seq
     order by s.workspace_id`,
    { ...values, ...known },
  )
}

/** An entry's share of its side's sum. A fault changes this share. It is one expression, to test the kind once. */
function entryMark(snapshot: Snapshot, hasRemoved: boolean): string {
  const mark = snapshot.markOf('t.ref_id')
  const removed = `(${IS_REMOVED_MESSAGE}) or (${IS_REMOVED_BULK})`
  // The check `removed` compares these entries.
  const isRemoved = `t.kind in ('send', 'refund') and (${removed})`
  return `${hasRemoved ? `case when ${isRemoved} then 0 else ` : ''}case t.kind
    when 'send' then case when -t.amount <> t.quantity * t.unit_price or (${IS_WRONG_END}) then 1
      else case t.ref_type when 'message' then ${ONE} when 'bulk' then 0 else 1 end
        + t.amount % ${MODULUS} * ${mark} end
    when 'refund' then case when ${IS_WRONG_END} then 1 else ${ONE} + t.amount % ${MODULUS} * (${mark} + 1) end
    else case when ${IS_RARE_FAULT} then 1 else 0 end end${hasRemoved ? ' end' : ''}`
}

function messageMark(snapshot: Snapshot, hasRemoved: boolean): string {
  // The bulk is removed before its messages are.
  const isOfRemoved = `t.bulk_id is not null and not exists (select 1 from bulks g
    where g.workspace_id = t.workspace_id and g.id = t.bulk_id)`
  const paid = `${hasRemoved ? `not (${isOfRemoved}) and ` : ''}t.livemode and t.credits_used <> 0 and (t.channel <> 'voice' or not (${HAS_HOLD}))`
  return `case when ${paid} then case when t.bulk_id is null
      then ${ONE} - t.credits_used % ${MODULUS} * ${snapshot.markOf('t.id')}
      else -t.credits_used % ${MODULUS} * ${snapshot.markOf('t.bulk_id')} end else 0 end
    + case when t.credits_refunded = 0 then 0 when t.credits_refunded > t.credits_used then 1
      else ${ONE} + t.credits_refunded % ${MODULUS} * (${snapshot.markOf('t.id')} + 1) end
    + case t.status when 'queued' then case when ${IS_STUCK} then 1 else 0 end else 0 end`
}

export interface MessageSums extends Marks {
  messages: number
}

/** Sums the messages of a slice in one pass. */
export function sumMessages(
  snapshot: Snapshot,
  { where, values }: Slice,
  { hourAgo, hasRemoved }: { hourAgo: Date; hasRemoved: boolean },
): Promise<MessageSums[]> {
  return snapshot.rows<MessageSums>(
    `select t.workspace_id as workspace_id, count(*) as messages,
       cast(sum(${messageMark(snapshot, hasRemoved)}) as text) as mark
     from messages t where ${where} group by t.workspace_id order by t.workspace_id`,
    { ...values, hour_ago: hourAgo },
  )
}
