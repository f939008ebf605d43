import type { Sealed, SealedHeaders } from '../../rows/sealed.ts'
import type { Tables } from '../../rows/tables.ts'
import type { AcceptRequest, AcceptResult } from '../../rules/accept.ts'
import type { CancelOutcome, CancelRequest } from '../../rules/cancel.ts'
import type { DeliveryResult } from '../../rules/record.ts'
import type { Settlement } from '../../rules/settlement.ts'
import type { ApiKeyReads, ApiKeyWrites } from './api-keys.ts'
import type { AuditReads, AuditWrites } from './audit.ts'
import type { AnswerReads, AnswerWrites, PurchaseReads, PurchaseWrites } from './billing.ts'
import type {
  ContactReads,
  ContactWrites,
  SuppressionReads,
  SuppressionWrites,
} from './contacts.ts'
import type {
  CreditHoldReads,
  CreditHoldWrites,
  CreditLotReads,
  CreditLotWrites,
  CreditReads,
  CreditWrites,
} from './credits.ts'
import type { DispatchPauseReads, DispatchPauseWrites } from './dispatch-pauses.ts'
import type { ErasureReads, ErasureWrites } from './erasure.ts'
import type {
  ConversationWrites,
  ParkedReceiptReads,
  ParkedReceiptWrites,
  ReceivedMessageReads,
  ReceivedMessageWrites,
} from './inbound.ts'
import type { LowBalanceReads, LowBalanceWrites } from './low-balances.ts'
import type { MessagePartReads } from './message-parts.ts'
import type { BulkReads, MessageReads, MessageWrites } from './messages.ts'
import type { OverviewReads } from './overview.ts'
import type { PauseReads, PauseWrites } from './provider-pauses.ts'
import type { RetentionReads, RetentionWrites } from './retention.ts'
import type { SealedValueReads, SealedValueWrites, SecretReads, SecretWrites } from './secrets.ts'
import type { WebhookReads, WebhookWrites } from './webhooks.ts'
import type {
  AccountTokenReads,
  AccountTokenWrites,
  LoginNetworkReads,
  LoginNetworkWrites,
  OwnerMailWrites,
  SessionReads,
  SessionWrites,
  WorkspaceReads,
  WorkspaceWrites,
} from './workspaces.ts'

type Row<Name extends keyof Tables> = Tables[Name]['$inferSelect']
export type WorkspaceRow = Row<'workspaces'>
export type AccountTokenRow = Row<'account_tokens'>
export type EndedSessionRow = Row<'ended_sessions'>
export type LoginNetworkRow = Row<'login_networks'>
export type OwnerMailRow = Row<'owner_mails'>
export type ApiKeyRow = Row<'api_keys'>
export type TestUsageRow = Row<'test_usage'>
export type ContactRow = Row<'contacts'>
export type SuppressionRow = Row<'suppressions'>
export type HoldRow = Row<'credit_holds'>
export type LotRow = Row<'credit_lots'>
export type PurchaseRow = Row<'purchases'>
export type MessageRow = Row<'messages'>
export type BulkRow = Row<'bulks'>
export type MessageQueueRow = Row<'message_queue'>
export type MessageAttemptRow = Row<'message_attempts'>
export type MessageEventRow = Row<'message_events'>
export type MessagePartRow = Row<'message_parts'>
export type ConversationRow = Row<'conversations'>
export type PauseRow = Row<'provider_pauses'>
export type ParkedReceiptRow = Row<'parked_receipts'>
export type ReceivedMessageRow = Row<'received_messages'>
export type ReceivedPartRow = Row<'received_parts'>
export type SecretRow = Row<'secrets'>
export type WebhookRow = Row<'webhooks'>
export type EventRow = Row<'events'>
export type DeliveryRow = Row<'deliveries'>
export type DeliveryQueueRow = Row<'delivery_queue'>
export type DeliveryAttemptRow = Row<'delivery_attempts'>
export type DispatchPauseRow = Row<'dispatch_pauses'>
export type RetentionMarkRow = Row<'retention_marks'>
export type AuditEntryRow = Row<'audit_entries'>

/**
 * What every query of the cold door offers: committed rows, and only of the workspace named. A verb `by…` finds one row
 * by its key and is answered at once; all others may take long.
 */
export interface Reads {
  workspaces: WorkspaceReads
  accountTokens: AccountTokenReads
  sessions: SessionReads
  loginNetworks: LoginNetworkReads
  apiKeys: ApiKeyReads
  contacts: ContactReads
  suppressions: SuppressionReads
  credits: CreditReads
  creditHolds: CreditHoldReads
  creditLots: CreditLotReads
  lowBalances: LowBalanceReads
  purchases: PurchaseReads
  answers: AnswerReads
  messages: MessageReads
  bulks: BulkReads
  messageParts: MessagePartReads
  providerPauses: PauseReads
  dispatchPauses: DispatchPauseReads
  parkedReceipts: ParkedReceiptReads
  receivedMessages: ReceivedMessageReads
  webhooks: WebhookReads
  secrets: SecretReads
  sealedValues: SealedValueReads
  overview: OverviewReads
  retention: RetentionReads
  erasure: ErasureReads
  audit: AuditReads
}

