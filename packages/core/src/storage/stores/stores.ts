import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import { apiKeyStore } from './api-keys.ts'
import { auditStore } from './audit.ts'
import { broadcastStore } from './broadcasts.ts'
import { bulkStore } from './bulks.ts'
import { contactStore } from './contacts.ts'
import { conversationStore } from './conversations.ts'
import { creditSumStore } from './credit-sums.ts'
import { creditHoldStore, creditLotStore, creditStore, lowBalanceStore } from './credits.ts'
import { sendingDomainStore } from './domains.ts'
import { erasureStore } from './erasure.ts'
import { eventLogStore } from './event-log.ts'
import { fileStore } from './files.ts'
import { historyStore } from './history.ts'
import { idempotencyStore } from './idempotency-records.ts'
import { ledgerOpeningStore } from './ledger-openings.ts'
import { invitationStore, memberStore, savedFilterStore } from './members.ts'
import { messagePartStore, messageStore } from './messages.ts'
import { operatorStore } from './operators.ts'
import { overviewStore } from './overview.ts'
import { parkedReceiptStore } from './parked-receipts.ts'
import { dispatchPauseStore, pauseStore } from './pauses.ts'
import { purchaseStore } from './purchases.ts'
import type { StoreDialect } from './queries.ts'
import { receivedMessageStore } from './received-messages.ts'
import { recipientIndexStore } from './recipient-index.ts'
import { retentionStore } from './retention.ts'
import { sealedValueStore, secretStore } from './secrets.ts'
import { loginNetworkStore, passkeyStore, sessionStore } from './sessions.ts'
import { suppressionStore } from './suppressions.ts'
import { templateStore } from './templates.ts'
import { accountTokenStore, secondFactorStore, userStore } from './users.ts'
import { verificationStore } from './verifications.ts'
import { webhookNoticeStore } from './webhook-notices.ts'
import { webhookStore } from './webhooks.ts'
import { ownerMailStore, workspaceStore } from './workspaces.ts'

type EventLog = ReturnType<typeof eventLogStore>

/** The stores: what is in this list is what `read` and `write` have. All stores of a handle share one event log. */
const STORES = {
  workspaces: workspaceStore,
  accountTokens: accountTokenStore,
  sessions: sessionStore,
  users: userStore,
  secondFactors: secondFactorStore,
  passkeys: passkeyStore,
  members: memberStore,
  savedFilters: savedFilterStore,
  invitations: invitationStore,
  loginNetworks: loginNetworkStore,
  ownerMails: ownerMailStore,
  apiKeys: apiKeyStore,
  contacts: contactStore,
  suppressions: suppressionStore,
  credits: creditStore,
  creditHolds: creditHoldStore,
  creditLots: creditLotStore,
  creditSums: creditSumStore,
  ledgerOpenings: ledgerOpeningStore,
  lowBalances: lowBalanceStore,
  purchases: purchaseStore,
  idempotencyRecords: idempotencyStore,
  messages: messageStore,
  recipientIndex: recipientIndexStore,
  files: fileStore,
  bulks: bulkStore,
  messageParts: messagePartStore,
  providerPauses: pauseStore,
  dispatchPauses: dispatchPauseStore,
  parkedReceipts: parkedReceiptStore,
  receivedMessages: receivedMessageStore,
  conversations: conversationStore,
  webhooks: webhookStore,
  webhookNotices: webhookNoticeStore,
  sendingDomains: sendingDomainStore,
  verifications: verificationStore,
  templates: templateStore,
  broadcasts: broadcastStore,
  secrets: secretStore,
  sealedValues: sealedValueStore,
  overview: overviewStore,
  retention: retentionStore,
  history: historyStore,
  erasure: erasureStore,
  audit: auditStore,
  operators: operatorStore,
  eventLog: (_db: Db, _tables: Tables, _dialect: StoreDialect, eventLog: EventLog) => eventLog,
}

type Stores = { [Name in keyof typeof STORES]: ReturnType<(typeof STORES)[Name]> }

/** The stores that have a query. */
type Read = {
  [Name in keyof Stores]: keyof Stores[Name]['reads'] extends never ? never : Name
}[keyof Stores]

/**
 * The queries of `read`: committed rows, and only rows of the named workspace. `READ_PLACES` says where each of them runs.
 */
export interface Reads extends ReadList {}

/** The stores of a transaction: queries and changes. A change outside `write` does not compile. */
export interface Writes extends WriteList {}

type ReadList = { [Name in Read]: Stores[Name]['reads'] }
type WriteList = { [Name in keyof Stores]: Stores[Name]['reads'] & Stores[Name]['writes'] }

/** The queries of all stores on one database handle. */
export function openReads(db: Db, tables: Tables, dialect: StoreDialect): Reads {
  const eventLog = eventLogStore(db, tables, dialect)
  const all = Object.entries(STORES)
  return Object.fromEntries(
    all.map(([name, open]) => [name, open(db, tables, dialect, eventLog).reads]),
  ) as Reads
}

/**
 * The queries and changes of all stores on the handle of a transaction. Each store is made at its first use: to make all
 * for each transaction took 0.1 ms, and most use two or three.
 */
export function openWrites(db: Db, tables: Tables, dialect: StoreDialect): Writes {
  const eventLog = eventLogStore(db, tables, dialect)
  const opened: Record<string, object> = {}
  return new Proxy(STORES, {
    get(all, name: keyof Stores) {
      if (name in all && !opened[name]) {
        const { reads, writes } = all[name](db, tables, dialect, eventLog)
        opened[name] = { ...reads, ...writes }
      }
      return opened[name]
    },
  }) as unknown as Writes
}

/** Runs the work of a transaction. The events that it stored get their positions at its end. */
export async function inTransaction<T>(
  stores: Writes,
  work: (stores: Writes) => Promise<T>,
): Promise<{ result: T; has_logged: boolean }> {
  const result = await work(stores)
  return { result, has_logged: await stores.eventLog.place() }
}
