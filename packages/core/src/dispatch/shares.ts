/** The number of deliveries that a claim may take. A room is a number of free slots, listed if it differs from the limit. */
export interface Rooms {
  limit_per_webhook: number
  limit_per_workspace: number
  room_of_webhook: Map<string, number>
  room_of_workspace: Map<string, number>
}

/** The receiver of a delivery. */
export interface ReceiverRef {
  webhook_id: string
  workspace_id: string
}

export type Shares = ReturnType<typeof createShares>

const WORKSPACE_SHARE = 0.25
const FAILING_SHARE = 0.25
const UNKNOWN_SHARE = 0.5

/** The maximum number of receivers with a history; a forgotten receiver starts again without a history. */
const REMEMBERED_MAX = 5_000

/** The history of an idle receiver is out of date after this time. */
const FORGOTTEN_AFTER_MS = 60_000

/** An open breaker is kept for longer. A receiver without a probe for this time had no deliveries due. */
const DEAD_FORGOTTEN_AFTER_MS = 60 * 60_000

/**
 * Shares the slots between receivers. A workspace gets at most a quarter of them. All failing receivers together get at
 * most a quarter too, so that the rest stays for receivers that answer. Unknown receivers, which have neither answered
 * nor failed yet, get one slot each once they fill half of the slots. Each process keeps its own shares.
 */
