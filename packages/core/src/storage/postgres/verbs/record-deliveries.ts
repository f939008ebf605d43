import { LIMITS } from '../../../contract/limits.ts'
import type { DeliveryRow, ReceiverHostRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'

import { GATE_FORGETS_MS } from '../../../rules/delivery-times.ts'
import {
  type DeliveryResult,
  endOf,
  HEALTH,
  planRecord,
  RECORDED,
  type RecordPlan,
  type RecordState,
  type WebhookHealth,
} from '../../../rules/record.ts'
import type { Telemetry } from '../../../runtime/telemetry.ts'
import { reportRecorded } from '../../after-commit.ts'
import type { Clock } from '../../queueing.ts'
import {
  type Database,
  type RowsStatement,
  statement,
  type Transaction,
} from '../engine/database.ts'
import { dueAt, insertInto, namesOf, present, removeFrom, updateOf } from '../engine/rows.ts'

/** SQL: the time since which a webhook has had no success. */
const SINCE =
  'greatest(coalesce(w.last_success_at, w.created_at), coalesce(w.enabled_at, w.created_at))'

/** SQL: the number of failed deliveries created since that time. Their ids contain the time and are indexed. */
const FAILED = `(
  select count(*)::int from (
    select 1 from deliveries d, lpad(to_hex((extract(epoch from ${SINCE}) * 1000)::bigint), 12, '0') ms
    where d.workspace_id = w.workspace_id and d.webhook_id = w.id
      and d.id > substr(ms, 1, 8) || '-' || substr(ms, 9) || '-7'
      and d.status = 'failed' and d.trigger <> 'test' limit ${LIMITS.webhook_failing_deliveries}
  ) failed)`

/**
 * The verb `recordDeliveries` on PostgreSQL: lock the webhooks whose health changes, then the deliveries that the
 * claims still hold; plan, write. Two round trips.
 */
export function prepareRecordDeliveries(
  database: Database,
  t: Tables,
  {
    clock,
    random,
    telemetry,
  }: { clock: Clock; random: () => number; telemetry: Telemetry | undefined },
) {
  const lookUp = prepareLookUp(t)
  const write = prepareWrite(t, clock)
  return async (results: readonly DeliveryResult[]): Promise<boolean[]> => {
    const { plan, answers } = await database.transact(async (tx) => {
      const { state, holders } = await lookUp(tx, results)
      const isHeld = ({ delivery_id, token }: DeliveryResult) => holders.get(delivery_id) === token
      const held = results.filter(isHeld)
      const plan = planRecord(held, state, { random })
      write(tx, plan, endOf(held))
      const counted = plan.counted.values()
      const answers = results.map((result) => isHeld(result) && counted.next().value === true)
      return { plan, answers }
    })
    if (telemetry) reportRecorded(telemetry, plan)
    return answers
  }
}

function prepareLookUp(t: Tables) {
  const lockWebhooks = statement<WebhookHealth & { failed: number }>(
    'lock_webhooks',
    `select w.id, w.workspace_id, w.url, w.created_at, w.enabled_at, ${HEALTH.map((column) => `w.${column}`).join(', ')},
            case when ${SINCE} <= $3 then ${FAILED} else 0 end as failed
     from unnest($1::text[], $2::text[]) r(workspace_id, id)
     join webhooks w on w.workspace_id = r.workspace_id and w.id = r.id
     order by w.workspace_id, w.id for no key update of w`,
  )
  const lockHeld = statement<DeliveryRow & { token: string }>(
    'lock_held_deliveries',
    `select q.token, ${namesOf(t.deliveries)
      .map((column) => `d.${column}`)
      .join(', ')}
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) r(workspace_id, webhook_id, id, token)
     join delivery_queue q on q.delivery_id = r.id and q.token = r.token
     join deliveries d on d.workspace_id = r.workspace_id and d.webhook_id = r.webhook_id and d.id = r.id
     order by q.delivery_id for update of q`,
  )
  const lockHosts = statement<ReceiverHostRow>(
    'lock_receiver_hosts',
    'select host, failures, held_until, waits_until from receiver_hosts where host = any($1::text[]) order by host for update',
  )
  return async (tx: Transaction, results: readonly DeliveryResult[]) => {
    const workspaces = results.map(({ workspace_id }) => workspace_id)
    const webhookIds = results.map(({ webhook_id }) => webhook_id)
    const ids = results.map(({ delivery_id }) => delivery_id)
    const tokens = results.map(({ token }) => token)
    const silentSince = new Date(endOf(results).getTime() - LIMITS.webhook_failing_s * 1000)
    const gates = [...new Set(results.flatMap(({ gate_host }) => gate_host ?? []))]
    const [webhooks, held, hosts] = await Promise.all([
      tx.rows(lockWebhooks, workspaces, webhookIds, silentSince),
      tx.rows(lockHeld, workspaces, webhookIds, ids, tokens),
      gates.length > 0 ? tx.rows(lockHosts, gates) : [],
    ])
    const state: RecordState = {
      webhooks: new Map(webhooks.map(({ failed: _, ...webhook }) => [webhook.id, webhook])),
      failed_deliveries: new Map(webhooks.map(({ id, failed }) => [id, failed])),
      deliveries: new Map(),
      hosts: new Map(hosts.map((host) => [host.host, host])),
    }
    const holders = new Map<string, string>()
    for (const { token, ...delivery } of held) {
      state.deliveries.set(delivery.id, delivery)
      holders.set(delivery.id, token)
    }
    return { state, holders }
  }
}

function prepareWrite(t: Tables, clock: Clock) {
  const updateDeliveries = updateOf('record_deliveries', t.deliveries, {
    key: ['workspace_id', 'webhook_id', 'id'],
    set: RECORDED,
  })
  const updateWebhooks = updateOf('update_webhooks', t.webhooks, {
    key: ['workspace_id', 'id'],
    set: HEALTH,
  })
  const insertAttempts = insertInto('insert_delivery_attempts', t.delivery_attempts)
  const addToHours = insertInto(
    'insert_webhook_hours',
    t.webhook_hours,
    {},
    `on conflict (workspace_id, webhook_id, hour, outcome, step)
     do update set count = webhook_hours.count + excluded.count`,
  )
  const keepFailures = insertInto(
    'insert_webhook_failures',
    t.webhook_failures,
    {},
    `on conflict (workspace_id, webhook_id, slot) do update
     set delivery_id = excluded.delivery_id, number = excluded.number, at = excluded.at`,
  )
  const requeue = updateOf('requeue_deliveries', t.delivery_queue, {
    key: ['delivery_id'],
    set: ['due_at', 'set_at'],
    instead: {
      due_at: dueAt('r.due_at', '$3'),
      set_at: dueAt('r.set_at', '$3'),
      token: 'null',
    },
  })
  const freeHosts = updateOf('free_receiver_hosts', t.receiver_hosts, {
    key: ['host'],
    set: ['failures', 'held_until', 'waits_until'],
    instead: { held_until: 'null', waits_until: dueAt('r.waits_until', '$3') },
  })
  const forgetHosts: RowsStatement<ReceiverHostRow> = {
    name: 'forget_receiver_hosts',
    // As a subquery, PostgreSQL may run it again for each row, and then more rows than the limit go.
    text: `with old as materialized (
             select host from receiver_hosts where waits_until < ${present('$3')} - $1::bigint * interval '1 millisecond'
               and held_until is null order by waits_until limit $2::int for update skip locked
           )
           delete from receiver_hosts r using old where r.host = old.host`,
    batchesOf: (rows) => (rows.length > 0 ? [[`${GATE_FORGETS_MS}`, '4']] : []),
  }
  const dequeue = removeFrom('dequeue_deliveries', t.delivery_queue, ['delivery_id'])
  return (tx: Transaction, plan: RecordPlan, at: Date): void => {
    tx.write(updateDeliveries, plan.deliveries)
    tx.write(insertAttempts, plan.attempts)
    tx.write(updateWebhooks, plan.webhooks)
    tx.write(addToHours, plan.hours)
    tx.write(keepFailures, plan.failures)
    tx.write(
      requeue,
      plan.requeue.map(({ delivery_id, due_at, set_at }) => ({
        delivery_id,
        due_at: clock.sent(due_at, set_at),
        set_at: clock.sent(set_at, set_at),
      })),
      clock.origin,
    )
    tx.write(
      dequeue,
      plan.dequeue.map((delivery_id) => ({ delivery_id })),
    )
    const hosts = plan.hosts.map((host) => ({
      ...host,
      waits_until: clock.sent(host.waits_until, at),
    }))
    tx.write(freeHosts, hosts, clock.origin)
    tx.write(forgetHosts, hosts, clock.now(at))
  }
}
