import type { Units } from '../contract/fields/units.ts'
import type {
  LookupResult,
  Outcome,
  Receipt,
  SuppressionReason,
} from '../contract/outside/provider.ts'
import type { Channel, MessageStatus } from '../contract/resources/messages.ts'
import type { CountedStatus, SettledColumn } from '../rows/messages.ts'
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
import type { FanOut, Subscriber } from './deliveries.ts'

/** The order in which statuses are applied; `delivered` and `read` correct a failure that a provider reported. */
export const STATUSES: readonly Reported[] = ['sent', 'failed', 'delivered', 'read']

/** The event of each status; `queued` has none, because the 201 response reported it. */
export const STATUS_EVENTS = {
  sent: 'message.sent',
  delivered: 'message.delivered',
  read: 'message.read',
  failed: 'message.failed',
} as const satisfies Record<Exclude<MessageStatus, 'queued'>, string>

export type Reported = Exclude<MessageStatus, 'queued'>

/**
 * The statuses that a message passes through, in order, when `reported` arrives; none for a late, repeated or
 * contradictory report. A delivery replaces a failure that came after the provider accepted the message, but not an
 * earlier failure, whose credits were refunded. A `read` without an earlier `delivered` passes through both.
 */
export function advance(
  current: { status: MessageStatus; accepted: boolean },
  reported: Reported,
): Reported[] {
  switch (current.status) {
    case 'queued':
      return reported === 'read' ? ['delivered', 'read'] : [reported]
    case 'sent':
      if (reported === 'sent') return []
      return reported === 'read' ? ['delivered', 'read'] : [reported]
    case 'delivered':
      return reported === 'read' ? ['read'] : []
    case 'read':
      return []
    case 'failed':
      if (!current.accepted) return []
      if (reported === 'delivered') return ['delivered']
      return reported === 'read' ? ['delivered', 'read'] : []
  }
}

/**
 * The answer to a look-up. `not_begun`: the provider was not asked, because of a pause, or because the pauses were not read
 * for too long.
 */
export type LookupAnswer = LookupResult | { type: 'not_begun' }

/**
 * One report about a message: the outcome of an attempt or a look-up, a callback or late refusal of its provider, its
 * cancellation, its recipient's opt-out, or the fact that no provider can take it now.
 */
export interface Settlement {
  workspace_id: string
  message_id: string
  /** The token of the claim; null for a report without a claim: a callback, a cancellation, a suppression. */
  token: string | null
  provider: string
  /** The provider's abilities to resolve an unknown outcome. */
  abilities: { idempotent: boolean; lookup: boolean }
  result: /**
   * `sender`: the sender, if it can receive answers. `never_accepted`: the attempt was not made or its provider did not accept
   * the message, and no earlier attempt has an unknown outcome. `by_service`: the outcome is not an answer of the provider.
   */
    | {
        task: 'send'
        attempt: number
        outcome: Outcome
        sender?: string | null
        never_accepted?: boolean
        by_service?: boolean
      }
    | { task: 'lookup'; found: LookupAnswer }
    | {
        task: 'callback'
        receipts: Receipt[]
        suppress?: SuppressionReason
        /** The recipients to suppress, if the message has several. */
        addresses?: readonly string[]
      }
    /** The provider never accepted the attempt. */
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

/** The columns of `message_attempts` that a late refusal reads. */
export const ATTEMPT_SUMMARY_COLUMNS = [
  'message_id',
  'number',
  'provider',
  'outcome',
] as const satisfies (keyof MessageAttemptRow)[]
export type AttemptSummary = Pick<MessageAttemptRow, (typeof ATTEMPT_SUMMARY_COLUMNS)[number]>

/** The rows that the settlements need, read under the storage's locks. */
export interface SettleState {
  messages: Map<string, SettledMessage>
  queue: Map<string, MessageQueueRow>
  /** The active webhooks of each workspace. */
  subscribers: Map<string, Subscriber[]>
  /** Whether events are stored even without a subscriber, and logged. Default: false. */
  keeps_events?: boolean
  accounts: Map<string, Account>
  /** The attempts of each message, in their order; only late refusals need them. */
  attempts: Map<string, AttemptSummary[]>
  /** The parts of each message; only callbacks need them. */
  parts: Map<string, MessagePartRow[]>
  /** The ledger entries about each message; only calls need them. */
  entries_about: Map<string, Entry[]>
}

/** A change of the counts of codes. The storage finds the country, and skips a message without a code. */
export interface CodeCountChange {
  workspace_id: string
  message_id: string
  recipient: string
  created_at: Date
  sent: 1 | -1
  credits_used: Units
}

/**
 * A message that failed, and may be the last one of a pending code: its next channel is due at `at`. The storage finds the
 * verification by its address, and skips all other messages.
 */
export interface FailedCode {
  workspace_id: string
  message_id: string
  /** As verifications store it. */
  address: string
  at: Date
}

/** The rows that the storage writes, in the transaction that read the state. */
export interface SettlePlan extends FanOut {
  /** For each settlement, whether it counted. A settlement of a lost claim may be ignored. */
  counted: boolean[]
  /** The changed messages. */
  messages: SettledMessage[]
  counts: CountChange[]
  attempts: Pick<
    MessageAttemptRow,
    'workspace_id' | 'message_id' | 'number' | (typeof FINISHED_ATTEMPT_COLUMNS)[number]
  >[]
  /** The reports that the messages' columns do not have. */
  message_events: MessageEventRow[]
  /** What the failures of messages change in the counts of codes: a message that cost nothing does not count. */
  code_counts: CodeCountChange[]
  failed_codes: FailedCode[]
  /** The statuses that messages reached, for metrics: a canceled message has not failed. */
  reached: { channel: Channel; status: CountedStatus }[]
  /** New parts. The storage keeps an existing row. */
  parts: MessagePartRow[]
  /** The parts with a new status. */
  part_changes: MessagePartRow[]
  /** Conversations, which replace existing rows. */
  conversations: ConversationRow[]
  /** New suppressions. The storage keeps an existing row. */
  suppressions: SuppressionRow[]
  requeue: MessageQueueRow[]
  /** Ids of messages whose queue row is deleted. */
  dequeue: string[]
  accounts: Account[]
  entries: Entry[]
  ended_holds: { workspace_id: string; id: string }[]
}

export interface SettleContext {
  newId: () => string
  random: () => number
}

/** The planning of one settlement. `message` is a copy that the step may change; `before` is the message before the step. */
export interface Step {
  settlement: Settlement
  before: SettledMessage
  message: SettledMessage
  queued: MessageQueueRow | null
  state: SettleState
  accounts: Map<string, Account>
  plan: SettlePlan
  context: SettleContext
}
