import {
  hurry,
  isOpen,
  LIMIT_START,
  newReceiver,
  noteAnswer,
  type Receiver,
  type ReceiverAnswer,
  roomOf,
} from './receiver.ts'

/** What a claim may take. Rooms are of those that differ from the limits: how many more each may have now. */
export interface Rooms {
  limit_per_webhook: number
  limit_per_workspace: number
  room_of_webhook: Map<string, number>
  room_of_workspace: Map<string, number>
}

/** Whose a delivery is. */
export interface Whose {
  webhook_id: string
  workspace_id: string
}

/**
 * Who may have how many slots now. A workspace has a quarter of them at the most, and receivers that fail, of all
 * workspaces together, as many: the rest is for those that answer. Those of which nothing is known yet get one each
 * once such as they fill half. Lives in this process; other processes find out for themselves.
 */
export interface Shares {
  /** @param at milliseconds of `Runtime.elapsed`, as in every other verb: the clock may be set back. */
  rooms(at: number): Rooms
  /** Takes a slot. Answers whether the delivery is a probe of a receiver that is taken for dead. */
  began(whose: Whose, at: number): boolean
  /** Lets a receiver that is taken for dead be tried at once. */
  hurry(webhookId: string): void
  /** Gives the slot back. `answer` is null where nothing is known of how it went. */
  ended(
    whose: Whose,
    answer: ReceiverAnswer | null,
    when: { began: number; at: number; is_probe: boolean },
  ): void
}

const WORKSPACE_SHARE = 0.25
const FAILING_SHARE = 0.25
const UNKNOWN_SHARE = 0.5

/** Of how many receivers something is remembered; the others begin anew. */
const REMEMBERED_MAX = 5_000

/** What an idle receiver has shown is of no use after this. */
const FORGOTTEN_AFTER_MS = 60_000

/** That one is dead is known for longer; nothing was due for one that was not even probed for so long. */
const DEAD_FORGOTTEN_AFTER_MS = 60 * 60_000

export function createShares({ slots }: { slots: number }): Shares {
  const receivers = new Map<string, Receiver>()
  const workspaces = new Map<string, number>()
  let failing = 0
  let unknown = 0
  let turn = 0

  /** Changes a receiver, and keeps count of those in flight to such as fail and such as are not known. */
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

  /** As the one that was used last. */
  function touch({ webhook_id, workspace_id }: Whose, at: number): Receiver {
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
   * What is left of their share for those that fail. Who of them has anything due is not known here, so that each look
   * goes on where the one before ended: those that have nothing keep none from theirs for long.
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
      const limit_per_workspace = Math.max(1, Math.floor(slots * WORKSPACE_SHARE))
      const room_of_workspace = new Map(
        [...workspaces].map(([id, of]) => [id, Math.max(0, limit_per_workspace - of)]),
      )
      return { limit_per_webhook, limit_per_workspace, room_of_webhook, room_of_workspace }
    },
    began(whose, at) {
      const receiver = touch(whose, at)
      change(receiver, (one) => {
        one.in_flight += 1
      })
      return isOpen(receiver)
    },
    hurry(webhookId) {
      const receiver = receivers.get(webhookId)
      if (receiver) hurry(receiver)
    },
    ended(whose, answer, when) {
      const receiver = touch(whose, when.at)
      change(receiver, (one) => {
        if (answer) noteAnswer(one, answer, when)
        one.in_flight = Math.max(0, one.in_flight - 1)
      })
    },
  }
}

function isFailing({ failures }: Receiver): boolean {
  return failures > 0
}

/** It has neither answered nor failed yet. */
function isUnknown({ failures, has_answered }: Receiver): boolean {
  return failures === 0 && !has_answered
}
