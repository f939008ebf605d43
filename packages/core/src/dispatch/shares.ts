import {
  type Answer,
  type Endpoint,
  hurry,
  isOpen,
  LIMIT_START,
  newEndpoint,
  noteAnswer,
  roomOf,
} from './endpoint.ts'

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
    answer: Answer | null,
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
  const endpoints = new Map<string, Endpoint>()
  const workspaces = new Map<string, number>()
  let failing = 0
  let unknown = 0
  let turn = 0

  /** Changes an endpoint, and keeps count of those in flight to such as fail and such as are not known. */
  function change(endpoint: Endpoint, by: (endpoint: Endpoint) => void): void {
    const before = endpoint.in_flight
    const [wasFailing, wasUnknown] = [isFailing(endpoint), isUnknown(endpoint)]
    by(endpoint)
    failing += (isFailing(endpoint) ? endpoint.in_flight : 0) - (wasFailing ? before : 0)
    unknown += (isUnknown(endpoint) ? endpoint.in_flight : 0) - (wasUnknown ? before : 0)
    const of = (workspaces.get(endpoint.workspace_id) ?? 0) + endpoint.in_flight - before
    if (of > 0) workspaces.set(endpoint.workspace_id, of)
    else workspaces.delete(endpoint.workspace_id)
  }

  /** As the one that was used last. */
  function touch({ webhook_id, workspace_id }: Whose, at: number): Endpoint {
    const endpoint = endpoints.get(webhook_id) ?? newEndpoint(workspace_id)
    endpoints.delete(webhook_id)
    endpoints.set(webhook_id, endpoint)
    endpoint.touched_at = at
    return endpoint
  }

  function forget(at: number): void {
    let over = endpoints.size - REMEMBERED_MAX
    for (const [id, endpoint] of endpoints) {
      const idle_ms = at - endpoint.touched_at
      if (idle_ms < FORGOTTEN_AFTER_MS && over <= 0) return
      if (endpoint.in_flight > 0) continue
      const isDead = isOpen(endpoint) && idle_ms < DEAD_FORGOTTEN_AFTER_MS
      if (over <= 0 && (isDead || at < endpoint.waits_until)) continue
      endpoints.delete(id)
      over -= 1
    }
  }

  /**
   * What is left of their share for those that fail. Who of them has anything due is not known here, so that each look
   * goes on where the one before ended: those that have nothing keep none from theirs for long.
   */
  function roomsOfFailing(at: number): Map<string, number> {
    const rooms = new Map<string, number>()
    for (const [id, endpoint] of endpoints) {
      if (isFailing(endpoint)) rooms.set(id, roomOf(endpoint, at))
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
      for (const [id, endpoint] of endpoints) {
        let room = ofFailing.get(id) ?? roomOf(endpoint, at)
        if (isUnknown(endpoint)) {
          room = Math.min(room, Math.max(0, limit_per_webhook - endpoint.in_flight))
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
      const endpoint = touch(whose, at)
      change(endpoint, (one) => {
        one.in_flight += 1
      })
      return isOpen(endpoint)
    },
    hurry(webhookId) {
      const endpoint = endpoints.get(webhookId)
      if (endpoint) hurry(endpoint)
    },
    ended(whose, answer, when) {
      const endpoint = touch(whose, when.at)
      change(endpoint, (one) => {
        if (answer) noteAnswer(one, answer, when)
        one.in_flight = Math.max(0, one.in_flight - 1)
      })
    },
  }
}

function isFailing({ failures }: Endpoint): boolean {
  return failures > 0
}

/** It has neither answered nor failed yet. */
function isUnknown({ failures, has_answered }: Endpoint): boolean {
  return failures === 0 && !has_answered
}
