import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import { apiKeyStore } from './api-keys.ts'
import { auditStore } from './audit.ts'
import { bulkStore } from './bulks.ts'
import { contactStore } from './contacts.ts'
import { conversationStore } from './conversations.ts'
import { creditHoldStore, creditLotStore, creditStore, lowBalanceStore } from './credits.ts'
import { sendingDomainStore } from './domains.ts'
import { erasureStore } from './erasure.ts'
import { eventLogStore } from './event-log.ts'
import { fileStore } from './files.ts'
import { idempotencyStore } from './idempotency-records.ts'
import { invitationStore, memberStore } from './members.ts'
import { messagePartStore, messageStore } from './messages.ts'
import { operatorStore } from './operators.ts'
import { overviewStore } from './overview.ts'
import { parkedReceiptStore } from './parked-receipts.ts'
import { dispatchPauseStore, pauseStore } from './pauses.ts'
import { purchaseStore } from './purchases.ts'
import type { StoreDialect } from './queries.ts'
import { receivedMessageStore } from './received-messages.ts'
import { retentionStore } from './retention.ts'
import { sealedValueStore, secretStore } from './secrets.ts'
import { loginNetworkStore, passkeyStore, sessionStore } from './sessions.ts'
import { suppressionStore } from './suppressions.ts'
import { accountTokenStore, secondFactorStore, userStore } from './users.ts'
import { webhookStore } from './webhooks.ts'
import { ownerMailStore, workspaceStore } from './workspaces.ts'

/** The stores: what is in this list is what `read` and `write` have. */
function stores(db: Db, tables: Tables, dialect: StoreDialect) {
  const eventLog = eventLogStore(db, tables, dialect)
  return {
    workspaces: workspaceStore(db, tables, dialect),
    accountTokens: accountTokenStore(db, tables, dialect),
    sessions: sessionStore(db, tables),
    users: userStore(db, tables, dialect),
    secondFactors: secondFactorStore(db, tables, dialect),
    passkeys: passkeyStore(db, tables),
    members: memberStore(db, tables),
    invitations: invitationStore(db, tables),
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
    files: fileStore(db, tables, dialect),
    bulks: bulkStore(db, tables),
    messageParts: messagePartStore(db, tables),
    providerPauses: pauseStore(db, tables),
    dispatchPauses: dispatchPauseStore(db, tables),
    parkedReceipts: parkedReceiptStore(db, tables),
    receivedMessages: receivedMessageStore(db, tables, dialect),
    conversations: conversationStore(db, tables),
    webhooks: webhookStore(db, tables, dialect, eventLog),
    sendingDomains: sendingDomainStore(db, tables, dialect),
    secrets: secretStore(db, tables),
    sealedValues: sealedValueStore(db, tables, dialect),
    overview: overviewStore(db, tables),
    retention: retentionStore(db, tables),
    erasure: erasureStore(db, tables, dialect),
    audit: auditStore(db, tables),
    operators: operatorStore(db, tables, dialect),
    eventLog,
  }
}

type Stores = ReturnType<typeof stores>

/** The stores that have a query. */
type Read = {
  [Name in keyof Stores]: keyof Stores[Name]['reads'] extends never ? never : Name
}[keyof Stores]

/**
 * The queries of `read`: committed rows, and only rows of the named workspace. `NEAR_READS` names the queries that
 * return at once; every other query may take long.
 */
export interface Reads extends ReadList {}

/** The stores of a transaction: queries and changes. A change outside `write` does not compile. */
export interface Writes extends WriteList {}

type ReadList = { [Name in Read]: Stores[Name]['reads'] }
type WriteList = { [Name in keyof Stores]: Stores[Name]['reads'] & Stores[Name]['writes'] }

/** The queries of all stores on one database handle. */
export function openReads(db: Db, tables: Tables, dialect: StoreDialect): Reads {
  const all = Object.entries(stores(db, tables, dialect))
  return Object.fromEntries(all.map(([name, { reads }]) => [name, reads])) as Reads
}

/** The queries and changes of all stores on the handle of a transaction. */
export function openWrites(db: Db, tables: Tables, dialect: StoreDialect): Writes {
  const all: [string, { reads: object; writes: object }][] = Object.entries(
    stores(db, tables, dialect),
  )
  return Object.fromEntries(
    all.map(([name, { reads, writes }]) => [name, { ...reads, ...writes }]),
  ) as unknown as Writes
}

/** Runs the work of a transaction. The events that it stored get their positions at its end. */
export async function inTransaction<T>(
  stores: Writes,
  work: (stores: Writes) => Promise<T>,
): Promise<{ result: T; has_logged: boolean }> {
  const result = await work(stores)
  return { result, has_logged: await stores.eventLog.place() }
}
