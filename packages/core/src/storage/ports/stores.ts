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
import type { SendingDomainReads, SendingDomainWrites } from './domains.ts'
import type { ErasureReads, ErasureWrites } from './erasure.ts'
import type { EventLogReads, EventLogWrites } from './event-log.ts'
import type { FileReads, FileWrites } from './files.ts'
import type {
  ConversationWrites,
  ParkedReceiptReads,
  ParkedReceiptWrites,
  ReceivedMessageReads,
  ReceivedMessageWrites,
} from './inbound.ts'
import type { LowBalanceReads, LowBalanceWrites } from './low-balances.ts'
import type {
  InvitationReads,
  InvitationWrites,
  MemberReads,
  MemberWrites,
  SecondFactorReads,
  SecondFactorWrites,
  UserReads,
  UserWrites,
} from './members.ts'
import type { BulkReads, MessagePartReads, MessageReads, MessageWrites } from './messages.ts'
import type { OperatorReads, OperatorWrites } from './operators.ts'
import type { OverviewReads } from './overview.ts'
import type { PasskeyReads, PasskeyWrites } from './passkeys.ts'
import type { DispatchPauseReads, DispatchPauseWrites, PauseReads, PauseWrites } from './pauses.ts'
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
 * The queries of `read`: committed rows, and only rows of the named workspace. `NEAR_READS` names the queries that
 * return at once; every other query may take long.
 */
export interface Reads {
  workspaces: WorkspaceReads
  accountTokens: AccountTokenReads
  sessions: SessionReads
  users: UserReads
  secondFactors: SecondFactorReads
  passkeys: PasskeyReads
  members: MemberReads
  invitations: InvitationReads
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
  files: FileReads
  bulks: BulkReads
  messageParts: MessagePartReads
  providerPauses: PauseReads
  dispatchPauses: DispatchPauseReads
  parkedReceipts: ParkedReceiptReads
  receivedMessages: ReceivedMessageReads
  webhooks: WebhookReads
  sendingDomains: SendingDomainReads
  secrets: SecretReads
  sealedValues: SealedValueReads
  overview: OverviewReads
  retention: RetentionReads
  erasure: ErasureReads
  audit: AuditReads
  operators: OperatorReads
  eventLog: EventLogReads
}

/** The stores of a transaction: queries and changes. A change outside `write` does not compile. */
export interface Writes {
  workspaces: WorkspaceReads & WorkspaceWrites
  accountTokens: AccountTokenReads & AccountTokenWrites
  sessions: SessionReads & SessionWrites
  users: UserReads & UserWrites
  secondFactors: SecondFactorReads & SecondFactorWrites
  passkeys: PasskeyReads & PasskeyWrites
  members: MemberReads & MemberWrites
  invitations: InvitationReads & InvitationWrites
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
  files: FileReads & FileWrites
  bulks: BulkReads
  messageParts: MessagePartReads
  providerPauses: PauseReads & PauseWrites
  dispatchPauses: DispatchPauseReads & DispatchPauseWrites
  parkedReceipts: ParkedReceiptReads & ParkedReceiptWrites
  receivedMessages: ReceivedMessageReads & ReceivedMessageWrites
  conversations: ConversationWrites
  webhooks: WebhookReads & WebhookWrites
  sendingDomains: SendingDomainReads & SendingDomainWrites
  secrets: SecretReads & SecretWrites
  sealedValues: SealedValueReads & SealedValueWrites
  overview: OverviewReads
  retention: RetentionReads & RetentionWrites
  erasure: ErasureReads & ErasureWrites
  audit: AuditReads & AuditWrites
  operators: OperatorReads & OperatorWrites
  eventLog: EventLogReads & EventLogWrites
}
