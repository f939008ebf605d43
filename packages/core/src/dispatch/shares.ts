import {
  isOpen,
  LIMIT_START,
  newReceiver,
  noteAnswer,
  probeNow,
  type Receiver,
  type ReceiverAnswer,
  roomOf,
} from './receiver.ts'

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

/**
 * Shares the slots between receivers. A workspace gets at most a quarter of them. All failing receivers together get at
 * most a quarter too, so that the rest stays for receivers that answer. Unknown receivers, which have neither answered
 * nor failed yet, get one slot each once they fill half of the slots. Each process keeps its own shares.
 */
export interface Shares {
  /** @param at the `Runtime.elapsed` in ms, as in the other functions, because the clock may be set back. */
  rooms(at: number): Rooms
  /** Takes a slot. Returns whether the delivery is a probe, because the receiver's breaker is open. */
  began(ref: ReceiverRef, at: number): boolean
  /** The `Runtime.elapsed` in ms before which the receiver gets nothing. */
  waitsUntil(webhookId: string): number
  /** Makes the next probe of a receiver with an open breaker due at once. */
  probeNow(webhookId: string): void
  /**
   * Frees the slot, and returns whether deliveries that wait in the queue may use it. `answer` is null if the result is
   * not known.
   */
  ended(
    ref: ReceiverRef,
    answer: ReceiverAnswer | null,
    when: { began: number; at: number; is_probe: boolean },
  ): boolean
  /** Begins a claim with these rooms. The returned function notes the deliveries that the claim took. */
  beginClaim(rooms: Rooms, limit: number): (taken: readonly ReceiverRef[]) => void
  /**
   * Reserves a slot for a new delivery, until `release`. Returns false if its receiver has no room, fails or is unknown,
   * or if older deliveries may wait for the receiver or its workspace.
   */
  reserve(ref: ReceiverRef, at: number): boolean
  /** Frees the slots of `reserve`: the deliveries begin now, or not at all. */
  release(refs: readonly ReceiverRef[]): void
  /** Reports new deliveries that wait in the queue. */
  queued(refs: readonly ReceiverRef[]): void
}

const WORKSPACE_SHARE = 0.25
const FAILING_SHARE = 0.25
const UNKNOWN_SHARE = 0.5

/** The maximum number of receivers with a history; a forgotten receiver starts again without a history. */
const REMEMBERED_MAX = 5_000

/** The history of an idle receiver is out of date after this time. */
const FORGOTTEN_AFTER_MS = 60_000

/** An open breaker is kept for longer. A receiver without a probe for this time had no deliveries due. */
const DEAD_FORGOTTEN_AFTER_MS = 60 * 60_000

export function createShares({ slots }: { slots: number }): Shares {
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
    rooms(at) {
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
    began(ref, at) {
      const receiver = touch(ref, at)
      change(receiver, (one) => {
        one.in_flight += 1
      })
      return isOpen(receiver)
    },
    waitsUntil: (webhookId) => receivers.get(webhookId)?.waits_until ?? 0,
    probeNow(webhookId) {
      const receiver = receivers.get(webhookId)
      if (receiver) probeNow(receiver)
    },
    ended(ref, answer, when) {
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
    beginClaim(rooms, limit) {
      const noteWebhooks = waitingWebhooks.beginClaim()
      const noteWorkspaces = waitingWorkspaces.beginClaim()
      return (taken) => {
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
    reserve(ref, at) {
      const hasRoom = roomOfNew(ref, at) > 0
      if (hasRoom) reserveSlots(ref, 1)
      else waitingWebhooks.mark(ref.webhook_id)
      return hasRoom
    },
    release(refs) {
      for (const ref of refs) reserveSlots(ref, -1)
    },
    queued(refs) {
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
interface Waiting {
  has(id: string): boolean
  /** Deliveries were queued that no claim holds. */
  mark(id: string): void
  /**
   * Begins a claim. The returned function notes how many deliveries the claim took of each id, whether it took as many
   * as it may in total, and the room that it had for an id.
   */
  beginClaim(): (
    taken: ReadonlyMap<string, number>,
    isFull: boolean,
    roomOf: (id: string) => number,
  ) => void
}

export function createWaiting(): Waiting {
  /** The number of the claim before which, or during which, the deliveries were queued. */
  const marked = new Map<string, number>()
  let claims = 0
  return {
    has: (id) => marked.has(id),
    mark(id) {
      marked.set(id, claims)
    },
    beginClaim() {
      claims += 1
      const claim = claims
      return (taken, isFull, roomOf) => {
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
