import type { HotVerbs } from './hot.ts'
import type { Reads, Writes } from './stores.ts'

export type { Reads, Writes }

/**
 * Where a query of `read` runs. `near`: it finds its rows by one key, is that of the start, or finds a bounded number of due rows
 * in their own index, as each watch does once a second; it runs in the calling thread. The others may take long, and an engine may
 * run them on a reader thread, so that they delay no other request. `primary`: its answer decides something (a send, a limit, a
 * balance, a login, what is removed), so it never leaves the database that takes the writes. `replica`: its answer is only shown,
 * so a read replica may give it.
 */
export type ReadPlace = 'near' | 'primary' | 'replica'

/** The place of each query; a new one must choose. */
export const READ_PLACES = {
  workspaces: {
    byId: 'near',
    quietHours: 'near',
    marketingTexts: 'near',
    byEmail: 'near',
    namesOf: 'replica',
    list: 'primary',
    search: 'replica',
  },
  accountTokens: { holderOf: 'primary' },
  sessions: { byHash: 'near', list: 'primary' },
  users: { byId: 'near', byEmail: 'near', byIdentity: 'near', identities: 'primary' },
  secondFactors: { ofLogin: 'primary' },
  passkeys: { ofHolder: 'primary', byCredential: 'primary' },
  members: {
    byId: 'near',
    list: 'replica',
    count: 'primary',
    invitedBy: 'primary',
    ofUser: 'primary',
  },
  invitations: { list: 'replica', byToken: 'near' },
  loginNetworks: { byEmail: 'near', byOperator: 'near' },
  apiKeys: {
    list: 'replica',
    count: 'replica',
    byId: 'near',
    sealedKey: 'primary',
    spentOn: 'primary',
    testUsage: 'primary',
  },
  contacts: {
    byId: 'near',
    byIds: 'primary',
    holding: 'primary',
    attributes: 'primary',
    names: 'primary',
    withWords: 'replica',
    list: 'replica',
    audience: 'primary',
    countAudience: 'primary',
    newestId: 'primary',
    count: 'replica',
    tags: 'replica',
  },
  suppressions: { of: 'primary', list: 'replica', count: 'replica' },
  credits: { account: 'near', entries: 'replica', entriesAbout: 'replica', entriesFrom: 'replica' },
  creditHolds: { open: 'primary' },
  creditLots: { open: 'primary', consumed: 'primary' },
  creditSums: {
    entriesAfter: 'replica',
    due: 'primary',
    days: 'replica',
    causes: 'replica',
    originNames: 'replica',
  },
  ledgerOpenings: { of: 'near' },
  lowBalances: { due: 'near' },
  purchases: {
    byId: 'near',
    bySession: 'near',
    byPayment: 'near',
    begun: 'primary',
    countBegun: 'primary',
    list: 'primary',
  },
  idempotencyRecords: { byKey: 'near' },
  messages: {
    byId: 'near',
    list: 'replica',
    listShort: 'replica',
    queuedOf: 'primary',
    search: 'replica',
    errorsSince: 'replica',
    newestByPlace: 'replica',
    count: 'replica',
    countsSince: 'replica',
    attempts: 'replica',
    events: 'replica',
    ofBulk: 'primary',
  },
  savedFilters: { list: 'primary' },
  recipientIndex: { due: 'primary', state: 'primary' },
  files: { ofMessages: 'primary', chunk: 'near' },
  bulks: {
    byId: 'near',
    list: 'replica',
    retryOf: 'primary',
    rejections: 'replica',
    progress: 'primary',
    hasQueued: 'primary',
    paused: 'replica',
    due: 'near',
    held: 'primary',
  },
  messageParts: { byProvider: 'near' },
  providerPauses: { list: 'near' },
  dispatchPauses: {
    byScope: 'near',
    inFlight: 'primary',
    doubtfulTotals: 'primary',
    doubtfulMessages: 'primary',
  },
  parkedReceipts: { due: 'near' },
  receivedMessages: {
    byId: 'primary',
    list: 'replica',
    count: 'replica',
    newestOfAuthors: 'replica',
  },
  webhooks: {
    byId: 'near',
    byCallbackOrigin: 'primary',
    list: 'replica',
    count: 'replica',
    deliveries: 'replica',
    countDeliveries: 'replica',
    delivery: 'primary',
    nextDue: 'primary',
    deliveriesAfter: 'primary',
    deliveriesOf: 'replica',
    eventBodies: 'primary',
    attempts: 'replica',
    attemptCounts: 'replica',
    lastFailures: 'replica',
  },
  webhookNotices: { due: 'near' },
  sendingDomains: {
    byId: 'near',
    byName: 'near',
    list: 'replica',
    count: 'replica',
    due: 'near',
    ofAll: 'replica',
  },
  verifications: {
    byId: 'near',
    list: 'replica',
    count: 'replica',
    due: 'primary',
    dueFallbacks: 'near',
    naming: 'primary',
    totals: 'replica',
    countsOf: 'primary',
    progress: 'replica',
    pauses: 'primary',
    pausesOfAll: 'replica',
  },
  templates: {
    byName: 'near',
    list: 'replica',
    count: 'replica',
    version: 'near',
    usable: 'near',
    versions: 'replica',
    countVersions: 'replica',
    sizeOfVersions: 'primary',
  },
  broadcasts: {
    byId: 'near',
    list: 'replica',
    count: 'replica',
    countOpen: 'primary',
    endedTemplates: 'primary',
    due: 'near',
    waiting: 'primary',
    totals: 'replica',
    unsubscribed: 'replica',
    nextBulks: 'primary',
    queued: 'primary',
    hasQueued: 'primary',
  },
  secrets: { byName: 'near' },
  sealedValues: { forms: 'primary', formsAtStart: 'near', countRows: 'primary' },
  overview: {
    messageTotals: 'replica',
    messageQueue: 'replica',
    deliveryQueue: 'replica',
    queueParts: 'replica',
    messageQueueStates: 'replica',
    deliveryQueueStates: 'replica',
    unknownMessages: 'replica',
    creditTotals: 'replica',
    webhookTotals: 'replica',
    troubledWebhooks: 'replica',
    failedMessages: 'replica',
  },
  retention: {
    due: 'primary',
    mark: 'primary',
    messages: 'primary',
    events: 'primary',
    received: 'primary',
  },
  history: {
    due: 'primary',
    ids: 'primary',
    bulks: 'primary',
    webhooks: 'primary',
    deliveries: 'primary',
  },
  erasure: {
    windowEnd: 'primary',
    messagesTo: 'primary',
    receivedFrom: 'primary',
    eventsNaming: 'primary',
    eventsOf: 'primary',
    rejections: 'primary',
    knownNames: 'primary',
    conversations: 'primary',
    answers: 'primary',
  },
  audit: {
    list: 'replica',
    count: 'replica',
    ofAll: 'replica',
    namesOf: 'replica',
    overfull: 'primary',
  },
  operators: { list: 'primary', byId: 'primary', byName: 'near', byToken: 'near' },
  eventLog: { state: 'near', between: 'primary' },
} as const satisfies { [Store in keyof Reads]: Record<keyof Reads[Store], ReadPlace> }

