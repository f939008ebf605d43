import type { Delivery } from '../../contract/resources/webhook-deliveries.ts'
import type { DeliveryAttemptRow, DeliveryRow, EventRow, WebhookRow } from '../../rows/rows.ts'
import type { FanOut, Subscriber } from '../../rules/fan-out.ts'

/** Which deliveries of a webhook. */
export interface DeliveryFilter {
  status?: Delivery['status'] | undefined
  event?: string | undefined
  livemode?: boolean | undefined
}

/** Which webhooks. */
export interface WebhookFilter {
  mode?: 'all' | 'live' | 'test' | undefined
}

/** What the owner, or a rotation, changes of a webhook. */
export type WebhookChange = Partial<
  Omit<WebhookRow, 'id' | 'workspace_id' | 'last_success_at' | 'last_failure_at' | 'created_at'>
>

/** What is sent of an event. */
export type EventBody = Pick<EventRow, 'id' | 'body'>

export interface WebhookReads {
  byId(workspaceId: string, webhookId: string): Promise<WebhookRow | null>
  /** Newest first. */
  list(
    workspaceId: string,
    page: WebhookFilter & { limit: number; offset: number },
  ): Promise<WebhookRow[]>
  count(workspaceId: string, filter?: WebhookFilter): Promise<number>
  /** Newest first. */
  deliveries(
    workspaceId: string,
    webhookId: string,
    page: DeliveryFilter & { limit: number; offset: number },
  ): Promise<DeliveryRow[]>
  countDeliveries(workspaceId: string, webhookId: string, filter?: DeliveryFilter): Promise<number>
  delivery(workspaceId: string, webhookId: string, deliveryId: string): Promise<DeliveryRow | null>
  /** Deliveries of any status with higher ids than that, oldest first: so many are looked at, and no more. */
  deliveriesAfter(
    workspaceId: string,
    webhookId: string,
    page: { after_id: string; limit: number },
  ): Promise<Pick<DeliveryRow, 'id' | 'event_id' | 'status' | 'livemode' | 'created_at'>[]>
  /** All deliveries about one message, oldest first. */
  deliveriesOf(workspaceId: string, messageId: string): Promise<DeliveryRow[]>
  /** What is sent of these events, in any order; those that are not there are left out. */
  eventBodies(workspaceId: string, eventIds: readonly string[]): Promise<EventBody[]>
  /** The tries of one delivery, oldest first. */
  attempts(workspaceId: string, deliveryId: string): Promise<DeliveryAttemptRow[]>
}

export interface WebhookWrites {
  /** Where each of the workspace's webhooks goes, disabled ones too. Exact while the workspace is locked. */
  targets(workspaceId: string): Promise<Pick<WebhookRow, 'id' | 'url'>[]>
  insert(webhook: WebhookRow): Promise<void>
  /** The webhook as it is, and stays until the transaction ends. */
  lock(workspaceId: string, webhookId: string): Promise<WebhookRow | null>
  change(workspaceId: string, webhookId: string, change: WebhookChange): Promise<void>
  /** Disables every active webhook of the workspace; says how many. */
  disableAll(workspaceId: string, disabled: { reason: string; at: Date }): Promise<number>
  /** The webhooks that events go to; none of them is removed until the transaction ends. */
  subscribers(workspaceId: string): Promise<Subscriber[]>
  /** Stores an event and queues its deliveries. */
  queue(announced: FanOut): Promise<void>
  /**
   * Makes deliveries due at `at`, as `manual` ones: one that waits keeps the tries it has left, one that is done with
   * gets so many more, one that is under way is left alone. The webhook must be locked. Answers how many.
   */
  requeue(
    workspaceId: string,
    webhookId: string,
    deliveryIds: readonly string[],
    given: { at: Date; tries: number },
  ): Promise<number>
  /** Removes the webhook with its deliveries, waiting ones too. Answers false when there is no such webhook. */
  remove(workspaceId: string, webhookId: string): Promise<boolean>
}
