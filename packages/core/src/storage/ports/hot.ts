import type { ApiKeyRow } from '../../rows/rows.ts'
import type { AcceptRequest, AcceptResult } from '../../rules/accept.ts'
import type { CheckResult, CodeCheck } from '../../rules/check-codes.ts'
import type { ClaimedMessage, Route, Routed } from '../../rules/claim.ts'
import type { ClaimedDelivery, ClaimOfNewDeliveries } from '../../rules/deliveries.ts'
import type { TestPace } from '../../rules/delivery-times.ts'
import type { DeliveryResult } from '../../rules/record.ts'
import type { RescheduleOutcome, RescheduleRequest } from '../../rules/reschedule.ts'
import type { CancelOutcome, CancelRequest } from '../../rules/settle.ts'
import type { Settlement } from '../../rules/settlement.ts'
import type { Awaitable } from '../../runtime/awaitable.ts'

/**
 * The operations that every message passes through. Each takes a batch, is one transaction (or joins one), and resolves
 * only after the transaction is durable. Results are in the order of the batch.
 */
export interface HotVerbs {
  /** Finds the key with this hash, in any state. No cache is used, so that a deactivation counts at once. */
  findApiKey(keyHash: string): Promise<ApiKeyRow | null>
  /**
   * A number that changes with each write, by any process, that may have changed a key; a write by another process
   * counts from the next turn of the event loop. Absent on an engine where only a query can detect such a write.
   */
  keysVersion?(): number
  /**
   * Writes debit, ledger entry, messages, their bulk, queue rows and idempotency record: each request entirely or not
   * at all.
   */
  accept(requests: readonly AcceptRequest[]): Promise<AcceptResult[]>
  /** The number of requests that were given to `accept` in this process, without steps of broadcasts. */
  requested(): number
  /**
   * Leases due messages: no other claim gets them until the lease ends. While more are due than a claim may take, half of it
   * are the oldest ones, and in the other half each workspace has its turn: its bulk messages, and its others. Journals each attempt before the call. Checks
   * messages that waited against the suppressions again.
   *
   * The first claim, and each claim after the clock was set back, re-dates the messages and deliveries that were queued
   * while the clock was ahead. Each row starts its original wait again from now, and no scheduled message is due before
   * its time. After the clock was set forwards, no claim takes over a lease for the length of a lease, because its work
   * may still be in flight.
   */
  claimMessages(claim: MessageClaim): Promise<ClaimedMessage[]>
  /**
   * Writes statuses, refunds, events, delivery rows and the next step of each message in one transaction. Returns which
   * settlements counted. A settlement of a lost claim may be ignored.
   */
  settle(settlements: readonly Settlement[]): Promise<boolean[]>
  /**
   * Fails messages that no worker has begun to send (`error_code` `canceled`), refunds them once and announces the
   * change, all in one transaction. Returns the outcome for each message.
   */
  cancel(request: CancelRequest): Promise<CancelOutcome[]>
  /**
   * Checks codes of verifications, in one transaction, and counts each wrong code: simultaneous guesses get no more
   * attempts than one after another. Announces the ends.
   */
  checkCodes(checks: readonly CodeCheck[]): Promise<CheckResult[]>
  /**
   * Gives messages that no worker has begun to send new times, with a report in the history of each. Returns the outcome for each
   * message. No message may be in the batch twice.
   */
  reschedule(requests: readonly RescheduleRequest[]): Promise<RescheduleOutcome[]>
  /**
   * Leases due deliveries, within the claim's limits for each webhook and each workspace, so that no backlog blocks the
   * others. Discards the due deliveries of a disabled webhook, except tests.
   *
   * A webhook that never got a 2xx waits at the gate of its host (`rules/delivery-times.ts`): of all such webhooks of a host, the
   * one whose last attempt is the oldest gets one delivery, while none is in flight. Deliveries that waited there for
   * longer than the schedule of tries are discarded.
   */
  claimDeliveries(claim: DeliveryClaim): Promise<ClaimedDelivery[]>
  /**
   * Records results: each delivery is done, tried again, or failed. Returns which results counted, as `settle` does.
   */
  recordDeliveries(results: readonly DeliveryResult[]): Promise<boolean[]>
  /**
   * Counts in fixed windows: each caller gets its exact count, in the order of the batch. All servers of a database
   * share the counters; an engine for only one process keeps them in its memory. A window begins with the first count
   * in it and is kept until its end. Only a crash of the database, or the end of the only process, resets all windows.
   */
  count(countings: readonly Counting[]): Awaitable<Counter[]>
  /**
   * Removes at most `limit` counters whose window has ended; returns their number. Absent where the counters are in the
   * process, which sweeps them itself.
   */
  sweepCounters?(now: Date, limit: number): Promise<number>
  /**
   * Calls the listener when another process queues work. Wake-ups can be lost, so polling continues. Returns a function
   * that removes the listener. Absent where no other process queues work.
   */
  onWake?(listener: WakeListener): () => void
  /**
   * Sets the lanes of this process. Where a lane has room, `accept` claims the messages that it queues, and `settle` and
   * `cancel` the deliveries, in the same transaction; they hand them over after the transaction is durable. null
   * removes the lanes.
   */
  setLanes(lanes: Partial<Lanes> | null): void
}

