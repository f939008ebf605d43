import type { MessageRow } from '../rows/rows.ts'
import { isDueAtOnce, planQueue, type QueuePlan } from '../rules/claim.ts'
import {
  type DeliveryQueuePlan,
  type FanOut,
  planDeliveryQueue,
  type SubscribedWebhook,
} from '../rules/deliveries.ts'

import type { Claim, LaneEntry, Lanes, MessageClaim, Reservation } from './ports/hot.ts'

/** The hand-over of the work that a transaction queues and claims. Exactly one of its functions is called, once. */
export interface HandOver {
  /** The transaction is durable. */
  handOver(): void
  /** The transaction was rolled back. */
  release(): void
  /** It is unknown whether the transaction is durable. */
  giveBack(): void
}

/** The lanes of the dispatcher in this process; null without a dispatcher. */
export interface GivenLanes {
  current: Partial<Lanes> | null
}

/** When the caller read the clock for a lease, and the `Runtime.elapsed` of that moment. */
type LeaseTime = Pick<Claim, 'now' | 'elapsed_ms'>

type Steps = Pick<ClockSteps, 'isDoubtful' | 'sawLease'>

/** Queues new messages, and claims those for which the lane has room. */
export function queueMessages(
  messages: readonly MessageRow[],
  lane: Lanes['messages'] | undefined,
  steps: Steps,
): QueuePlan & HandOver {
  const mayClaim = (message: MessageRow) =>
    isDueAtOnce(message) && (lane?.isOpen?.(message.workspace_id) ?? true)
  const owners = messages.filter(mayClaim).map(({ workspace_id }) => workspace_id)
  const planOn = (terms: MessageClaim | null) => planQueue(messages, terms, mayClaim)
  return queueIn(lane, { count: owners.length, workspaces: owners }, steps, planOn)
}

/** Queues the deliveries of new events, and claims those for which the lane and their receivers have room. */
export function queueDeliveries(
  fanOut: FanOut,
  webhooks: ReadonlyMap<string, readonly SubscribedWebhook[]>,
  lane: Lanes['deliveries'] | undefined,
  steps: Steps,
): DeliveryQueuePlan & HandOver {
  const { length } = fanOut.deliveries
  paceTests(fanOut, lane)
  return queueIn(lane, { count: length }, steps, (terms) =>
    planDeliveryQueue(fanOut, webhooks, terms),
  )
}

function paceTests(
  { deliveries, delivery_queue }: FanOut,
  lane: Lanes['deliveries'] | undefined,
): void {
  for (const [i, delivery] of deliveries.entries()) {
    const queued = delivery_queue[i]
    if (delivery.livemode || !queued || !lane?.testPace) continue
    queued.due_at = lane.testPace(delivery.workspace_id, delivery.created_at)
    delivery.next_attempt_at = queued.due_at
  }
}

/** While the clock is in doubt nothing is claimed as it is queued, because a claim re-dates the queue first. */
function queueIn<
  Terms extends LeaseTime,
  Item,
  Row,
  Plan extends { claimed: Item[]; waiting: Row[] },
>(
  lane: LaneEntry<Terms, Item, Row> | undefined,
  { count, workspaces }: { count: number; workspaces?: readonly string[] },
  steps: Steps,
  planOn: (terms: Terms | null) => Plan,
): Plan & HandOver {
  const reservation =
    count > 0 && !steps.isDoubtful() ? reserve(lane, { count, workspaces }, steps) : null
  try {
    const plan = planOn(reservation?.terms ?? null)
    return {
      handOver() {
        reservation?.handOver(plan.claimed)
        if (plan.waiting.length > 0) lane?.queued(plan.waiting)
      },
      release: () => reservation?.release(),
      giveBack: () => reservation?.giveBack(plan.claimed),
      ...plan,
    }
  } catch (error) {
    reservation?.release()
    throw error
  }
}

/** Reserves room, unless the lease would begin with a step of the clock. */
function reserve<Terms extends LeaseTime, Item, Row>(
  lane: LaneEntry<Terms, Item, Row> | undefined,
  { count, workspaces }: { count: number; workspaces?: readonly string[] | undefined },
  steps: Steps,
): Reservation<Terms, Item> | null {
  const reservation = lane?.reserve(count, workspaces) ?? null
  if (reservation === null) return null
  steps.sawLease(reservation.terms)
  if (!steps.isDoubtful()) return reservation
  reservation.release()
  return null
}

/**
 * The clock of due times and leases. `server` is the clock of the database: processes with different clocks agree, and
 * no lease is taken over early. `caller` is the caller's `now`, for a simulated clock.
 */
export type ClockKind = 'server' | 'caller'

/** A wait is sent as this time plus the wait. */
const EPOCH = new Date(0)

