import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'

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

/** Nothing in it of what was written. */
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
