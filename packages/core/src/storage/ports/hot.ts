import type { ApiKeyRow } from '../../rows/rows.ts'
import type { Sealed, SealedHeaders } from '../../rows/sealed.ts'
import type { AcceptRequest, AcceptResult } from '../../rules/accept.ts'
import type { CancelOutcome, CancelRequest } from '../../rules/cancel.ts'
import type { ClaimedMessage, Route, Routed } from '../../rules/claim.ts'
import type { DeliveryResult } from '../../rules/record.ts'
import type { Settlement } from '../../rules/settlement.ts'
import type { Awaitable } from '../../runtime/awaitable.ts'

/**
 * The operations that every message passes through. Each takes a batch, is one transaction (or joins one), and
 * resolves only after that is durable. Results are in the order of the batch.
 */
export interface HotVerbs {
  /** The key with this hash, in any state; never from a cache, so that a deactivation counts at once. */
  findApiKey(keyHash: string): Promise<ApiKeyRow | null>
  /**
   * A number that differs after each write that may have changed a key, of any process. Absent where only a query can
   * find that out.
   */
  keysVersion?(): number
  /**
   * Writes debit, ledger entry, messages, their bulk, queue rows and idempotency record: each request entirely or not
   * at all.
   */
  accept(requests: readonly AcceptRequest[]): Promise<AcceptResult[]>
  /**
   * Leases due messages: no other claim gets them until the lease ends. Journals each attempt first. Checks messages
   * that waited against the suppressions again.
   *
   * The first claim, and each claim that finds that the clock was set back, re-dates the rows that were queued while
   * the clock was ahead, deliveries too: each row starts its original wait again from now, and no scheduled message is
   * due before its time. After the clock was set forwards, no lease is taken over for the length of a lease, because
   * its work may still be in flight.
   */
  claimMessages(claim: MessageClaim): Promise<ClaimedMessage[]>
  /**
   * Writes statuses, refunds, events, delivery rows and the next step of each message in one transaction. Returns
   * which settlements counted: one from a lost claim does not.
   */
  settle(settlements: readonly Settlement[]): Promise<boolean[]>
  /**
   * Fails messages that no worker has begun to send (`error_code` `canceled`), refunds them once and announces the
   * change, all in one transaction. Returns the outcome for each message.
   */
  cancel(request: CancelRequest): Promise<CancelOutcome[]>
  /**
   * Leases due deliveries, within the claim's limits for each webhook and each workspace, so that no backlog hides
   * the others. Discards deliveries of a webhook that is disabled when they become due, except tests.
   */
  claimDeliveries(claim: DeliveryClaim): Promise<ClaimedDelivery[]>
  /** Records the results of tries: done, next try, or failed. Returns which results counted, as `settle` does. */
  recordDeliveries(results: readonly DeliveryResult[]): Promise<boolean[]>
  /**
   * Counts in fixed windows, exactly for each caller, in the order of the batch: over all servers of one database, or
   * in this process where the engine allows only one. A window begins with the first count in it and is kept until
   * its end, except that a crash of the database, or the end of the only process, resets all windows.
   */
  count(countings: readonly Counting[]): Awaitable<Counter[]>
  /**
   * Removes at most `limit` counters whose window has ended; returns their number. Absent where the counters are in the
   * process, which sweeps them itself.
   */
  sweepCounters?(now: Date, limit: number): Promise<number>
  /**
   * Where other processes queue work too: calls the listener when they do, before the next poll. Wake-ups can be
   * lost, so polling continues. Returns a function that removes the listener.
   */
  onWake?(listener: WakeListener): () => void
}

/** One access to the counter of a key. */
export interface Counting {
  key: string
  /** The length of a window that begins with this access. */
  window_ms: number
  /** 1 counts; 0 only reads. */
  add: 0 | 1
  now: Date
  /** `Runtime.elapsed`: measures windows that are in the process. */
  elapsed_ms: number
}

/** The counter after that access, its own addition included. */
export interface Counter {
  count: number
  /** Milliseconds to the end of the window; without a window, the length of a new one. */
  ends_in_ms: number
}

/** What may be due: messages, deliveries, or (null) both. */
export type WakeListener = (work: Work | null) => void
export type Work = 'messages' | 'deliveries'

export interface Claim {
  now: Date
  /** `Runtime.elapsed` at `now`: shows whether the clock was set since the previous claim. */
  elapsed_ms: number
  limit: number
  lease_ms: number
  /** Fences the claim: only its holder may settle what it claimed. */
  token: string
}

export interface MessageClaim extends Claim {
  /** Chooses the provider of a message: journalled with the attempt, before the call. */
  route(message: Routed): Route
}

/** Limits for one webhook and one workspace; the maps name those with another limit. */
export interface DeliveryClaim extends Claim {
  limit_per_webhook: number
  limit_per_workspace: number
  room_of_webhook: ReadonlyMap<string, number>
  room_of_workspace: ReadonlyMap<string, number>
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
  /** The fingerprint of the secret that a receiver has proved to know since the last rotation, if any. */
  accepted_secret: string | null
  headers: SealedHeaders
  body: string
  /** Counted from 1. */
  attempt: number
  token: string
}
