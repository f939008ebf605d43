import { uptime } from 'node:os'
import type { DispatchGate } from '../control/dispatch-control.ts'
import type { Log } from '../runtime/runtime.ts'
import type { Telemetry } from '../runtime/telemetry.ts'
import type { LaneEntry, Reservation } from '../storage/ports/hot.ts'

/** One kind of background work: how to claim items and how to run them. */
export interface Lane<Item, Terms = unknown, Row = unknown> {
  name: 'messages' | 'deliveries'
  /** The maximum number of items in flight. */
  slots: number
  /** The maximum number of items of one claim; `CLAIM_GROWTH` times as many while full claims are slow. */
  batch: number
  /**
   * Calls `onLeft` when more items may be due, also if it returns fewer than `limit`, with the workspaces of those that newer
   * items of the workspace must not overtake; null: any.
   */
  claim(limit: number, onLeft?: (workspaces: ReadonlySet<string> | null) => void): Promise<Item[]>
  /**
   * The workspace whose items must not overtake this queued row; null if each item may. Absent: the items of no workspace may
   * overtake a queued row.
   */
  workspaceOf?(row: Row): string | null
  /** The terms on which a transaction claims at most `limit` items as it queues them. */
  offer(limit: number): Offer<Terms>
  /**
   * Runs the items and resolves when every item has a stored result. Calls `done` when a part ends, so that a slow part holds
   * only its own slots. Calls `look` when more items may be claimed before the end, and `storing` when only the results of a
   * part remain to be stored: then `done` follows for it.
   * @param claimed_ms the `uptimeMs` when the claim began; each lease ends at least its length later
   */
  run(
    items: Item[],
    done: (count: number) => void,
    look: () => void,
    claimed_ms: number,
    storing: (count: number) => void,
  ): Promise<void>
  /** Called when the lane stops: items whose work has not begun return to the queue. */
  stopping?(): void
}

export interface Offer<Terms> {
  terms: Terms
  /** Called once, before the items run or when the claim failed. */
  end(): void
}

export interface RunningLane<Item = unknown, Terms = unknown, Row = unknown>
  extends LaneEntry<Terms, Item, Row> {
  isOpen(workspaceId: string): boolean
  /** Claims now instead of at the next poll, because items may be due. */
  wake(): void
  /** Whether the last claim found nothing due and nothing is in flight. */
  isQuiet(): boolean
  /** Resolves when the lane is quiet. */
  quiet(): Promise<void>
  /** Stops claiming. Resolves when nothing is in flight, or after `grace_ms`. */
  stop(grace_ms: number): Promise<void>
}

/** The maximum delay of items that fall due without a wake-up: retries, schedules, work of other processes. */
const POLL_MS = 250

/** The pause after a failed claim, which reduces the load on a database that is down. */
const FAULT_PAUSE_MS = 1_000

/** A full claim that takes longer is slow, because the database is busy or far away. The next claim may be twice as large. */
const SLOW_CLAIM_MS = 25
const CLAIM_GROWTH = 4

