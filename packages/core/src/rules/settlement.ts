import type {
  LookupResult,
  Outcome,
  Receipt,
  SuppressionReason,
} from '../contract/outside/provider.ts'
import type { SettledColumn } from '../rows/messages.ts'
import type {
  ConversationRow,
  MessageAttemptRow,
  MessageEventRow,
  MessagePartRow,
  MessageQueueRow,
  MessageRow,
  SuppressionRow,
} from '../rows/rows.ts'
import type { CountChange } from './count-changes.ts'
import type { Account, Entry } from './decide.ts'
import type { FanOut, Subscriber } from './fan-out.ts'

/**
 * One thing learned about a message: what an attempt gave, what a look-up found, what a provider called back or refused late, that its
 * workspace wants it no more, that its recipient does not, or that nobody can carry it now.
 */
export interface Settlement {
  workspace_id: string
  message_id: string
  /** The token of the claim this came from; null for whoever holds none: a callback, a cancellation, a suppression. */
  token: string | null
  provider: string
  /** What the provider can do, where the outcome is unknown. */
  abilities: { idempotent: boolean; lookup: boolean }
  result: /**
   * `sender`: from whom it was sent, where answers can come back to it. `never_called`: the attempt was not made, and
   * none before it is in doubt.
   */
    | {
        task: 'send'
        attempt: number
        outcome: Outcome
        sender?: string | null
        never_called?: boolean
      }
    | { task: 'lookup'; found: LookupResult }
    | { task: 'callback'; receipts: Receipt[]; suppress?: SuppressionReason }
    /** That it never took what it may have had. */
    | { task: 'refused'; receipt: Receipt }
    | { task: 'cancel' }
    | { task: 'suppressed' }
    | { task: 'postponed'; wait_ms: number; error_message: string }
  at: Date
}

/** A message without its content. Only the columns that settling writes can be assigned. */
export type SettledMessage = Readonly<Omit<MessageRow, 'content' | SettledColumn>> &
  Pick<MessageRow, SettledColumn>

/** The columns of `message_attempts` that settling writes. */
export const FINISHED_ATTEMPT_COLUMNS = [
  'outcome',
  'provider_message_id',
  'error_code',
  'error_message',
  'finished_at',
] as const satisfies (keyof MessageAttemptRow)[]

/** What the storage looked up, under its locks. */
export interface SettleState {
  messages: Map<string, SettledMessage>
  queue: Map<string, MessageQueueRow>
  /** Active webhooks by workspace. */
  subscribers: Map<string, Subscriber[]>
  accounts: Map<string, Account>
  /** By message: what its receipts name it by. Looked up for callbacks alone. */
  parts: Map<string, MessagePartRow[]>
  /** By message: the entries about it. Looked up for calls alone. */
  entries_about: Map<string, Entry[]>
}

/** What the storage shall write, all in the transaction that looked the state up. */
export interface SettlePlan extends FanOut {
  /** For each settlement, whether it still counted; one from a claim that was lost meanwhile does not. */
  counted: boolean[]
  /** Those that changed. */
  messages: SettledMessage[]
  counts: CountChange[]
  attempts: Pick<
    MessageAttemptRow,
    'workspace_id' | 'message_id' | 'number' | (typeof FINISHED_ATTEMPT_COLUMNS)[number]
  >[]
  message_events: MessageEventRow[]
  /** New ones; one that stands already stays as it is. */
  parts: MessagePartRow[]
  /** Those whose status changed. */
  part_changes: MessagePartRow[]
  /** Who wrote to whom, in place of what stood there. */
  conversations: ConversationRow[]
  /** One that stands already stays as it is. */
  suppressions: SuppressionRow[]
  requeue: MessageQueueRow[]
  /** Ids of messages that need nothing more. */
  dequeue: string[]
  accounts: Account[]
  entries: Entry[]
  /** What is held no more. */
  ended_holds: { workspace_id: string; id: string }[]
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
