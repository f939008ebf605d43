import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'

/** The length of a queue. A claimed row is due again when its lease ends. */
export interface QueueState {
  /** All rows, due or not. */
  waiting: number
  /** Rows that are due now. */
  due: number
  /** The earliest due time; null when no row is due. */
  oldest_due_at: Date | null
}

export interface MessageQueueState extends QueueState {
  /** The messages for which it is unknown whether a provider has them. */
  unknown: number
}

/** The number of messages of all workspaces that have this status now. */
export interface MessageTotal {
  channel: Channel
  status: MessageStatus
  count: number
}

/** Sums over all accounts, in micro-credits; rounded if a sum exceeds 2^53. */
export interface CreditTotals {
  workspaces: number
  frozen: number
  balance: number
  held: number
}

/** The number of webhooks in each state. */
export type WebhookTotals = Record<WebhookStatus, number>

export type WebhookStatus = 'active' | 'failing' | 'disabled'

export interface TroubledWebhook {
  id: string
  workspace_id: string
  url: string
  status: WebhookStatus
  disabled_reason: string | null
  consecutive_failures: number
  last_success_at: Date | null
  last_failure_at: Date | null
}

/** A failed message, without its content. */
export interface FailedMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  provider: string | null
  error_code: string | null
  error_message: string | null
  created_at: Date
  failed_at: Date | null
}

/** The operator's figures about the whole service. No request of a workspace uses them. */
export interface OverviewReads {
  messageTotals(): Promise<MessageTotal[]>
  messageQueue(now: Date): Promise<MessageQueueState>
  deliveryQueue(now: Date): Promise<QueueState>
  creditTotals(): Promise<CreditTotals>
  webhookTotals(): Promise<WebhookTotals>
  /** Failing or disabled webhooks, the latest failure first. */
  troubledWebhooks(limit: number): Promise<TroubledWebhook[]>
  /** Failed messages, newest first; with `channel`, only of this channel. */
  failedMessages(limit: number, channel?: Channel): Promise<FailedMessage[]>
}