/** Claims and runs items until it is stopped. While the gate is paused, it claims nothing and has no room. */
export function startLane<Item, Terms, Row>(
  lane: Lane<Item, Terms, Row>,
  log: Log,
  telemetry?: Telemetry,
  gate: Pick<DispatchGate, 'is_paused'> = { is_paused: false },
): RunningLane<Item, Terms, Row> {
  /** The items in flight, and the room that is reserved for a claim or a transaction. */
  let inFlight = 0
  /** The items in flight that only wait until their results are stored. */
  let storing = 0
  /** Whether items that no claim holds may be due: until a claim finds fewer items than its limit. */
  let isBehind = true
  /** The workspaces of such items that newer ones must not overtake; null: any. */
  let waiting: Set<string> | null = null
  /** Those of `waiting` whose items were queued since the last claim began. */
  let queuedSince: Set<string> | null = null
  /** Whether such items were queued since the last claim began. */
  let hasQueued = true
  /** Whether the last claim took all items that were queued before it began. */
  let isCatchingUp = false
  /** The number of claims that have begun. */
  let claims = 0
  /** The last claim after which no older items waited. */
  let taken = 0
  /** The maximum number of items of the next claim. */
  let size = lane.batch
  /**
   * Items that were handed over while older items waited, and the number of the claim that takes the older items. Without
   * them, a lane would stay behind for as long as items arrive during each claim.
   */
  let held: { claim: number; begin: () => void }[] = []
  let stopping = false
  let woken = true
  let quiet = false
  let ring: () => void = () => {}
  const waiters: (() => void)[] = []

  function wake(): void {
    woken = true
    quiet = false
    ring()
  }

  /** Resolves when the lane is woken, at most after `ms`. */
  async function sleep(ms: number): Promise<void> {
    if (woken || stopping) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      ring = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    ring = () => {}
  }

  /** Looks for more items only if there may be some; else the next poll is soon enough. */
  function free(count: number): void {
    inFlight -= count
    if (isBehind || stopping || waiters.length > 0) wake()
  }

  /** Runs items, for which room is reserved. */
  function launch(items: Item[], claimed_ms: number): void {
    if (items.length === 0) return
    let left = items.length
    let ended = 0
    const done = (count: number) => {
      left -= count
      storing -= Math.min(ended, count)
      ended = Math.max(0, ended - count)
      free(count)
    }
    const onlyStoring = (count: number) => {
      ended += count
      storing += count
      if (isBehind) wake()
    }
    lane
      .run(items, done, wake, claimed_ms, onlyStoring)
      .catch((error) => log.error({ err: error, lane: lane.name }, 'background work failed'))
      .finally(() => {
        if (left > 0) done(left)
      })
  }

  /** Begins the held items whose older items were taken by the claims until `claim`. */
  function beginHeld(claim: number): void {
    const ready = held.filter((one) => one.claim <= claim)
    held = held.filter((one) => one.claim > claim)
    for (const { begin } of ready) begin()
  }

  function noteClaim(left: ReadonlySet<string> | null, isFull: boolean, took_ms: number): void {
    isCatchingUp = !isFull && !gate.is_paused
    waiting = left && queuedSince && !gate.is_paused ? new Set([...left, ...queuedSince]) : null
    isBehind = !isCatchingUp || hasQueued
    if (isCatchingUp) taken = claims
    if (!isFull) size = lane.batch
    else if (took_ms > SLOW_CLAIM_MS) size = Math.min(2 * size, CLAIM_GROWTH * lane.batch)
  }

  async function look(): Promise<void> {
    // A claim that waits for the storing of the results before it needs a commit of its own: twice as many flushes.
    const slots = lane.slots + Math.min(storing, CLAIM_GROWTH * lane.batch)
    const limit = Math.min(slots - inFlight, size)
    woken = false
    // The call of paused items is refused, so that they return to the queue.
    if (gate.is_paused) beginHeld(Number.POSITIVE_INFINITY)
    if (limit <= 0) return sleep(POLL_MS)
    hasQueued = false
    queuedSince = new Set()
    claims += 1
    inFlight += limit
    try {
      const claimed_ms = uptimeMs()
      const began = performance.now()
      let left: ReadonlySet<string> | null | undefined
      const onLeft = (workspaces: ReadonlySet<string> | null) => {
        left = workspaces
      }
      const items = gate.is_paused ? [] : await lane.claim(limit, onLeft)
      const isFull = left !== undefined || items.length === limit
      if (left === undefined) left = isFull ? null : new Set()
      const took_ms = performance.now() - began
      telemetry?.claimed(lane.name, items.length, took_ms)
      inFlight -= limit - items.length
      noteClaim(left, isFull, took_ms)
      launch(items, claimed_ms)
      if (isCatchingUp) beginHeld(claims)
      // A full batch means that more items are due.
      if (isFull) return
    } catch (error) {
      inFlight -= limit
      isBehind = true
      isCatchingUp = false
      waiting = null
      log.error({ err: error, lane: lane.name }, 'claiming failed')
      woken = false
      return sleep(FAULT_PAUSE_MS)
    }
    if (!woken && inFlight === 0) {
      quiet = true
      for (const waiter of waiters.splice(0)) waiter()
    }
    await sleep(POLL_MS)
  }

  const ended = (async () => {
    while (!stopping) await look()
    beginHeld(Number.POSITIVE_INFINITY)
  })()

  /** Whether no older items wait that these must not overtake. */
  const isUpToDate = (workspaces?: readonly string[]) =>
    !isBehind || (workspaces?.every((one) => waiting?.has(one) === false) ?? false)

  /** Notes items that are queued and that no claim holds. */
  function noteQueued(workspaces: readonly (string | null)[] | undefined): void {
    for (const some of [waiting, queuedSince]) {
      for (const one of workspaces ?? []) if (one !== null) some?.add(one)
    }
    if (workspaces) return
    waiting = null
    queuedSince = null
  }

  function reserve(count: number, workspaces?: readonly string[]): Reservation<Terms, Item> | null {
    // A claim needs slots too, because the held items wait for it.
    const slots = isBehind ? lane.slots - lane.batch : lane.slots
    const mayPass = isUpToDate(workspaces)
    if (stopping || gate.is_paused || !(mayPass || isCatchingUp) || inFlight + count > slots) {
      // The items that are queued now come first.
      if (!isBehind) isCatchingUp = false
      isBehind = true
      noteQueued(workspaces)
      return null
    }
    const claimed_ms = uptimeMs()
    const afterClaim = mayPass ? 0 : claims + (hasQueued ? 1 : 0)
    const offer = lane.offer(count)
    inFlight += count
    quiet = false
    const begin = (items: Item[], at_ms: number) => {
      offer.end()
      launch(items, at_ms)
      if (items.length < count) free(count - items.length)
    }
    return {
      terms: offer.terms,
      handOver(items) {
        if (items.length > 0) telemetry?.claimed(lane.name, items.length, null)
        const isHeld = items.length > 0 && afterClaim > taken && !stopping
        if (isHeld) held.push({ claim: afterClaim, begin: () => begin(items, claimed_ms) })
        else begin(items, claimed_ms)
      },
      release: () => begin([], claimed_ms),
      // No work begins after its lease, so that the lane requeues the items.
      giveBack: (items) => begin(items, Number.NEGATIVE_INFINITY),
    }
  }

  return {
    wake,
    reserve,
    isOpen: (workspaceId) => isCatchingUp || isUpToDate([workspaceId]),
    queued(rows) {
      const { workspaceOf } = lane
      noteQueued(workspaceOf && rows.map((row) => workspaceOf(row)))
      isBehind = true
      hasQueued = true
      wake()
    },
    isQuiet: () => quiet,
    quiet() {
      if (quiet) return Promise.resolve()
      // Otherwise the running claim or the end of the work decides.
      if (inFlight === 0) wake()
      return new Promise((resolve) => waiters.push(resolve))
    },
    async stop(grace_ms) {
      stopping = true
      ring()
      lane.stopping?.()
      await ended
      const until = performance.now() + grace_ms
      while (inFlight > 0 && performance.now() < until) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.max(1, until - performance.now()))
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    },
  }
}

