import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import type { WebhookStatus } from '../../contract/resources/webhooks.ts'

/** The length of a queue. A claimed row is due again when its lease ends. */
export interface QueueState {
  /** All rows, due or not. */
  waiting: number
  /** Rows that are due now. */
  due: number
  /** The earliest due time; null when no row is due. */
  oldest_due_at: Date | null
}

/** The state of the queue of messages. */
export interface MessageQueueState extends QueueState {
  /** The messages for which it is unknown whether a provider has them. */
  unknown: number
}

/** The waiting messages of a channel whose last attempt was with one provider, and the messages in flight to it. */
export interface QueuePart {
  channel: Channel
  livemode: boolean
  /** The provider of the last attempt; null for messages without one. */
  provider: string | null
  /** Messages that are due within a minute: a message that finds its provider slow or paused waits less than that. */
  waiting: number
  /** The time at which the oldest of them was created, or for which it was scheduled. */
  oldest_waiting_at: Date | null
  /** Messages that were passed to the provider and have no outcome yet. */
  calls: number
  oldest_call_at: Date | null
  /** Messages for which it is unknown whether the provider has them. */
  unknown: number
  oldest_unknown_at: Date | null
}

/** A part without messages. */
export const EMPTY_PART: Omit<QueuePart, 'channel' | 'livemode' | 'provider'> = {
  waiting: 0,
  oldest_waiting_at: null,
  calls: 0,
  oldest_call_at: null,
  unknown: 0,
  oldest_unknown_at: null,
}

/** A message for which it is unknown whether a provider has it, without its content. */
export interface UnknownMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  provider: string | null
  attempt: number
  unknown_since: Date
  /** The time of the next look-up. */
  due_at: Date
}

/** The rows of a queue by their state. A row is in one state. */
export interface QueueStates {
  /** Claimed by a server. */
  leased: number
  /** Due, and not claimed. */
  due: number
  /** Due later: scheduled, or waiting for another attempt. */
  later: number
  /** The earliest time at which a row that is not claimed is due; null for none. */
  first_due_at: Date | null
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

/** A webhook whose deliveries fail, or that the service disabled. */
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
  /**
   * The queue of messages by channel and provider. Reads at most 10,000 rows of each kind, those that are due first, so that
   * a long backlog does not make it slow.
   */
  queueParts(now: Date): Promise<QueuePart[]>
  messageQueueStates(now: Date): Promise<QueueStates>
  deliveryQueueStates(now: Date): Promise<QueueStates>
  /** The messages with an unknown outcome, the oldest first. */
  unknownMessages(limit: number): Promise<UnknownMessage[]>
  creditTotals(): Promise<CreditTotals>
  webhookTotals(): Promise<WebhookTotals>
  /** Failing or disabled webhooks, the latest failure first. */
  troubledWebhooks(limit: number): Promise<TroubledWebhook[]>
  /** Failed messages, newest first; with `channel`, only of this channel. */
  failedMessages(limit: number, channel?: Channel): Promise<FailedMessage[]>
}
