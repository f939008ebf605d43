import type { ApiKeyRow } from '../../rows/rows.ts'
import type { Sealed, SealedHeaders } from '../../rows/sealed.ts'
import type { AcceptRequest, AcceptResult } from '../../rules/accept.ts'
import type { CancelOutcome, CancelRequest } from '../../rules/cancel.ts'
import type { ClaimedMessage, Route, Routed } from '../../rules/claim.ts'
import type { DeliveryResult } from '../../rules/record.ts'
import type { Settlement } from '../../rules/settlement.ts'

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

/** How many a claim takes of one webhook and of one workspace; those that a map names have another limit. */
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
  /** The fingerprint of the secret that a receiver showed to know since the last rotation, if any. */
  accepted_secret: string | null
  headers: SealedHeaders
  body: string
  /** Counted from 1. */
  attempt: number
  token: string
}