/** The lanes of the process that dispatches. */
export interface Lanes {
  messages: LaneEntry<
    MessageClaim,
    ClaimedMessage,
    { workspace_id: string; bulk_id: string | null }
  >
  deliveries: LaneEntry<
    ClaimOfNewDeliveries,
    ClaimedDelivery,
    { webhook_id: string; workspace_id: string }
  >
}

/** The entry of a lane for work that a transaction claims as it queues the work. */
export interface LaneEntry<Terms, Item, Row> {
  /**
   * Reserves room for `count` items. Returns null if the lane has no room for all of them, or if older items may wait:
   * a claim then takes the items in their order.
   * @param workspaces the workspaces of the items, if items of other workspaces may be older
   */
  reserve(count: number, workspaces?: readonly string[]): Reservation<Terms, Item> | null
  /** Whether room may be reserved for items of that workspace, although older items of others may wait. */
  isOpen?(workspaceId: string): boolean
  /** Reports durable rows that may be due and that no claim holds. */
  queued(rows: readonly Row[]): void
  /** When a new delivery about a test message is due; only in the lane of deliveries. */
  testPace?: TestPace
}

/** Room in a lane for the items of one transaction. Exactly one of its functions is called, once. */
export interface Reservation<Terms, Item> {
  /** The terms of the claim; its lease counts from now. */
  terms: Terms
  /** The transaction is durable: the lane works on these items, and the rest of the room is free again. */
  handOver(items: Item[]): void
  /** The transaction was rolled back: the room is free again. */
  release(): void
  /** It is unknown whether the transaction is durable: the lane requeues these items, if they exist. */
  giveBack(items: Item[]): void
}

/** One access to the counter of a key. */
export interface Counting {
  key: string
  /** The length of a window that begins with this access. */
  window_ms: number
  /** 1 adds to the counter; 0 only reads it. */
  add: 0 | 1
  now: Date
  /** The value of `Runtime.elapsed`, for windows in the memory of the process. */
  elapsed_ms: number
}

/** The counter after an access, which includes the addition of the access. */
export interface Counter {
  count: number
  /** Milliseconds to the end of the window; without a window, the length of a new window. */
  ends_in_ms: number
}

/** Receives the kind of work that may be due; null means both kinds. */
export type WakeListener = (work: Work | null) => void
export type Work = 'messages' | 'deliveries'

export interface Claim {
  now: Date
  /** The value of `Runtime.elapsed` at `now`: shows whether the clock was set since the previous claim. */
  elapsed_ms: number
  limit: number
  lease_ms: number
  /** The fencing token: only the holder of the claim may settle the claimed rows. */
  token: string
}

export interface MessageClaim extends Claim {
  /** Chooses the provider of a message. It is journalled with the attempt, before the call. */
  route(message: Routed): Route
  /**
   * Called when more messages may be due, with the workspaces of those that belong to no bulk; null: of any workspace. A claim
   * may end before its limit, because the contents are long.
   */
  onLeft?: ((workspaces: ReadonlySet<string> | null) => void) | undefined
}

/** Limits for each webhook and each workspace; the maps contain the exceptions. */
export interface DeliveryClaim extends Claim {
  limit_per_webhook: number
  limit_per_workspace: number
  room_of_webhook: ReadonlyMap<string, number>
  room_of_workspace: ReadonlyMap<string, number>
  /** Webhooks of which a caller requested an attempt: they do not wait for their host, unless it has a delivery in flight. */
  requested?: readonly string[]
  /** The maximum of attempts about test messages of a workspace in a day (UTC); default: no maximum. */
  test_deliveries_per_day?: number
}