export function createShares({ slots }: { slots: number }) {
  const receivers = new Map<string, Receiver>()
  const workspaces = new Map<string, number>()
  const waitingWebhooks = createWaiting()
  const waitingWorkspaces = createWaiting()
  /** The reserved slots of each webhook and of each workspace. */
  const reserved = new Map<string, number>()
  const workspaceLimit = Math.max(1, Math.floor(slots * WORKSPACE_SHARE))
  let failing = 0
  let unknown = 0
  let turn = 0

  function reserveSlots({ webhook_id, workspace_id }: ReceiverRef, count: 1 | -1): void {
    for (const id of [webhook_id, workspace_id]) {
      const sum = (reserved.get(id) ?? 0) + count
      if (sum > 0) reserved.set(id, sum)
      else reserved.delete(id)
    }
  }

  function mayWait({ webhook_id, workspace_id }: ReceiverRef): boolean {
    return waitingWebhooks.has(webhook_id) || waitingWorkspaces.has(workspace_id)
  }

  /** The slots that new deliveries may take. */
  function roomOfNew(ref: ReceiverRef, at: number): number {
    const { webhook_id, workspace_id } = ref
    const receiver = receivers.get(webhook_id)
    if (!receiver || isFailing(receiver) || isUnknown(receiver) || mayWait(ref)) return 0
    const inWorkspace = (workspaces.get(workspace_id) ?? 0) + (reserved.get(workspace_id) ?? 0)
    const room = roomOf(receiver, at) - (reserved.get(webhook_id) ?? 0)
    return Math.min(room, workspaceLimit - inWorkspace)
  }

  /** Changes a receiver and updates the numbers in flight to failing receivers, unknown receivers and its workspace. */
  function change(receiver: Receiver, by: (receiver: Receiver) => void): void {
    const before = receiver.in_flight
    const [wasFailing, wasUnknown] = [isFailing(receiver), isUnknown(receiver)]
    by(receiver)
    failing += (isFailing(receiver) ? receiver.in_flight : 0) - (wasFailing ? before : 0)
    unknown += (isUnknown(receiver) ? receiver.in_flight : 0) - (wasUnknown ? before : 0)
    const of = (workspaces.get(receiver.workspace_id) ?? 0) + receiver.in_flight - before
    if (of > 0) workspaces.set(receiver.workspace_id, of)
    else workspaces.delete(receiver.workspace_id)
  }

  /** Moves the receiver to the end, so that the map stays ordered by last use. */
  function touch({ webhook_id, workspace_id }: ReceiverRef, at: number): Receiver {
    const receiver = receivers.get(webhook_id) ?? newReceiver(workspace_id)
    receivers.delete(webhook_id)
    receivers.set(webhook_id, receiver)
    receiver.touched_at = at
    return receiver
  }

  function forget(at: number): void {
    let over = receivers.size - REMEMBERED_MAX
    for (const [id, receiver] of receivers) {
      const idle_ms = at - receiver.touched_at
      if (idle_ms < FORGOTTEN_AFTER_MS && over <= 0) return
      if (receiver.in_flight > 0) continue
      const isDead = isOpen(receiver) && idle_ms < DEAD_FORGOTTEN_AFTER_MS
      if (over <= 0 && (isDead || at < receiver.waits_until)) continue
      receivers.delete(id)
      over -= 1
    }
  }

  /**
   * Divides the free part of the failing receivers' share between them. It is not known here which receivers have deliveries
   * due, so each call continues where the last call ended: receivers without due deliveries do not block the others for long.
   */
  function roomsOfFailing(at: number): Map<string, number> {
    const rooms = new Map<string, number>()
    for (const [id, receiver] of receivers) {
      if (isFailing(receiver)) rooms.set(id, roomOf(receiver, at))
    }
    const ids = [...rooms.keys()].filter((id) => rooms.get(id) !== 0)
    const start = ids.length > 0 ? turn % ids.length : 0
    let left = Math.max(0, Math.floor(slots * FAILING_SHARE) - failing)
    turn = start
    for (const id of [...ids.slice(start), ...ids.slice(0, start)]) {
      const room = Math.min(rooms.get(id) ?? 0, left)
      rooms.set(id, room)
      left -= room
      if (room > 0) turn += 1
    }
    return rooms
  }

  return {
    /** @param at the `Runtime.elapsed` in ms, as in the other functions, because the clock may be set back. */
    rooms(at: number): Rooms {
      forget(at)
      const room_of_webhook = new Map<string, number>()
      const limit_per_webhook = unknown < slots * UNKNOWN_SHARE ? LIMIT_START : 1
      const ofFailing = roomsOfFailing(at)
      for (const [id, receiver] of receivers) {
        let room = ofFailing.get(id) ?? roomOf(receiver, at)
        if (isUnknown(receiver)) {
          room = Math.min(room, Math.max(0, limit_per_webhook - receiver.in_flight))
        }
        if (room !== limit_per_webhook) room_of_webhook.set(id, room)
      }
      const limit_per_workspace = workspaceLimit
      const room_of_workspace = new Map(
        [...workspaces].map(([id, of]) => [id, Math.max(0, limit_per_workspace - of)]),
      )
      return { limit_per_webhook, limit_per_workspace, room_of_webhook, room_of_workspace }
    },
    /** Takes a slot. Returns whether the delivery is a probe, because the receiver's breaker is open. */
    began(ref: ReceiverRef, at: number): boolean {
      const receiver = touch(ref, at)
      change(receiver, (one) => {
        one.in_flight += 1
      })
      return isOpen(receiver)
    },
    /** The `Runtime.elapsed` in ms before which the receiver gets nothing. */
    waitsUntil: (webhookId: string) => receivers.get(webhookId)?.waits_until ?? 0,
    /** Makes the next probe of a receiver with an open breaker due at once. */
    probeNow(webhookId: string): void {
      const receiver = receivers.get(webhookId)
      if (receiver) probeNow(receiver)
    },
    /**
     * Frees the slot, and returns whether deliveries that wait in the queue may use it. `answer` is null if the result is
     * not known.
     */
    ended(
      ref: ReceiverRef,
      answer: ReceiverAnswer | null,
      when: { began: number; at: number; is_probe: boolean },
    ): boolean {
      const receiver = touch(ref, when.at)
      // Failing receivers share their slots, and so do unknown ones.
      const wasShared = isFailing(receiver) || isUnknown(receiver)
      change(receiver, (one) => {
        if (answer) noteAnswer(one, answer, when)
        one.in_flight = Math.max(0, one.in_flight - 1)
      })
      // Deliveries fall due while nothing is sent to the receiver.
      if (isFailing(receiver) || when.at < receiver.waits_until)
        waitingWebhooks.mark(ref.webhook_id)
      return wasShared || mayWait(ref)
    },
    /** Begins a claim with these rooms. The returned function notes the deliveries that the claim took. */
    beginClaim(rooms: Rooms, limit: number) {
      const noteWebhooks = waitingWebhooks.beginClaim()
      const noteWorkspaces = waitingWorkspaces.beginClaim()
      return (taken: readonly ReceiverRef[]): void => {
        const isFull = taken.length >= limit
        noteWebhooks(
          countBy(taken, ({ webhook_id }) => webhook_id),
          isFull,
          (id) => rooms.room_of_webhook.get(id) ?? rooms.limit_per_webhook,
        )
        noteWorkspaces(
          countBy(taken, ({ workspace_id }) => workspace_id),
          isFull,
          (id) => rooms.room_of_workspace.get(id) ?? rooms.limit_per_workspace,
        )
      }
    },
    /**
     * Reserves a slot for a new delivery, until `release`. Returns false if its receiver has no room, fails or is unknown,
     * or if older deliveries may wait for the receiver or its workspace.
     */
    reserve(ref: ReceiverRef, at: number): boolean {
      const hasRoom = roomOfNew(ref, at) > 0
      if (hasRoom) reserveSlots(ref, 1)
      else waitingWebhooks.mark(ref.webhook_id)
      return hasRoom
    },
    /** Frees the slots of `reserve`: the deliveries begin now, or not at all. */
    release(refs: readonly ReceiverRef[]): void {
      for (const ref of refs) reserveSlots(ref, -1)
    },
    /** Reports new deliveries that wait in the queue. */
    queued(refs: readonly ReceiverRef[]): void {
      for (const { webhook_id } of refs) waitingWebhooks.mark(webhook_id)
    },
  }
}

