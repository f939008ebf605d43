import { COUNT_UNITS } from '../../rows/messages.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { QueueFaults } from './facts.ts'

/** A time longer than any lease. */
const LEASE_MAX_MS = 3_600_000

const STATEMENTS: Record<
  keyof QueueFaults,
  string | ((snapshot: Snapshot) => string | Promise<string>)
> = {
  messages_gone: `select count(*) as n from message_queue q where not exists (
    select 1 from messages m where m.workspace_id = q.workspace_id and m.id = q.message_id)`,
  deliveries_gone: `select count(*) as n from delivery_queue q where not exists (
    select 1 from deliveries d where d.workspace_id = q.workspace_id and d.webhook_id = q.webhook_id
    and d.id = q.delivery_id)`,
  leases_ahead: `select
    (select count(*) from message_queue where token is not null and due_at > :ahead) +
    (select count(*) from delivery_queue where token is not null and due_at > :ahead) as n`,
  counts_differ: countsDiffer,
}

/**
 * SQL: the number of kinds whose totals are wrong. A message in no total is one difference, not one for each period. A
 * list by dates searches within the id ranges of the periods, so these ranges must include all messages.
 */
async function countsDiffer({ startOf, leavingMonths }: Snapshot): Promise<string> {
  const leaving = (await leavingMonths()).map(({ from, until }) => {
    // Without a colon, which begins the name of a value.
    const of = (at: Date) => `to_timestamp(${at.getTime() / 1_000})`
    return ` and not (unit <> 'all' and since < ${of(until)}${from ? ` and since >= ${of(from)}` : ''})`
  })
  return `with hours as materialized (
      select workspace_id, ${startOf('hour', 'created_at')} as since, channel,
        case when status = 'failed' and error_code = 'canceled' then 'canceled' else status end as status, count(*) as n,
        sum(case when livemode then 0 else 1 end) as tests, min(id) as first_id, max(id) as last_id
      from messages group by 1, 2, 3, 4),
    periods as (
      select 'hour' as unit, hours.* from hours
      union all select 'day', workspace_id, ${startOf('day', 'since')}, channel, status, n, tests, first_id, last_id
      from hours
      union all select 'all', workspace_id, ${startOf('all', 'since')}, channel, status, n, tests, null, null from hours),
    found as (select * from periods where true${leaving.join('')}),
    stored as (${COUNT_UNITS.map(
      (unit) => `
      select workspace_id, unit, ${startOf(unit, 'since')} as since, channel, status, count as n, test_count as tests,
        first_id, last_id from message_counts where unit = '${unit}'${leaving.join('')}`,
    ).join(' union all ')}),
    kept as (
      select workspace_id, unit, since, min(first_id) as first_id, max(last_id) as last_id
      from stored where unit <> 'all' group by 1, 2, 3)
    select count(*) as n from (
      select workspace_id, channel, status from (
        select workspace_id, unit, since, channel, status, n, tests from stored
        union all select workspace_id, unit, since, channel, status, -n, -tests from found) both_ways
      group by workspace_id, unit, since, channel, status having sum(n) <> 0 or sum(tests) <> 0
      union
      select f.workspace_id, f.channel, f.status from found f
      join kept k on k.workspace_id = f.workspace_id and k.unit = f.unit and k.since = f.since
      where k.first_id is null or f.first_id < k.first_id or f.last_id > k.last_id) differing`
}

/** Contradictions in the queues and in the totals of lists. */
export async function queueFaults(snapshot: Snapshot, now: Date): Promise<QueueFaults> {
  const ahead = new Date(now.getTime() + LEASE_MAX_MS)
  const faults: Partial<QueueFaults> = {}
  for (const name of Object.keys(STATEMENTS) as (keyof QueueFaults)[]) {
    const statement = STATEMENTS[name]
    const text = typeof statement === 'string' ? statement : await statement(snapshot)
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
