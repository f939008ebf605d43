import type { Account, Entry } from '../credits/decide.ts'
import type { LookupResult, Outcome, Receipt } from '../providers/provider.ts'
import type {
  MessageAttemptRow,
  MessageEventRow,
  MessageQueueRow,
  MessageRow,
} from '../storage/storage.ts'
import type { FanOut, Subscriber } from '../webhooks/fan-out.ts'
import type { CountChange } from './count-changes.ts'

/**
 * One thing learned about a message: what an attempt gave, what a look-up found, what a provider called back, that its
 * workspace wants it no more, or that its recipient does not.
 */
export interface Settlement {
  workspace_id: string
  message_id: string
  /** The token of the claim this came from; null for whoever holds none: a callback, a cancellation, a suppression. */
  token: string | null
  provider: string
  /** What the provider can do, where the outcome is unknown. */
  abilities: { idempotent: boolean; lookup: boolean }
  result:
    | { task: 'send'; attempt: number; outcome: Outcome }
    | { task: 'lookup'; found: LookupResult }
    | { task: 'callback'; receipts: Receipt[] }
    | { task: 'cancel' }
    | { task: 'suppressed' }
  at: Date
}

export type SettledMessage = Omit<MessageRow, 'content'>

/** What the storage looked up, under its locks. */
export interface SettleState {
  messages: Map<string, SettledMessage>
  queue: Map<string, MessageQueueRow>
  /** Active webhooks by workspace. */
  subscribers: Map<string, Subscriber[]>
  accounts: Map<string, Account>
}

/** What the storage shall write, all in the transaction that looked the state up. */
export interface SettlePlan extends FanOut {
  /** For each settlement, whether it still counted; one from a claim that was lost meanwhile does not. */
  counted: boolean[]
  /** Those that changed. */
  messages: SettledMessage[]
  counts: CountChange[]
  attempts: Omit<MessageAttemptRow, 'provider' | 'started_at'>[]
  message_events: MessageEventRow[]
  requeue: MessageQueueRow[]
  /** Ids of messages that need nothing more. */
  dequeue: string[]
  accounts: Account[]
  entries: Entry[]
}

export interface SettleContext {
  newId: () => string
  random: () => number
}

/** One settlement on its way through the plan. `message` is a copy that the step may change. */
export interface Step {
  settlement: Settlement
  message: SettledMessage
  queued: MessageQueueRow | null
  state: SettleState
  accounts: Map<string, Account>
  plan: SettlePlan
  context: SettleContext
}