function countBy(refs: readonly ReceiverRef[], idOf: (ref: ReceiverRef) => string) {
  const counts = new Map<string, number>()
  for (const ref of refs) counts.set(idOf(ref), (counts.get(idOf(ref)) ?? 0) + 1)
  return counts
}

function isFailing({ failures }: Receiver): boolean {
  return failures > 0
}

/** Whether the receiver has neither answered nor failed yet. */
function isUnknown({ failures, has_answered }: Receiver): boolean {
  return failures === 0 && !has_answered
}

/** The webhooks, or the workspaces, of which deliveries may wait in the queue. New deliveries must not overtake these. */
export function createWaiting() {
  /** The number of the claim before which, or during which, the deliveries were queued. */
  const marked = new Map<string, number>()
  let claims = 0
  return {
    has: (id: string) => marked.has(id),
    /** Deliveries were queued that no claim holds. */
    mark(id: string): void {
      marked.set(id, claims)
    },
    /**
     * Begins a claim. The returned function notes how many deliveries the claim took of each id, whether it took as many
     * as it may in total, and the room that it had for an id.
     */
    beginClaim() {
      claims += 1
      const claim = claims
      return (
        taken: ReadonlyMap<string, number>,
        isFull: boolean,
        roomOf: (id: string) => number,
      ): void => {
        for (const [id, count] of taken) if (count >= roomOf(id)) marked.set(id, claims)
        if (isFull) return
        // Less than the room was taken, so nothing is left of what was queued before the claim.
        for (const [id, since] of marked) {
          if (since < claim && (taken.get(id) ?? 0) < roomOf(id)) marked.delete(id)
        }
      }
    },
  }
}

/**
 * The limit of deliveries in flight to one receiver. It rises while the receiver answers well, and falls while it fails or
 * is slow. With an open breaker, only probes are sent. Plain data and pure functions; times are milliseconds.
 */
export interface Receiver {
  workspace_id: string
  in_flight: number
  /** The maximum number of deliveries in flight. */
  limit: number
  /** Each round doubles the limit until the limit is lowered for the first time; after that each round adds one. */
  is_growing_fast: boolean
  /** The duration of the fastest attempt, raised a little with each attempt. It defines which attempt is slow. */
  fastest_ms: number | null
  has_answered: boolean
  /** The number of timeouts, failed connections and 5xx answers in a row. */
  failures: number
  /** 0 while the breaker is closed, otherwise 1 plus the number of probes that failed since the breaker opened. */
  opened: number
  /** The time of the next probe, or the end of a `Retry-After`. Nothing is sent before this time. */
  waits_until: number
  /** When the limit was last lowered. Attempts that began before this time do not lower the limit again. */
  lowered_at: number
  touched_at: number
}

/** The result of one attempt: the receiver's answer, or the error. */
export interface ReceiverAnswer {
  status: number | null
  error: string | null
  retry_after_ms: number | null
  duration_ms: number
}

export const LIMIT_START = 8
export const LIMIT_MAX = 256

/** If the fastest attempt takes longer than this, the receiver holds its slots for long: its limit is at most `LIMIT_LONG`. */
const LONG_MS = 5_000
const LIMIT_LONG = 32

/** The number of failures in a row that opens the breaker. */
const OPENS_AFTER = 5

/** The wait before each probe. */
const PROBE_AFTER_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000]

/** The maximum time that a `Retry-After` stops all deliveries to a receiver. The answered delivery may wait longer. */
const PAUSE_MAX_MS = 60 * 60_000

/** An attempt is slow if it takes longer than this, and longer than `SLOW_TIMES` times the fastest attempt. */
const SLOW_MS = 1_000
const SLOW_TIMES = 4

/** With each attempt, the fastest duration grows by this factor. */
const FORGETS = 1.001