/** The name of the lock (`alone`) of what moves a month out of the histories or back, and of what must see all of its rows. */
export const MONTHS_LOCK = 'months'

/** A migration changed the tables of the histories after the detachment of a month, so a statement does not fit the tables of the month. */
export class MonthMisfit extends Error {}

/**
 * A month that an operator detached from the histories. The stores of `write` find the messages, events, deliveries and bulks of the month in
 * place of the histories, and all else as usual; it rejects with `MonthMisfit` when a migration since then has changed their tables too much.
 */
export interface MonthPlace extends Pick<Storage, 'write'> {
  /** `2027-01`, or `first` for the time before the first month. */
  month: string
  /** The command that moves the month now, or was interrupted: until it ends, rows of the month are in both places. Null for a detached month. */
  unfinished: 'detach' | 'attach' | null
}

/** Which months of history are removed at once. */
export interface MonthRemoval {
  /** Months that ended at this moment or before. */
  until: Date
  /** A month with a message or a delivery that changed since this moment stays. */
  quiet_since: Date
  /** The time of the removal. */
  at: Date
  /** Whether to stop after the next step; the next call continues. */
  isStopping: () => boolean
}

/** A read replica, as this process sees it. */
export interface ReplicaState {
  /** Its host and port. */
  name: string
  /** How long the last change of the primary took to arrive, or has not arrived; null while the replica cannot be compared. */
  lag_ms: number | null
  /** Whether queries go to it now. */
  is_used: boolean
  /** Why it is not used, without a password; null while it is. */
  reason: string | null
  /** The number of its answers since the start. */
  answers: number
}

/**
 * The storage of the service, in two parts. `read` and `write` serve the API through shared stores; `hot` serves the
 * operations that every message passes through, in batches. One contract suite tests both on every engine.
 */
export interface Storage {
  /** These stores see only committed data. */
  readonly read: Reads
  /**
   * One durable transaction. If `work` throws, nothing is written. `work` may await only its stores: no network, no
   * timer, no other `write`. It may run more than once, and the last run counts: an engine with several writers
   * repeats it after a conflict.
   */
  write<T>(work: (stores: Writes) => Promise<T>): Promise<T>
  readonly hot: HotVerbs
  /**
   * Calls the listener after a commit of this process that added events to the log, and when another server reports one.
   * Calls can get lost. Returns a function that removes the listener.
   */
  onEvents(listener: () => void): () => void
  /**
   * Takes the right to dispatch. An engine that allows only one dispatcher refuses a second process, and makes the
   * leases of a killed process due at once.
   * @throws Error naming the reason when another process holds the right.
   */
  startDispatch(): Promise<{ release(): Promise<void> }>
  /** Whether another process may dispatch from this database now. */
  mayOtherDispatch(): boolean
  /**
   * Runs `work`, or returns null if another server of the database runs work with that name now. Absent where the
   * process with the right to dispatch is the only one.
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
  /**
   * The code of an error that no write reports but that will end all writes: SQLite cannot write its log back into the
   * database file. Null without such an error; absent where the engine has none.
   */
  fault?(): string | null
  /**
   * Makes the partitions of so many months after the current one, where an operator partitioned the histories; returns the names of the
   * new ones. Absent where the engine has none.
   */
  keepPartitions?(ahead: number, now: Date): Promise<string[]>
  /**
   * Removes the finished months that ended at `until` or before, each at once, where an operator partitioned the histories. Returns whether
   * this process can do so: the rows of old history then wait for the removal of their month. Absent where the engine has no partitions.
   */
  removeMonths?(which: MonthRemoval): Promise<boolean>
  /** Drops the empty partitions of months that ended at `until` or before; returns their names. Absent where the engine has none. */
  dropPartitions?(until: Date): Promise<string[]>
  /** The months that an operator detached from the histories, oldest first. Absent where the engine has none. */
  detachedMonths?(): Promise<MonthPlace[]>
  /** The read replicas; absent where the engine has none. */
  replicas?(): readonly ReplicaState[]
  close(): Promise<void>
}
