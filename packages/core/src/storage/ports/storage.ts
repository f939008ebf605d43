import type { ApiKeyReads, ApiKeyWrites } from './api-keys.ts'
import type { AuditReads, AuditWrites } from './audit.ts'
import type {
  IdempotencyReads,
  IdempotencyWrites,
  PurchaseReads,
  PurchaseWrites,
} from './billing.ts'
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
import type { HotDoor } from './hot.ts'
import type {
  ConversationWrites,
  ParkedReceiptReads,
  ParkedReceiptWrites,
  ReceivedMessageReads,
  ReceivedMessageWrites,
} from './inbound.ts'
import type { LowBalanceReads, LowBalanceWrites } from './low-balances.ts'
import type { BulkReads, MessagePartReads, MessageReads, MessageWrites } from './messages.ts'
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

/**
 * The queries of `read`: committed rows, and only those of the named workspace. `NEAR_READS` names the queries that
 * return at once; every other query may take long.
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
  idempotencyRecords: IdempotencyReads
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

/**
 * The queries that find their rows by one key: they run in the calling thread. An engine may run every other query on a
 * reader thread, so that a long one delays no other request.
 */
export const NEAR_READS = {
  workspaces: ['byId', 'byEmail'],
  sessions: ['byHash'],
  loginNetworks: ['byEmail'],
  contacts: ['byId'],
  credits: ['account'],
  purchases: ['byId', 'bySession', 'byPayment'],
  idempotencyRecords: ['byKey'],
  messages: ['byId'],
  bulks: ['byId'],
  messageParts: ['byProvider'],
  dispatchPauses: ['byScope'],
  webhooks: ['byId'],
  secrets: ['byName'],
} as const satisfies { [Store in keyof Reads]?: readonly (keyof Reads[Store])[] }

/** The stores of a transaction: queries and changes. A change outside `write` does not compile. */
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
  idempotencyRecords: IdempotencyReads & IdempotencyWrites
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
 * The storage of the service, in two parts. `read` and `write` serve the API through shared stores; `hot` serves the
 * operations that every message passes through, in batches. One contract suite proves both on every engine.
 */
export interface Storage {
  /** Sees committed data only. */
  readonly read: Reads
  /**
   * One durable transaction. If `work` throws, nothing is written. `work` may await only its stores: no network, no
   * timer, no other `write`. It may run more than once, and the last run counts: an engine with several writers
   * repeats it after a conflict.
   */
  write<T>(work: (stores: Writes) => Promise<T>): Promise<T>
  readonly hot: HotDoor
  /**
   * Takes the right to dispatch. Where the engine allows only one dispatcher, it refuses a second process, and makes
   * the leases of a killed process due at once.
   * @throws Error naming the reason when another process holds the right.
   */
  startDispatch(): Promise<{ release(): Promise<void> }>
  /**
   * Where several servers share a database: runs `work`, or returns null if one of them runs work of that name now.
   * Absent where the process with the right to dispatch is the only one.
   */
  alone?<T>(name: string, work: () => Promise<T>): Promise<T | null>
  /**
   * Resolves when the database answers and its latest writes reached the disk. At most every two seconds this makes a
   * small write: on SQLite only if no other write was made; on PostgreSQL always, because a commit there may have
   * written nothing.
   * @throws Error when the database does not answer or is read-only, or when a write failed within the last ten
   *   seconds because the disk was full or faulty.
   */
  ping(): Promise<void>
  close(): Promise<void>
}
