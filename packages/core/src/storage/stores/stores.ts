import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { ApiKeyReads } from '../ports/api-keys.ts'
import type { AuditReads } from '../ports/audit.ts'
import type { IdempotencyReads, PurchaseReads } from '../ports/billing.ts'
import type { ContactReads, SuppressionReads } from '../ports/contacts.ts'
import type { CreditHoldReads, CreditLotReads, CreditReads } from '../ports/credits.ts'
import type { ErasureReads } from '../ports/erasure.ts'
import type { ParkedReceiptReads, ReceivedMessageReads } from '../ports/inbound.ts'
import type { LowBalanceReads } from '../ports/low-balances.ts'
import type { BulkReads, MessagePartReads, MessageReads } from '../ports/messages.ts'
import type { OverviewReads } from '../ports/overview.ts'
import type { DispatchPauseReads, PauseReads } from '../ports/pauses.ts'
import type { RetentionReads } from '../ports/retention.ts'
import type { SealedValueReads, SecretReads } from '../ports/secrets.ts'
import type { WebhookReads } from '../ports/webhooks.ts'
import type {
  AccountTokenReads,
  LoginNetworkReads,
  SessionReads,
  WorkspaceReads,
} from '../ports/workspaces.ts'
import { accountTokenStore } from './account-tokens.ts'
import { apiKeyStore } from './api-keys.ts'
import { auditStore } from './audit.ts'
import { bulkStore } from './bulks.ts'
import { contactStore } from './contacts.ts'
import { conversationStore } from './conversations.ts'
import { creditHoldStore } from './credit-holds.ts'
import { creditLotStore } from './credit-lots.ts'
import { creditStore } from './credits.ts'
import type { StoreDialect } from './dialect.ts'
import { dispatchPauseStore } from './dispatch-pauses.ts'
import { erasureStore } from './erasure.ts'
import { idempotencyStore } from './idempotency-records.ts'
import { loginNetworkStore } from './login-networks.ts'
import { lowBalanceStore } from './low-balances.ts'
import { messagePartStore, messageStore } from './messages.ts'
import { overviewStore } from './overview.ts'
import { ownerMailStore } from './owner-mails.ts'
import { parkedReceiptStore } from './parked-receipts.ts'
import { pauseStore } from './provider-pauses.ts'
import { purchaseStore } from './purchases.ts'
import { receivedMessageStore } from './received-messages.ts'
import { retentionStore } from './retention.ts'
import { sealedValueStore, secretStore } from './secrets.ts'
import { sessionStore } from './sessions.ts'
import { suppressionStore } from './suppressions.ts'
import { webhookStore } from './webhooks.ts'
import { workspaceStore } from './workspaces.ts'

/**
 * The queries of `read`: committed rows, and only rows of the named workspace. `NEAR_READS` names the queries that
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

/** All stores on one database handle: the handle of a transaction or of the readers. */
export function openStores(db: Db, tables: Tables, dialect: StoreDialect) {
  return {
    workspaces: workspaceStore(db, tables, dialect),
    accountTokens: accountTokenStore(db, tables, dialect),
    sessions: sessionStore(db, tables),
    loginNetworks: loginNetworkStore(db, tables, dialect),
    ownerMails: ownerMailStore(db, tables),
    apiKeys: apiKeyStore(db, tables),
    contacts: contactStore(db, tables, dialect),
    suppressions: suppressionStore(db, tables),
    credits: creditStore(db, tables, dialect),
    creditHolds: creditHoldStore(db, tables),
    creditLots: creditLotStore(db, tables),
    lowBalances: lowBalanceStore(db, tables, dialect),
    purchases: purchaseStore(db, tables),
    idempotencyRecords: idempotencyStore(db, tables),
    messages: messageStore(db, tables, dialect),
    bulks: bulkStore(db, tables),
    messageParts: messagePartStore(db, tables),
    providerPauses: pauseStore(db, tables),
    dispatchPauses: dispatchPauseStore(db, tables),
    parkedReceipts: parkedReceiptStore(db, tables),
    receivedMessages: receivedMessageStore(db, tables, dialect),
    conversations: conversationStore(db, tables),
    webhooks: webhookStore(db, tables, dialect),
    secrets: secretStore(db, tables),
    sealedValues: sealedValueStore(db, tables, dialect),
    overview: overviewStore(db, tables),
    retention: retentionStore(db, tables),
    erasure: erasureStore(db, tables, dialect),
    audit: auditStore(db, tables),
  }
}

/** The stores of a transaction: queries and changes. A change outside `write` does not compile. */
export type Writes = ReturnType<typeof openStores>