/** Parameters of the statements, so that one SQL text serves both clocks. */
export interface Clock {
  readonly kind: ClockKind
  /** The current time, as the parameter of `present`: null means the time of the database server. */
  now(at: Date): Date | null
  /** The current value of `Runtime.elapsed`; with the caller's clock, the value of the claim. */
  elapsed(claim: { elapsed_ms: number }): number
  /** The origin of every sent due time, as the parameter of `present`. */
  readonly origin: Date | null
  /** The due time to send for work that was planned at `at`: a time after the origin. */
  sent(due_at: Date, at: Date): Date
}

/** The clock of that kind. */
export function clockOf(kind: ClockKind): Clock {
  if (kind === 'caller') {
    return {
      kind,
      now: (at) => at,
      elapsed: ({ elapsed_ms }) => elapsed_ms,
      origin: EPOCH,
      sent: (due_at) => due_at,
    }
  }
  return {
    kind,
    now: () => null,
    // The server's clock is a real clock, even with a simulated clock in the caller.
    elapsed: () => performance.now(),
    origin: null,
    sent: (due_at, at) => new Date(Math.max(0, due_at.getTime() - at.getTime())),
  }
}

/** A smaller difference is a smooth correction of the clock, which does no harm because leases and waits are longer. */
export const STEP_MIN_MS = 1_000

/** The maximum number of rows of each queue that are re-dated at once, because senders wait meanwhile. */
export const REDATED_MAX = 5_000

/**
 * This is longer than any work is in flight. A delivery that began before the clock was set back is recorded with the
 * earlier clock, which also sets the time of its next try.
 */
const IN_FLIGHT_MAX_MS = 180_000

/** The log message of a re-dating. */
export const REDATED = 'the clock was ahead when these rows were queued; their waits count from now'

/** Detects when the clock of due times was set forwards or back. Each storage has one, in memory. */
export interface ClockSteps {
  /**
   * Records a reading of the clock, made between two moments of `Runtime.elapsed`. A late answer alone is not a step of
   * the clock: a step is a difference that the delay cannot explain.
   */
  saw(at: Date, before_ms: number, after_ms: number): void
  /**
   * Records the caller's reading of the clock for the lease of work that is claimed as it is queued. A claim with an earlier
   * reading may wait for the writer meanwhile: if the clock was set back in between, this lease would seem to have ended.
   * Does nothing where leases count by the clock of the database.
   */
  sawLease(time: LeaseTime): void
  /**
   * Whether a claim may take over expired leases. After the clock was set forwards, this is false for the length of a
   * lease, because the work may still be in flight.
   */
  takesOver(claim: Pick<Claim, 'elapsed_ms' | 'lease_ms'>): boolean
  /**
   * Whether the queue may have rows that were dated while the clock was ahead: at the start, and after it was set back.
   */
  isDoubtful(): boolean
  /**
   * Begins to re-date rows of a queue. The result records their number: below `REDATED_MAX`, no rows remain of the doubts that
   * were known when it began. A doubt that came later stays.
   */
  redating(): (count: number) => void
}

/** `kind`: the clock by which leases count. */
export function createClockSteps(kind: ClockKind = 'caller'): ClockSteps {
  /** The bounds of the difference between the clock and `Runtime.elapsed`. */
  let [least_ms, most_ms] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  let forwards_at_ms = Number.NEGATIVE_INFINITY
  let again_at_ms = Number.POSITIVE_INFINITY
  /** The doubts so far, the first at the start, and how many of them were settled. */
  let [doubts, settled] = [1, 0]
  const steps: ClockSteps = {
    sawLease({ now, elapsed_ms }) {
      if (kind === 'caller') steps.saw(now, elapsed_ms, elapsed_ms)
    },
    saw(at, before_ms, after_ms) {
      const [low_ms, high_ms] = [at.getTime() - after_ms, at.getTime() - before_ms]
      const isForwards = low_ms > most_ms + STEP_MIN_MS
      const isBack = high_ms < least_ms - STEP_MIN_MS
      // The narrower bounds are still valid, unless the clock was set after the last reading.
      const agrees = low_ms <= most_ms && high_ms >= least_ms
      least_ms = agrees ? Math.max(least_ms, low_ms) : low_ms
      most_ms = agrees ? Math.min(most_ms, high_ms) : high_ms
      if (isForwards) forwards_at_ms = after_ms
      if (isBack) {
        doubts += 1
        again_at_ms = after_ms + IN_FLIGHT_MAX_MS
      } else if (after_ms >= again_at_ms) {
        doubts += 1
        again_at_ms = Number.POSITIVE_INFINITY
      }
    },
    takesOver: ({ elapsed_ms, lease_ms }) => elapsed_ms - forwards_at_ms >= lease_ms,
    isDoubtful: () => settled < doubts,
    redating() {
      const known = doubts
      return (count) => {
        if (count < REDATED_MAX) settled = Math.max(settled, known)
      }
    },
  }
  return steps
}
