import { setImmediate as nextTurn } from 'node:timers/promises'
import { seen, type View, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Data, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type {
  Delivery,
  DeliveryWithAttempts,
  webhookDeliveries as endpoints,
} from '../contract/resources/webhook-deliveries.ts'
import type { DeliveryAttemptRow, DeliveryRow, WebhookRow } from '../rows/rows.ts'
import { type FanOut, fanOut } from '../rules/deliveries.ts'
import { MAX_ATTEMPTS, nextAttempt } from '../rules/delivery-times.ts'
import { FORMATS } from '../rules/formats/formats.ts'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { DeliveryFilter } from '../storage/ports/stores.ts'
import { isErasedBody } from './erased-body.ts'

import { openWebhook, signingSecrets } from './sealed-webhook.ts'
import { deliveryOf, visibleWebhook } from './views.ts'

/**
 * The deliveries to a webhook. Each function throws SvcError `not_found`, also for an object that the viewer may not see: a
 * test key sees test events only.
 */
export interface WebhookDeliveries<F extends Form = 'given'> {
  /**
   * Queues a `webhook.test` event for this webhook, before its other deliveries. It is attempted once, even if the webhook is
   * disabled.
   */
  test(viewer: Viewer, webhookId: string): Promise<Delivery>
  /** Returns a page of the matching deliveries, newest first. */
  deliveries(
    viewer: Viewer,
    webhookId: string,
    page: Omit<DeliveryFilter, 'livemode'> & Slice,
  ): Promise<{ deliveries: Delivery[]; total: number; next_after: string | null }>
  /** When the webhook gets its next delivery; null if none waits, or if one is due now. */
  nextAttemptAt(viewer: Viewer, webhookId: string): Promise<Date | null>
  /** Whether the webhook was enabled again, and each attempt since then has failed. */
  failsSinceEnabled(viewer: Viewer, webhookId: string): Promise<boolean>
  /** One delivery with its attempts, oldest first. */
  delivery(viewer: Viewer, webhookId: string, deliveryId: string): Promise<DeliveryWithAttempts>
  /** The requests of a delivery's attempts, oldest first, with their signatures by the current secret. */
  requests(viewer: Viewer, webhookId: string, deliveryId: string): Promise<SentRequest[]>
  /**
   * Makes a delivery due now, before the other deliveries of the webhook. A pending delivery keeps its remaining attempts, and a finished delivery gets one more attempt.
   * While an attempt is in flight, the retry follows that attempt if it fails; until then `next_attempt_at` is null.
   * @throws SvcError `validation_error` if the webhook is disabled or the data of the event was erased.
   */
  retry(viewer: Viewer, webhookId: string, deliveryId: string): Promise<Delivery>
  /**
   * Queues the failed and discarded deliveries of a time window again, with all their attempts: at most
   * `LIMITS.webhook_recover_deliveries` in one call; `has_more` reports the rest. Erased events are left out.
   * @throws SvcError `validation_error` if the webhook is disabled, or if the window is empty or too old.
   */
  recover(
    viewer: Viewer,
    webhookId: string,
    window: BodyIn<typeof endpoints.recover, F>,
    actor?: Actor,
  ): Promise<Data<typeof endpoints.recover>>
}

/** The number of deliveries that are read and queued before other work gets its turn. */
const RECOVER_BATCH = 256

/** The maximum difference between the time in a delivery's id and the time of its event. */
const ID_SKEW_MS = 60 * 60_000

export function createWebhookDeliveries({
  storage,
  runtime,
  sealer,
  onQueued,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  /** Called with the webhook whose deliveries were queued. */
  onQueued: (webhookId: string) => void
}): WebhookDeliveries<'decoded'> {
  const { webhooks: read } = storage.read

  async function deliveryRow(
    view: View,
    webhookId: string,
    deliveryId: string,
  ): Promise<DeliveryRow> {
    const { workspace_id } = view
    const [webhook, found] = await Promise.all([
      read.byId(workspace_id, webhookId),
      read.delivery(workspace_id, webhookId, deliveryId),
    ])
    const isHidden =
      webhook?.callback_origin !== null || (view.livemode === false && webhook.mode !== 'test')
    const row = isHidden ? null : seen(view, found)
    if (!row) throw new SvcError('not_found', 'Delivery not found')
    return row
  }

  async function webhookRow(view: View, webhookId: string): Promise<WebhookRow> {
    return visibleWebhook(view, await read.byId(view.workspace_id, webhookId))
  }

  /** The events that are erased or removed, and not sent again. */
  async function erasedAmong(
    workspaceId: string,
    eventIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const ids = new Set(eventIds)
    for (const { id, body } of await read.eventBodies(workspaceId, [...ids])) {
      if (!isErasedBody(body)) ids.delete(id)
    }
    return ids
  }

  async function requeue(
    view: View,
    webhookId: string,
    ids: readonly string[],
    { attempts, isFirst = false }: { attempts: number; isFirst?: boolean },
  ): Promise<number> {
    const at = runtime.now()
    const { workspace_id } = view
    const queued = await storage.write(async ({ webhooks }) => {
      expectEnabled(visibleWebhook(view, await webhooks.lock(workspace_id, webhookId)))
      const changed = await webhooks.requeue(workspace_id, webhookId, ids, { at, tries: attempts })
      if (isFirst) for (const id of ids) await webhooks.putFirst(workspace_id, webhookId, id)
      return changed
    })
    onQueued(webhookId)
    return queued
  }

  return {
    async test(viewer, webhookId) {
      const view = viewOf(viewer)
      const delivery = await storage.write(async ({ webhooks }) => {
        const webhook = visibleWebhook(view, await webhooks.lock(view.workspace_id, webhookId))
        const announced = testOf(runtime, webhook)
        await webhooks.queue(announced)
        const delivery = announced.deliveries[0] as DeliveryRow
        await webhooks.putFirst(view.workspace_id, webhookId, delivery.id)
        return delivery
      })
      onQueued(webhookId)
      return deliveryOf(delivery, AT_ONCE, runtime.now())
    },
    async deliveries(viewer, webhookId, page) {
      const view = viewOf(viewer)
      const webhook = await webhookRow(view, webhookId)
      const { workspace_id, ...mode } = view
      const { limit, offset, after, ...requested } = page
      const slice = { limit, offset, after }
      const filter = { ...requested, ...mode }
      const [found, total] = await Promise.all([
        read.deliveries(workspace_id, webhookId, { ...filter, ...withNext(slice) }),
        read.countDeliveries(workspace_id, webhookId, filter),
      ])
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      const now = runtime.now()
      return { deliveries: rows.map((row) => deliveryOf(row, webhook, now)), total, next_after }
    },
    async nextAttemptAt(viewer, webhookId) {
      const view = viewOf(viewer)
      const { waits_until } = await webhookRow(view, webhookId)
      const due_at = await read.nextDue(view.workspace_id, webhookId)
      if (due_at === null) return null
      const at = waits_until !== null && waits_until > due_at ? waits_until : due_at
      return at > runtime.now() ? at : null
    },
    async failsSinceEnabled(viewer, webhookId) {
      const row = await webhookRow(viewOf(viewer), webhookId)
      const { enabled_at, last_success_at, consecutive_failures } = row
      if (enabled_at === null || consecutive_failures === 0) return false
      return last_success_at === null || last_success_at < enabled_at
    },
    async delivery(viewer, webhookId, deliveryId) {
      const view = viewOf(viewer)
      const row = await deliveryRow(view, webhookId, deliveryId)
      const [webhook, [event], attempts] = await Promise.all([
        webhookRow(view, webhookId),
        read.eventBodies(row.workspace_id, [row.event_id]),
        read.attempts(row.workspace_id, webhookId, deliveryId),
      ])
      const shown = deliveryOf(row, webhook, runtime.now())
      return { ...shown, payload: JSON.parse(event?.body ?? '{}'), attempts }
    },
    async requests(viewer, webhookId, deliveryId) {
      const view = viewOf(viewer)
      const row = await deliveryRow(view, webhookId, deliveryId)
      const [webhook, attempts] = await Promise.all([
        webhookRow(view, webhookId),
        read.attempts(row.workspace_id, webhookId, deliveryId),
      ])
      return sentRequests({ storage, sealer, runtime }, webhook, row, attempts)
    },
    async retry(viewer, webhookId, deliveryId) {
      const view = viewOf(viewer)
      const { event_id } = await deliveryRow(view, webhookId, deliveryId)
      const assertKept = async () => {
        const erased = await erasedAmong(view.workspace_id, [event_id])
        if (erased.size > 0) throw invalid('delivery_id', ERASED_TEXT)
      }
      await assertKept()
      const changed = await requeue(view, webhookId, [deliveryId], { attempts: 1, isFirst: true })
      // The event may have been removed between the two.
      if (changed === 0) await assertKept()
      const row = await deliveryRow(view, webhookId, deliveryId)
      return deliveryOf(row, AT_ONCE, runtime.now())
    },
    async recover(viewer, webhookId, { since, until = runtime.now() }, actor = SERVICE) {
      const view = viewOf(viewer)
      const { workspace_id: workspaceId } = view
      checkWindow(since, until, runtime.now(), await webhookRow(view, webhookId))
      const begun = {
        workspace_id: workspaceId,
        action: 'webhook.recovered',
        target: { type: 'webhook', id: webhookId },
        details: { since: since.toISOString(), until: until.toISOString() },
      } as const
      const last_id = idFloor(new Date(until.getTime() + ID_SKEW_MS))
      let after_id = idFloor(new Date(since.getTime() - ID_SKEW_MS))
      let recovered = 0
      let isRecorded = false
      while (recovered < LIMITS.webhook_recover_deliveries) {
        const page = { after_id, limit: RECOVER_BATCH }
        const rows = await read.deliveriesAfter(workspaceId, webhookId, page)
        const lost = rows.filter(
          (row) =>
            (row.status === 'failed' || row.status === 'discarded') &&
            row.created_at >= since &&
            row.created_at <= until &&
            seen(view, row),
        )
        const some = lost.slice(0, LIMITS.webhook_recover_deliveries - recovered)
        const eventIds = some.map(({ event_id }) => event_id)
        const erased = await erasedAmong(workspaceId, eventIds)
        const ids = some.filter(({ event_id }) => !erased.has(event_id)).map(({ id }) => id)
        if (ids.length > 0) {
          // Before the first change, so that none is without an entry.
          if (!isRecorded) {
            await storage.write(({ audit }) => audit.record(auditRow(runtime, actor, begun)))
            isRecorded = true
          }
          recovered += await requeue(view, webhookId, ids, { attempts: MAX_ATTEMPTS })
        }
        if (some.length < lost.length) break
        after_id = rows.at(-1)?.id ?? after_id
        if (rows.length < RECOVER_BATCH || after_id > last_id) return { recovered, has_more: false }
        await nextTurn()
      }
      return { recovered, has_more: true }
    },
  }
}

/** A requested delivery is a probe: it does not wait for its receiver. */
const AT_ONCE = { waits_until: null }

const ERASED_TEXT = 'The data of this delivery was erased: there is nothing to send again'

function expectEnabled({ is_active }: WebhookRow): void {
  if (!is_active) throw invalid('id', 'Webhook is disabled. Enable it first.')
}

function testOf(
  runtime: Runtime,
  { workspace_id, id: webhook_id, mode, format }: WebhookRow,
): FanOut {
  const at = runtime.now()
  const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  fanOut(
    announced,
    {
      event: 'webhook.test',
      data: {
        webhook_id,
        message: 'This is a test event.',
        livemode: mode !== 'test',
        occurred_at: at,
      },
      workspace_id,
      message_id: null,
    },
    [{ id: webhook_id, workspace_id, events: ['*'], mode, format }],
    { at, newId: runtime.id },
    { trigger: 'test', max_attempts: 1 },
  )
  return announced
}

function checkWindow(since: Date, until: Date, now: Date, webhook: WebhookRow): void {
  const refuse = (message: string) => invalid('since', message)
  const days = LIMITS.webhook_recover_s / 86_400
  if (since > until) throw refuse('since must not be later than until')
  if (now.getTime() - since.getTime() > LIMITS.webhook_recover_s * 1000) {
    throw refuse(`since must be within the last ${days} days`)
  }
  expectEnabled(webhook)
}

/** The request of one attempt, as the receiver got it. */
export interface SentRequest {
  /** The number of the attempt, from 1. */
  number: number
  /** The value is null for the webhook's own headers: they may be credentials, and are never shown. */
  headers: { name: string; value: string | null }[]
  body: string
}

/**
 * Builds the requests of a delivery's attempts again. Signatures are not stored: they are made with the secrets that are
 * valid now, so after a rotation those of earlier attempts differ from what the receiver got.
 */
async function sentRequests(
  { storage, sealer, runtime }: { storage: Storage; sealer: Sealer; runtime: Runtime },
  webhook: WebhookRow,
  delivery: DeliveryRow,
  attempts: readonly DeliveryAttemptRow[],
): Promise<SentRequest[]> {
  const { workspace_id, event_id, message_id, event } = delivery
  const [[stored], message] = await Promise.all([
    storage.read.webhooks.eventBodies(workspace_id, [event_id]),
    message_id && webhook.format !== 'svc'
      ? storage.read.messages.byId(workspace_id, message_id)
      : null,
  ])
  const { format, url, ...opened } = openWebhook(sealer, webhook, webhook)
  const ends_at = webhook.previous_secret_ends_at
  const previous_secret = ends_at && ends_at > runtime.now() ? opened.previous_secret : null
  const secrets = signingSecrets({ ...opened, previous_secret })
  const { subject, from_address } = (message?.content ?? {}) as Partial<Record<string, string>>
  return attempts.map(({ number, started_at }) => {
    const { headers, body = '' } = FORMATS[format].request(
      {
        ...{ workspace_id, event_id, event, url, ...secrets, attempt: number },
        delivery_id: delivery.id,
        body: stored?.body ?? '{}',
        message: message && {
          sender: message.sender,
          subject: subject ?? null,
          from_address: from_address ?? null,
          // Deliveries to status callbacks are not shown.
          callback_method: null,
        },
      },
      started_at,
    )
    const own = Object.keys(opened.headers).map((name) => ({ name, value: null }))
    const ours = Object.entries(headers).map(([name, value]) => ({ name, value }))
    return { number, headers: [...ours, ...own], body }
  })
}

/** A delivery with its request and its attempts. */
export type MessageDelivery = Pick<
  Delivery,
  | 'id'
  | 'webhook_id'
  | 'status'
  | 'trigger'
  | 'attempt_count'
  | 'max_attempts'
  | 'next_attempt_at'
  | 'next_attempt_reason'
  | 'created_at'
  | 'delivered_at'
> & {
  event: string
  /** The current address; null if the webhook was deleted. */
  url: string | null
  /** The body of the request, byte for byte. */
  payload: string | null
  /** The attempts, oldest first. */
  attempts: {
    number: number
    started_at: Date
    duration_ms: number
    response_status: number | null
    response_body: string | null
    error: string | null
  }[]
}

/** The deliveries about one message, oldest first. */
export async function deliveriesOfMessage(
  { read: { webhooks }, now }: Pick<Storage, 'read'> & { now: Date },
  workspaceId: string,
  messageId: string,
): Promise<MessageDelivery[]> {
  const rows = await webhooks.deliveriesOf(workspaceId, messageId)
  const eventIds = [...new Set(rows.map(({ event_id }) => event_id))]
  const sent = await webhooks.eventBodies(workspaceId, eventIds)
  const bodies = new Map(sent.map(({ id, body }) => [id, body]))
  return Promise.all(
    rows.map(async (row) => {
      const { id, webhook_id, event, status, trigger } = row
      const { attempt_count, max_attempts, created_at, delivered_at } = row
      const [webhook, attempts] = await Promise.all([
        webhooks.byId(workspaceId, webhook_id),
        webhooks.attempts(workspaceId, webhook_id, id),
      ])
      return {
        ...{ id, webhook_id, event, status, trigger },
        ...{ attempt_count, max_attempts, created_at, delivered_at },
        ...nextAttempt(row, { waits_until: webhook?.waits_until ?? null, now }),
        url: webhook?.url ?? null,
        payload: bodies.get(row.event_id) ?? null,
        attempts: attempts.map(({ workspace_id: _, delivery_id: __, ...attempt }) => attempt),
      }
    }),
  )
}