/** A receiver without a history. */
export function newReceiver(workspace_id: string): Receiver {
  return {
    workspace_id,
    in_flight: 0,
    limit: LIMIT_START,
    is_growing_fast: true,
    fastest_ms: null,
    has_answered: false,
    failures: 0,
    opened: 0,
    waits_until: 0,
    lowered_at: 0,
    touched_at: 0,
  }
}

/** How many more deliveries may start now. */
export function roomOf(receiver: Receiver, at: number): number {
  if (at < receiver.waits_until) return 0
  const limit = receiver.opened > 0 ? 1 : receiver.limit
  return Math.max(0, Math.floor(limit) - receiver.in_flight)
}

/** Whether the breaker is open, so that the next delivery is a probe. */
export function isOpen({ opened }: Receiver): boolean {
  return opened > 0
}

/** Makes the next probe due at once. Does nothing while the breaker is closed. */
export function probeNow(receiver: Receiver): void {
  if (receiver.opened > 0) receiver.waits_until = 0
}

/** Records the result of an attempt that began at `began`. `is_probe`: whether the breaker was open at that time. */
export function noteAnswer(
  receiver: Receiver,
  answer: ReceiverAnswer,
  { began, at, is_probe }: { began: number; at: number; is_probe: boolean },
): void {
  const { status, retry_after_ms } = answer
  const asksToWait = status === 429 || status === 503
  if (asksToWait && retry_after_ms !== null) {
    const until = at + Math.min(retry_after_ms, PAUSE_MAX_MS)
    receiver.waits_until = Math.max(receiver.waits_until, until)
  }
  if (isDead(answer)) {
    noteFailure(receiver, status, { began, at, is_probe })
    return
  }
  receiver.has_answered = true
  // The attempt need not be a probe: each such answer shows that the receiver works again.
  if (receiver.opened > 0) close(receiver, asksToWait)
  receiver.failures = 0
  const isSlow = noteTime(receiver, answer.duration_ms)
  if (status === 429) lower(receiver, 0.5, began, at)
  else if (isSlow) lower(receiver, 0.75, began, at)
  // Only a 2xx raises the limit: the owner of the address may never have asked for webhooks.
  else if (status !== null && status < 300) raise(receiver)
}

/** Whether there was no answer, or an answer of a receiver that cannot work. */
function isDead({ status, error }: ReceiverAnswer): boolean {
  if (status === null) return error !== 'blocked_target'
  return status >= 500
}

function noteFailure(
  receiver: Receiver,
  status: number | null,
  { began, at, is_probe }: { began: number; at: number; is_probe: boolean },
): void {
  receiver.failures += 1
  if (receiver.opened > 0) {
    if (!is_probe) return
    receiver.opened += 1
  } else if (receiver.failures >= OPENS_AFTER) {
    receiver.opened = 1
  } else {
    if (status === null || status === 503) lower(receiver, 0.5, began, at)
    return
  }
  const wait = PROBE_AFTER_MS[Math.min(receiver.opened, PROBE_AFTER_MS.length) - 1] as number
  receiver.waits_until = Math.max(receiver.waits_until, at + wait)
}

function close(receiver: Receiver, isAskedToWait: boolean): void {
  receiver.opened = 0
  receiver.limit = LIMIT_START
  receiver.is_growing_fast = true
  if (!isAskedToWait) receiver.waits_until = 0
}

/** Returns whether the attempt was slow. */
function noteTime(receiver: Receiver, duration_ms: number): boolean {
  const before = receiver.fastest_ms ?? duration_ms
  receiver.fastest_ms = Math.min(before * FORGETS, duration_ms)
  return duration_ms > Math.max(SLOW_MS, SLOW_TIMES * before)
}

/** Lowers the limit once a round, because the failures of attempts that were in flight together have the same cause. */
function lower(receiver: Receiver, factor: number, began: number, at: number): void {
  if (began < receiver.lowered_at) return
  receiver.lowered_at = at
  receiver.is_growing_fast = false
  receiver.limit = Math.max(1, receiver.limit * factor)
}

/** A limit that is less than half used does not grow: nothing shows that the receiver could take more. */
function raise(receiver: Receiver): void {
  if (receiver.in_flight * 2 < receiver.limit) return
  const more = receiver.is_growing_fast ? 1 : 1 / receiver.limit
  const max = (receiver.fastest_ms ?? 0) > LONG_MS ? LIMIT_LONG : LIMIT_MAX
  receiver.limit = Math.min(max, receiver.limit + more)
}