/** What a transaction offers besides: a change outside `write` does not compile. */
export interface Writes extends Reads {
  workspaces: WorkspaceReads & WorkspaceWrites
  accountTokens: AccountTokenReads & AccountTokenWrites
  sessions: SessionReads & SessionWrites
  loginNetworks: LoginNetworkReads & LoginNetworkWrites
  ownerMails: OwnerMailWrites
  apiKeys: ApiKeyReads & ApiKeyWrites
  contacts: ContactReads & ContactWrites
  suppressions: SuppressionReads & SuppressionWrites
  credits: CreditReads & CreditWrites
  creditHolds: CreditHoldReads & CreditHoldWrites
  creditLots: CreditLotReads & CreditLotWrites
  lowBalances: LowBalanceReads & LowBalanceWrites
  purchases: PurchaseReads & PurchaseWrites
  answers: AnswerReads & AnswerWrites
  messages: MessageReads & MessageWrites
  providerPauses: PauseReads & PauseWrites
  dispatchPauses: DispatchPauseReads & DispatchPauseWrites
  parkedReceipts: ParkedReceiptReads & ParkedReceiptWrites
  receivedMessages: ReceivedMessageReads & ReceivedMessageWrites
  conversations: ConversationWrites
  webhooks: WebhookReads & WebhookWrites
  secrets: SecretReads & SecretWrites
  sealedValues: SealedValueReads & SealedValueWrites
  retention: RetentionReads & RetentionWrites
  erasure: ErasureReads & ErasureWrites
  audit: AuditReads & AuditWrites
}

/**
 * Where everything is kept. Two doors: the cold one (`read`, `write`) serves what people do, through shared stores;
 * the hot one (`hot`) serves what every message passes through, in batches. One contract suite proves both on every
 * engine.
 */
export interface Storage {
  /** Sees committed data only. */
  readonly read: Reads
  /**
   * One durable transaction. If `work` throws, nothing happened. `work` may await its stores and nothing else: no
   * network, no timer, no other `write`. It may run more than once, the last time counts: an engine with several
   * writers does it again when another one was in the way.
   */
  write<T>(work: (stores: Writes) => Promise<T>): Promise<T>
  readonly hot: HotDoor
  /**
   * The right to dispatch. Where the engine knows a single dispatcher, a second process is refused; leases that a
   * killed process left are then due at once.
   * @throws Error naming the reason when another process holds the right.
   */
  startDispatch(): Promise<{ release(): Promise<void> }>
  /**
   * Where several servers share a database: runs `work` unless one of them runs the work of that name just now, and
   * answers null then. Absent where whoever has the right to dispatch is alone.
   */
  alone?<T>(name: string, work: () => Promise<T>): Promise<T | null>
  /**
   * Resolves when the database answers and its latest writes reached the disk. At most every two seconds this writes a
   * little itself: on SQLite only where no other write was made, on PostgreSQL, where a commit may have written nothing,
   * whatever else was.
   * @throws Error when it does not answer, is read-only, or a write failed within the last ten seconds for want of space or
   *   because of the disk.
   */
  ping(): Promise<void>
  close(): Promise<void>
}

/**
 * What every message passes through. Each verb takes a batch, is one transaction (or joins one), and resolves only
 * after that is durable. Positional results.
 */
export interface HotDoor {
  /** The key with this hash, whatever its state; never from a cache, so that deactivation counts at once. */
  findApiKey(keyHash: string): Promise<ApiKeyRow | null>
  /**
   * Debit, ledger entry, messages, their bulk, queue rows and idempotency record: each request whole, or not at all.
   */
  accept(requests: readonly AcceptRequest[]): Promise<AcceptResult[]>
  /**
   * Due messages, leased: until the lease ends no other claim gets the same. Attempts are journalled first. Those that
   * waited are held against the suppressions again.
   *
   * The first claim, and one that sees that the clock was set back, brings back what was queued while the clock was ahead,
   * deliveries too: it is then due as long from now as it was to wait, and no scheduled message before its time. After
   * the clock was set forwards, work that is under way is not taken over for as long as a lease lasts.
   */
  claimMessages(claim: MessageClaim): Promise<ClaimedMessage[]>
  /**
   * Statuses, refunds, events, delivery rows and the next step of each message, in one write. Answers which
   * settlements still counted: one from a claim that was lost meanwhile does not.
   */
  settle(settlements: readonly Settlement[]): Promise<boolean[]>
  /**
   * Fails messages that nobody has begun to send (`error_code` `canceled`), gives their credits back once and announces
   * them; all in one transaction, of which each message is told what became of it.
   */
  cancel(request: CancelRequest): Promise<CancelOutcome[]>
  /**
   * Due deliveries, leased; of one webhook and of one workspace no more than the claim says, so that no backlog hides
   * the others. Those that fell due while their webhook is disabled are discarded, tests excepted.
   */
  claimDeliveries(claim: DeliveryClaim): Promise<ClaimedDelivery[]>
  /** What the tries gave: done, next try, or given up. Answers which still counted, as `settle` does. */
  recordDeliveries(results: readonly DeliveryResult[]): Promise<boolean[]>
  /**
   * Counts in fixed windows, each caller exactly, in the order of the batch: over all servers on one database, or in
   * this process where the engine has one alone. A window begins with what counts first in it and is never forgotten
   * before its end, save that a crash of the database, or the end of the one process, begins all anew.
   */
  count(countings: readonly Counting[]): Promise<Counter[]>
  /**
   * Forgets counters whose window has ended, at most `limit`; says how many. Absent where they live in the process,
   * which sweeps them by itself.
   */
  sweepCounters?(now: Date, limit: number): Promise<number>
  /**
   * Where other processes queue work too: hears of it, to look at once and not at the next poll. Wake-ups can get lost,
   * so polling goes on. Answers how to stop hearing.
   */
  onWake?(listener: WakeListener): () => void
}

