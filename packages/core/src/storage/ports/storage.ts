import type { HotVerbs } from './hot.ts'
import type { Reads, Writes } from './stores.ts'

export type { Reads, Writes }

/**
 * The queries that find their rows by one key, and that of the start: they run in the calling thread. An engine may run every other query on a
 * reader thread, so that a long query delays no other request.
 */
export const NEAR_READS = {
  workspaces: ['byId', 'byEmail', 'quietHours'],
  sessions: ['byHash'],
  users: ['byId', 'byEmail', 'byIdentity'],
  operators: ['byName', 'byToken'],
  members: ['byId'],
  invitations: ['byToken'],
  loginNetworks: ['byEmail', 'byOperator'],
  apiKeys: ['byId'],
  contacts: ['byId'],
  credits: ['account'],
  lowBalances: ['due'],
  purchases: ['byId', 'bySession', 'byPayment'],
  idempotencyRecords: ['byKey'],
  messages: ['byId'],
  files: ['chunk'],
  bulks: ['byId'],
  messageParts: ['byProvider'],
  providerPauses: ['list'],
  dispatchPauses: ['byScope'],
  parkedReceipts: ['due'],
  webhooks: ['byId'],
  sendingDomains: ['byId', 'byName', 'due'],
  verifications: ['byId'],
  templates: ['byName', 'version', 'usable'],
  broadcasts: ['byId', 'due'],
  secrets: ['byName'],
  sealedValues: ['formsAtStart'],
  eventLog: ['state'],
} as const satisfies { [Store in keyof Reads]?: readonly (keyof Reads[Store])[] }

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
  close(): Promise<void>
}
