import type { RowCheck } from './entry-checks.ts'

const text = (value: string) => `cast(${value} as text)`
const entry = (
  kind: string,
  what: string,
) => `(select ${what} from ledger_entries e indexed by ledger_entries_reference
  where e.workspace_id = t.workspace_id and e.ref_id = t.id and e.kind = '${kind}' and e.ref_type = 'message')`

/** Whether a message was charged by itself, not with its bulk. */
export const IS_CHARGED = `t.livemode and t.bulk_id is null and t.credits_used > 0`

/** Whether a queued message is past its time and has no queue row: it will never be sent. */
export const IS_STUCK = `t.status = 'queued' and coalesce(t.scheduled_at, t.created_at) < :hour_ago
  and not exists (select 1 from message_queue q where q.message_id = t.id)`

/** Whether the message has a hold instead of a send. Only calls are searched. */
export const HAS_HOLD = `t.channel = 'voice' and t.bulk_id is null and ${entry('hold', 'count(*)')} > 0`

/** The checks of every message. */
export const MESSAGE_CHECKS: readonly RowCheck[] = [
  {
    check: 'unpaid_message',
    when: IS_CHARGED,
    fault: `coalesce(${entry('send', 'sum(-e.amount)')}, 0) <> t.credits_used
      and ${entry('hold', 'count(*)')} = 0`,
    stands: `coalesce(${text(entry('send', 'sum(-e.amount)'))}, 'no entry')`,
    should: text('t.credits_used'),
  },
  {
    check: 'refunded_message',
    when: 't.credits_refunded > 0',
    fault: `coalesce(${entry('refund', 'sum(e.amount)')}, 0) <> t.credits_refunded`,
    stands: `coalesce(${text(entry('refund', 'sum(e.amount)'))}, 'no entry')`,
    should: text('t.credits_refunded'),
  },
  {
    check: 'stuck_message',
    when: `t.status = 'queued'`,
    fault: IS_STUCK,
    stands: `'queued, in no queue'`,
    should: `'a row in the queue'`,
  },
]