/** One look at the counter of a key. */
export interface Counting {
  key: string
  /** How long a window lasts that begins with this. */
  window_ms: number
  /** 1 counts; 0 only looks. */
  add: 0 | 1
  now: Date
  /** `Runtime.elapsed`: what windows are measured by where they live in the process. */
  elapsed_ms: number
}

/** How a counter stood at that look, whatever was added included. */
export interface Counter {
  count: number
  /** Until the window ends; where none runs, how long one would last. */
  ends_in_ms: number
}

/** What may be due: messages, deliveries, or (null) anything. */
export type WakeListener = (work: Work | null) => void
export type Work = 'messages' | 'deliveries'

export interface Claim {
  now: Date
  /** `Runtime.elapsed` at that moment: shows whether the clock was set forwards or back since the claim before. */
  elapsed_ms: number
  limit: number
  lease_ms: number
  /** Fences the claim: only its holder may settle what it claimed. */
  token: string
}

export interface MessageClaim extends Claim {
  /** Who is to carry a message: journalled with the attempt, before the call. */
  route(message: Routed): Route
}

/**
 * What a route is chosen by; `provider` is who was asked before, `attempt` how often somebody was, and `unknown_since`
 * is set where that one may have the message, `accepted` where it has a part: nobody else may then be asked.
 */
export type Routed = Pick<
  MessageRow,
  'workspace_id' | 'channel' | 'sender' | 'livemode' | 'provider' | 'accepted'
> &
  Pick<MessageQueueRow, 'attempt' | 'unknown_since'>

/** Who carries a message and from which sender; or why nobody can just now, and for how long it should wait. */
export type Route =
  | { provider: string; sender: string | null }
  | { provider: null; wait_ms: number; error_message: string }

/** How many a claim takes of one webhook and of one workspace; those that a map names have another limit. */
export interface DeliveryClaim extends Claim {
  limit_per_webhook: number
  limit_per_workspace: number
  room_of_webhook: ReadonlyMap<string, number>
  room_of_workspace: ReadonlyMap<string, number>
}

export interface ClaimedMessage
  extends Pick<
    MessageRow,
    | 'workspace_id'
    | 'api_key_id'
    | 'credits_used'
    | 'channel'
    | 'sender'
    | 'recipient'
    | 'content'
    | 'livemode'
    | 'status'
    | 'accepted'
    | 'provider'
    | 'provider_message_id'
    | 'created_at'
    | 'scheduled_at'
    | 'expires_at'
    | 'sent_at'
  > {
  message_id: string
  task: 'send' | 'lookup'
  attempt: number
  /** Since when it is unknown whether the provider has it; null where that is known. */
  unknown_since: Date | null
  token: string
  /** The previous claimant never settled: whether its attempt reached the provider is unknown. */
  interrupted: boolean
  /**
   * Of a message that is to be sent, or whose sending was interrupted. Where nobody can carry it now, nothing was
   * journalled and the row bears no token.
   */
  route: Route | null
  /**
   * Its recipient opted out while it waited: not to be sent. Nothing was journalled and the row bears no token, so that
   * nobody takes it for begun.
   */
  suppressed: boolean
}

export interface ClaimedDelivery {
  delivery_id: string
  workspace_id: string
  webhook_id: string
  event_id: string
  event: string
  url: string
  secret: Sealed
  /** The secret before the last rotation, for as long as it is valid. */
  previous_secret: Sealed | null
  /** The fingerprint of the secret that a receiver showed to know since the last rotation, if any. */
  accepted_secret: string | null
  headers: SealedHeaders
  body: string
  /** Counted from 1. */
  attempt: number
  token: string
}
