import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import type { MessageRow, WebhookRow } from '../../rows/rows.ts'

/** How full a queue is. What is claimed is due again when its lease ends. */
export interface QueueState {
  /** All that is in it, due or not. */
  waiting: number
  /** What should be under way already. */
  due: number
  /** Since when the longest-waiting of those is due; null when none is. */
  oldest_due_at: Date | null
}

export interface MessageQueueState extends QueueState {
  /** Of how many it is unknown whether a provider has them. */
  unknown: number
}

/** Messages of all workspaces that have this status now. */
export interface MessageTotal {
  channel: Channel
  status: MessageStatus
  count: number
}

/** Sums over all accounts, in micro-credits; rounded where a sum passes 2^53. */
export interface CreditTotals {
  workspaces: number
  frozen: number
  balance: number
  held: number
}

/** How many webhooks there are of each state. */
export type WebhookTotals = Record<WebhookRow['status'], number>

export type TroubledWebhook = Pick<
  WebhookRow,
  | 'id'
  | 'workspace_id'
  | 'url'
  | 'status'
  | 'disabled_reason'
  | 'consecutive_failures'
  | 'last_success_at'
  | 'last_failure_at'
>

/** Nothing in it of what was written. */
export type FailedMessage = Pick<
  MessageRow,
  | 'id'
  | 'workspace_id'
  | 'channel'
  | 'recipient'
  | 'provider'
  | 'error_code'
  | 'error_message'
  | 'created_at'
  | 'failed_at'
>

/** What operators see: of the whole service, over all its workspaces. No request of a workspace leads here. */
export interface OverviewReads {
  messageTotals(): Promise<MessageTotal[]>
  messageQueue(now: Date): Promise<MessageQueueState>
  deliveryQueue(now: Date): Promise<QueueState>
  creditTotals(): Promise<CreditTotals>
  webhookTotals(): Promise<WebhookTotals>
  /** Those that fail or are disabled, the latest failure first. */
  troubledWebhooks(limit: number): Promise<TroubledWebhook[]>
  /** Messages that failed, the newest first; of one channel, if that is asked for. */
  failedMessages(limit: number, channel?: Channel): Promise<FailedMessage[]>
}
