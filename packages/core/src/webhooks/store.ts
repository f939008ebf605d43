import type { DeliveryAttemptRow, DeliveryRow, WebhookRow } from '../storage/storage.ts'

export interface WebhookReads {
  byId(workspaceId: string, webhookId: string): Promise<WebhookRow | null>
  /** Newest first. */
  list(workspaceId: string, page: { limit: number; offset: number }): Promise<WebhookRow[]>
  count(workspaceId: string): Promise<number>
  /** Newest first. */
  deliveries(
    workspaceId: string,
    webhookId: string,
    page: { limit: number; offset: number },
  ): Promise<DeliveryRow[]>
  countDeliveries(workspaceId: string, webhookId: string): Promise<number>
  /** All deliveries about one message, oldest first. */
  deliveriesOf(workspaceId: string, messageId: string): Promise<DeliveryRow[]>
  /** The tries of one delivery, oldest first. */
  attempts(workspaceId: string, deliveryId: string): Promise<DeliveryAttemptRow[]>
}

export interface WebhookWrites {
  insert(webhook: WebhookRow): Promise<void>
  /** Removes the webhook with its deliveries, waiting ones too. Answers false when there is no such webhook. */
  remove(workspaceId: string, webhookId: string): Promise<boolean>
}