/**
 * Milliseconds since the machine started, with a resolution of 10 ms, for leases. All threads read the same value. It
 * ignores corrections of the clock, and it grows while the process is stopped or the machine sleeps.
 */
export function uptimeMs(): number {
  return uptime() * 1_000
}

export function batches<T>(items: readonly T[], size: number): T[][] {
  const all: T[][] = []
  for (let at = 0; at < items.length; at += size) all.push(items.slice(at, at + size))
  return all
}

/** The pauses between attempts: about one lease in total, after which the work counts as interrupted. */
const PAUSES_MS = [100, 500, 2_000, 5_000, 10_000, 10_000, 10_000, 10_000, 10_000]

/**
 * Stores results that cannot be obtained again. A failed write is retried for each item separately, so that an item that
 * can never be stored does not block the others.
 */
export async function persist<Item>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<unknown>,
  log: Log,
): Promise<void> {
  try {
    await write(items)
  } catch (error) {
    log.warn({ err: error, items: items.length }, 'outcomes were not stored; retrying each alone')
    await Promise.all(items.map((item) => persistOne(item, write, log)))
  }
}

async function persistOne<Item>(
  item: Item,
  write: (items: readonly Item[]) => Promise<unknown>,
  log: Log,
): Promise<void> {
  for (const pause of PAUSES_MS) {
    // The timer is unreferenced, so that the process may end. The lease then ends, and another claim takes the work.
    await new Promise((resolve) => setTimeout(resolve, pause).unref())
    try {
      await write([item])
      return
    } catch (error) {
      log.error({ err: error }, 'an outcome was not stored')
    }
  }
}
