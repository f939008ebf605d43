import type { Snapshot } from '../ledger/snapshot.ts'
import type { QueueFaults } from './facts.ts'

/** Longer than any lease. */
const LEASE_MAX_MS = 3_600_000

const STATEMENTS: Record<keyof QueueFaults, string> = {
  messages_gone: `select count(*) as n from message_queue q where not exists (
    select 1 from messages m where m.workspace_id = q.workspace_id and m.id = q.message_id)`,
  deliveries_gone: `select count(*) as n from delivery_queue q where not exists (
    select 1 from deliveries d where d.workspace_id = q.workspace_id and d.webhook_id = q.webhook_id
    and d.id = q.delivery_id)`,
  leases_ahead: `select
    (select count(*) from message_queue where token is not null and due_at > :ahead) +
    (select count(*) from delivery_queue where token is not null and due_at > :ahead) as n`,
  counts_differ: `select count(*) as n from (
    select workspace_id, channel, status from (
      select workspace_id, channel, status, count as shown, test_count as tests from message_counts
      union all select workspace_id, channel, status, -count(*), -sum(case when livemode then 0 else 1 end)
      from messages group by 1, 2, 3) both_ways
    group by 1, 2, 3 having sum(shown) <> 0 or sum(tests) <> 0) differing`,
}

/** Contradictions in the queues and in the totals of lists. */
export async function queueFaults(snapshot: Snapshot, now: Date): Promise<QueueFaults> {
  const ahead = new Date(now.getTime() + LEASE_MAX_MS)
  const faults: Partial<QueueFaults> = {}
  for (const name of Object.keys(STATEMENTS) as (keyof QueueFaults)[]) {
    const text = STATEMENTS[name]
    const [row] = await snapshot.rows<{ n: number | string }>(
      text,
      text.includes(':ahead') ? { ahead } : {},
    )
    faults[name] = Number(row?.n ?? 0)
  }
  return faults as QueueFaults
}

/** The time of the last change of an account. */
export async function newestOf(snapshot: Snapshot): Promise<Date | null> {
  const [row] = await snapshot.rows<{ at: number | string | Date | null }>(
    'select max(updated_at) as at from credit_accounts',
  )
  return row?.at == null ? null : new Date(row.at)
}
