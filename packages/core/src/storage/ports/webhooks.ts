import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Delivery } from '../../contract/resources/webhook-deliveries.ts'
import type { DeliveryAttemptRow, DeliveryRow, EventRow, WebhookRow } from '../../rows/rows.ts'
import type { FanOut, Subscriber } from '../../rules/fan-out.ts'

/** Selects deliveries of a webhook. */
export interface DeliveryFilter {
  status?: Delivery['status'] | undefined
  event?: string | undefined
  livemode?: boolean | undefined
}

/** Selects webhooks. */
export interface WebhookFilter {
  mode?: 'all' | 'live' | 'test' | undefined
}

/** The columns that the owner or a rotation changes. */
export type WebhookChange = Partial<
  Omit<WebhookRow, 'id' | 'workspace_id' | 'last_success_at' | 'last_failure_at' | 'created_at'>
>

/** The body of an event's deliveries. */
export type EventBody = Pick<EventRow, 'id' | 'body'>

export interface WebhookReads {
  /** Also returns hidden webhooks. */
  byId(workspaceId: string, webhookId: string): Promise<WebhookRow | null>
  /** The hidden webhook that gets the callbacks for this origin, signed by this key. */
  byCallbackOrigin(
    workspaceId: string,
    of: { api_key_id: string; callback_origin: string },
  ): Promise<WebhookRow | null>
  /** Returns the newest first, without hidden webhooks. */
  list(workspaceId: string, page: WebhookFilter & Slice): Promise<WebhookRow[]>
  /** Without hidden webhooks. */
  count(workspaceId: string, filter?: WebhookFilter): Promise<number>
  /** Returns the newest first. */
  deliveries(
    workspaceId: string,
    webhookId: string,
    page: DeliveryFilter & Slice,
  ): Promise<DeliveryRow[]>
  countDeliveries(workspaceId: string, webhookId: string, filter?: DeliveryFilter): Promise<number>
  delivery(workspaceId: string, webhookId: string, deliveryId: string): Promise<DeliveryRow | null>
  /** When the next of the waiting deliveries is due; null if none waits. Deliveries in flight do not wait. */
  nextDue(workspaceId: string, webhookId: string): Promise<Date | null>
  /** At most `limit` deliveries with ids above `after_id`, of any status, oldest first. */
  deliveriesAfter(
    workspaceId: string,
    webhookId: string,
    page: { after_id: string; limit: number },
  ): Promise<Pick<DeliveryRow, 'id' | 'event_id' | 'status' | 'livemode' | 'created_at'>[]>
  /** All deliveries about one message, oldest first. */
  deliveriesOf(workspaceId: string, messageId: string): Promise<DeliveryRow[]>
  /** The bodies of these events, in any order; missing events are left out. */
  eventBodies(workspaceId: string, eventIds: readonly string[]): Promise<EventBody[]>
  /** The tries of one delivery, oldest first. */
  attempts(
    workspaceId: string,
    webhookId: string,
    deliveryId: string,
  ): Promise<DeliveryAttemptRow[]>
}

export interface WebhookWrites {
  /** The URLs of the workspace's webhooks, even if disabled, without hidden ones. The list is exact while the workspace is locked. */
  targets(workspaceId: string): Promise<Pick<WebhookRow, 'id' | 'url'>[]>
  insert(webhook: WebhookRow): Promise<void>
  /** The webhook, locked until the transaction ends. */
  lock(workspaceId: string, webhookId: string): Promise<WebhookRow | null>
  /**
   * The webhooks that this API key signs, hidden ones included, locked until the transaction ends; null: that any key
   * signs. Sorted by id.
   */
  lockSignedBy(workspaceId: string, keyId: string | null): Promise<WebhookRow[]>
  /** The number of the hidden webhooks that get callbacks, or will again. It is exact while the workspace is locked. */
  countCallbacks(workspaceId: string): Promise<number>
  change(workspaceId: string, webhookId: string, change: WebhookChange): Promise<void>
  /**
   * Removes hosts at whose gates no attempt began or was held since `before`: those of deleted webhooks too. Returns their
   * number, at most `limit`.
   */
  forgetHosts(before: Date, limit: number): Promise<number>
  /** Disables every active webhook of the workspace; returns their number without hidden ones. */
  disableAll(workspaceId: string, disabled: { reason: string; at: Date }): Promise<number>
  /** The active webhooks without hidden ones. None of them can be removed until the transaction ends. */
  subscribers(workspaceId: string): Promise<Subscriber[]>
  /** Stores an event and queues its deliveries. */
  queue(announced: FanOut): Promise<void>
  /**
   * Makes deliveries due at `at`, with the trigger `manual`. Waiting deliveries keep their remaining tries, finished
   * deliveries get `tries` more. A delivery in flight gets one more try, directly after the try in flight if that fails;
   * until then its `next_attempt_at` is null. Lock the webhook first. Returns the number of changed deliveries.
   */
  requeue(
    workspaceId: string,
    webhookId: string,
    deliveryIds: readonly string[],
    next: { at: Date; tries: number },
  ): Promise<number>
  /** Removes the webhook with all its deliveries. Returns false when there is no such webhook. */
  remove(workspaceId: string, webhookId: string): Promise<boolean>
}
