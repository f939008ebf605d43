import { LIMITS } from '../../../contract/limits.ts'
import type { Tables } from '../../../rows/tables.ts'
import { GATE_FORGETS_MS } from '../../../rules/delivery-times.ts'
import {
  type DeliveryResult,
  endOf,
  HEALTH,
  isSilent,
  planRecord,
  RECORDED,
  type RecordPlan,
  type RecordState,
  silentSince,
  type WebhookHealth,
} from '../../../rules/record.ts'
import { idFloor } from '../../../runtime/runtime.ts'
import type { Connection } from '../engine/connection.ts'
import { insertInto, namesOf, selectFrom, updateOf } from '../engine/rows.ts'

/** The verb `recordDeliveries` on SQLite: look up the deliveries that the claims still hold, plan, write. */
export function prepareRecordDeliveries(
  connection: Connection,
  t: Tables,
  {
    onRecorded,
    ...context
  }: { random: () => number; onRecorded: ((plan: RecordPlan) => void) | undefined },
) {
  const isHeld = connection
    .prepare('select 1 from delivery_queue where delivery_id = ? and token = ?')
    .pluck()
  const findDelivery = selectFrom(
    connection,
    t.deliveries,
    namesOf(t.deliveries),
    'workspace_id = ? and webhook_id = ? and id = ?',
  )
  const findWebhook = selectFrom(
    connection,
    t.webhooks,
    ['id', 'workspace_id', 'url', 'created_at', 'enabled_at', ...HEALTH],
    'workspace_id = ? and id = ?',
  )
  // The ids of deliveries contain the time of creation and are indexed.
  const countFailed = connection
    .prepare(
      `select count(*) from (
         select 1 from deliveries where workspace_id = ? and webhook_id = ? and id > ?
           and status = 'failed' and trigger <> 'test' limit ?
       )`,
    )
    .pluck()
  const updateDelivery = updateOf(connection, t.deliveries, {
    key: ['workspace_id', 'webhook_id', 'id'],
    set: RECORDED,
  })
  const updateWebhook = updateOf(connection, t.webhooks, {
    key: ['workspace_id', 'id'],
    set: HEALTH,
  })
  const insertAttempt = insertInto(connection, t.delivery_attempts)
  const addToHour = insertInto(connection, t.webhook_hours, {
    conflict: 'on conflict do update set count = count + excluded.count',
  })
  const keepFailure = insertInto(connection, t.webhook_failures, { replacing: true })
  const findHost = selectFrom(connection, t.receiver_hosts, namesOf(t.receiver_hosts), 'host = ?')
  const updateHost = updateOf(connection, t.receiver_hosts, {
    key: ['host'],
    set: ['failures', 'held_until', 'waits_until'],
  })
  const forgetHosts = connection.prepare(
    `delete from receiver_hosts where host in (
       select host from receiver_hosts where waits_until < ? and held_until is null order by waits_until limit 4
     )`,
  )
  const requeue = connection.prepare(
    'update delivery_queue set due_at = ?, set_at = ?, token = null where delivery_id = ?',
  )
  const dequeue = connection.prepare('delete from delivery_queue where delivery_id = ?')

  function failedSince(webhook: WebhookHealth): number {
    const since = idFloor(silentSince(webhook))
    const max = LIMITS.webhook_failing_deliveries
    return countFailed.get(webhook.workspace_id, webhook.id, since, max) as number
  }

  function lookUp(held: readonly DeliveryResult[]): RecordState {
    const state: RecordState = {
      deliveries: new Map(),
      webhooks: new Map(),
      failed_deliveries: new Map(),
      hosts: new Map(),
    }
    const latest = endOf(held)
    for (const { workspace_id, webhook_id, delivery_id, gate_host } of held) {
      const host = gate_host ? findHost(gate_host)[0] : undefined
      if (host) state.hosts.set(host.host, host)
      const delivery = findDelivery(workspace_id, webhook_id, delivery_id)[0]
      if (delivery) state.deliveries.set(delivery_id, delivery)
      if (state.webhooks.has(webhook_id)) continue
      const webhook = findWebhook(workspace_id, webhook_id)[0]
      if (!webhook) continue
      state.webhooks.set(webhook_id, webhook as WebhookHealth)
      if (isSilent(webhook, latest)) state.failed_deliveries.set(webhook_id, failedSince(webhook))
    }
    return state
  }

  return (results: readonly DeliveryResult[]): boolean[] => {
    const holds = results.map(({ delivery_id, token }) => isHeld.get(delivery_id, token) === 1)
    const held = results.filter((_, i) => holds[i])
    const plan = planRecord(held, lookUp(held), context)
    for (const delivery of plan.deliveries) updateDelivery(delivery)
    for (const attempt of plan.attempts) insertAttempt(attempt)
    for (const webhook of plan.webhooks) updateWebhook(webhook)
    for (const hour of plan.hours) addToHour(hour)
    for (const failure of plan.failures) keepFailure(failure)
    for (const { delivery_id, due_at, set_at } of plan.requeue) {
      requeue.run(due_at.getTime(), set_at.getTime(), delivery_id)
    }
    for (const id of plan.dequeue) dequeue.run(id)
    for (const host of plan.hosts) updateHost(host)
    if (plan.hosts.length > 0) forgetHosts.run(endOf(held).getTime() - GATE_FORGETS_MS)
    onRecorded?.(plan)
    const counted = plan.counted.values()
    return holds.map((isHolder) => isHolder && counted.next().value === true)
  }
}
