import { beforeEach, describe, expect, it } from 'vitest'
import { createShares, type ReceiverAnswer, type ReceiverRef, type Shares } from './shares.ts'

const ok: ReceiverAnswer = { status: 200, error: null, retry_after_ms: null, duration_ms: 20 }
const timeout: ReceiverAnswer = { ...ok, status: null, error: 'timeout' }

let shares: Shares
let at: number
beforeEach(() => {
  shares = createShares({ slots: 400 })
  at = 1_000_000
})

function roomFor({ webhook_id, workspace_id }: ReceiverRef): number {
  const rooms = shares.rooms(at)
  return Math.min(
    rooms.room_of_webhook.get(webhook_id) ?? rooms.limit_per_webhook,
    rooms.room_of_workspace.get(workspace_id) ?? rooms.limit_per_workspace,
  )
}

function begin(ref: ReceiverRef, count: number): { end(answer: ReceiverAnswer | null): void } {
  const began = at
  const probes = Array.from({ length: count }, () => shares.began(ref, at))
  return {
    end(answer) {
      for (const is_probe of probes) shares.ended(ref, answer, { began, at, is_probe })
    },
  }
}

const ref = (webhook_id: string, workspace_id = 'w1'): ReceiverRef => ({ webhook_id, workspace_id })

describe('shares of the slots', () => {
  it('gives an unknown receiver a few slots, less the slots it holds', () => {
    expect(roomFor(ref('a'))).toBe(8)
    const three = begin(ref('a'), 3)
    expect(roomFor(ref('a'))).toBe(5)
    three.end(ok)
    expect(roomFor(ref('a'))).toBeGreaterThanOrEqual(8)
  })

  it('gives a workspace at most a quarter', () => {
    const begun = Array.from({ length: 25 }, (_, i) => begin(ref(`a${i}`), 4))
    expect(roomFor(ref('fresh'))).toBe(0)
    expect(roomFor(ref('fresh', 'w2'))).toBe(8)
    begun[0]?.end(ok)
    expect(roomFor(ref('fresh'))).toBe(4)
  })

  it('gives failing receivers of all workspaces at most a quarter, and answering receivers no less for it', () => {
    for (let i = 0; i < 60; i++) {
      begin(ref(`bad${i}`, `w${i}`), 1).end(timeout)
      begin(ref(`good${i}`, `w${i}`), 1).end(ok)
    }
    const rooms = shares.rooms(at)
    const bad = Array.from({ length: 60 }, (_, i) => rooms.room_of_webhook.get(`bad${i}`) ?? 8)
    expect(bad.reduce((sum, room) => sum + room, 0)).toBe(100)
    for (let i = 0; i < 25; i++) begin(ref(`bad${i}`, `w${i}`), 4)
    expect(roomFor(ref('bad30', 'w30'))).toBe(0)
    expect(roomFor(ref('good30', 'w30'))).toBeGreaterThanOrEqual(8)
  })

  it('gives each failing receiver its turn, even if others have nothing due', () => {
    for (let i = 0; i < 300; i++) begin(ref(`gone${i}`, `w${i}`), 5).end(timeout)
    begin(ref('dead', 'w'), 5).end(timeout)
    at += 30_000
    const rooms = Array.from({ length: 4 }, () => roomFor(ref('dead', 'w')))
    expect(rooms.toSorted()).toEqual([0, 0, 0, 1])
  })

  it('forgets an open breaker after an hour without a due delivery', () => {
    begin(ref('dead'), 5).end(timeout)
    at += 59 * 60_000
    expect(roomFor(ref('dead'))).toBe(1)
    at += 60_000
    expect(roomFor(ref('dead'))).toBe(8)
  })

  it('gives unknown receivers one slot each once they fill half', () => {
    begin(ref('known', 'known'), 1).end(ok)
    const begun = Array.from({ length: 25 }, (_, i) => begin(ref(`a${i}`, `w${i}`), 8))
    expect(roomFor(ref('fresh', 'w99'))).toBe(1)
    expect(roomFor(ref('a1'))).toBe(0)
    expect(roomFor(ref('known', 'known'))).toBeGreaterThanOrEqual(8)
    begun[0]?.end(ok)
    expect(roomFor(ref('fresh', 'w99'))).toBe(8)
  })

  it('ignores an attempt without a known result', () => {
    for (let i = 0; i < 10; i++) begin(ref('a'), 8).end(null)
    expect(roomFor(ref('a'))).toBe(8)
  })

  it('reports which attempts are probes', () => {
    expect(shares.began(ref('a'), at)).toBe(false)
    begin(ref('a'), 5).end(timeout)
    at += 30_000
    expect(shares.began(ref('a'), at)).toBe(true)
  })

  it('forgets the history of an idle receiver, but not an open breaker', () => {
    for (let i = 0; i < 10; i++) begin(ref('quick'), roomFor(ref('quick'))).end(ok)
    for (let i = 0; i < 3; i++) {
      begin(ref('dead'), 5).end(timeout)
      at += 60_000 * 2 ** i
    }
    expect(roomFor(ref('quick'))).toBe(8)
    begin(ref('dead'), 1).end(timeout)
    at += 120_000
    expect(roomFor(ref('dead'))).toBe(0)
  })

  it('keeps a bounded number of receivers, dead ones too', () => {
    for (let i = 0; i < 6_000; i++) begin(ref(`a${i}`), 5).end(timeout)
    const { room_of_webhook } = shares.rooms(at)
    expect(room_of_webhook.size).toBe(5_000)
    expect(roomFor(ref('a0'))).toBe(8)
    expect(roomFor(ref('a5999'))).toBe(0)
  })
})

describe('rooms', () => {
  it('list only what differs from the limits', () => {
    expect(shares.rooms(at)).toEqual({
      limit_per_webhook: 8,
      limit_per_workspace: 100,
      room_of_webhook: new Map(),
      room_of_workspace: new Map(),
    })
    const began = begin(ref('a'), 3)
    expect(shares.rooms(at).room_of_workspace).toEqual(new Map([['w1', 97]]))
    began.end({ ...ok, status: 404 })
    expect(shares.rooms(at)).toMatchObject({
      room_of_webhook: new Map(),
      room_of_workspace: new Map(),
    })
  })

  it('of an unknown receiver are the rest of its one slot, when such receivers fill half', () => {
    begin(ref('x', 'w'), 2)
    begin(ref('y', 'w'), 1).end(null)
    for (let i = 0; i < 24; i++) begin(ref(`a${i}`, `w${i}`), 8)
    begin(ref('a24', 'w24'), 5)
    expect([roomFor(ref('x', 'w')), roomFor(ref('y', 'w'))]).toEqual([6, 8])
    begin(ref('a24', 'w24'), 1)
    expect([roomFor(ref('x', 'w')), roomFor(ref('y', 'w'))]).toEqual([0, 1])
  })

  it('of a workspace are at least one in all', () => {
    shares = createShares({ slots: 3 })
    expect(shares.rooms(at).limit_per_workspace).toBe(1)
    begin(ref('a'), 2)
    expect(shares.rooms(at).room_of_workspace).toEqual(new Map([['w1', 0]]))
  })

  it('are those of an unknown receiver after a minute without use, to the millisecond', () => {
    begin(ref('a'), 8).end(ok)
    const used = roomFor(ref('a'))
    expect(used).toBeGreaterThan(8)
    at += 59_999
    expect(roomFor(ref('a'))).toBe(used)
    at += 1
    expect(roomFor(ref('a'))).toBe(8)
  })

  it('remember a receiver in use, one that waits, and none that has to go for others', () => {
    const inUse = begin(ref('in use'), 1)
    begin(ref('waits'), 1).end({ ...ok, status: 429, retry_after_ms: 600_000 })
    begin(ref('idle'), 4).end(ok)
    at += 60_000
    expect(roomFor(ref('in use'))).toBe(7)
    expect(roomFor(ref('waits'))).toBe(0)
    expect(roomFor(ref('idle'))).toBe(8)
    for (let i = 0; i < 4_999; i++) begin(ref(`a${i}`), 1).end(null)
    // The oldest that has nothing in flight.
    expect(roomFor(ref('waits'))).toBe(8)
    expect(roomFor(ref('in use'))).toBe(7)
    inUse.end(ok)
  })

  it('say until when a receiver waits, and end the wait for a probe', () => {
    expect(shares.waitsUntil('a')).toBe(0)
    shares.probeNow('a')
    begin(ref('a'), 5).end(timeout)
    expect(shares.waitsUntil('a')).toBe(at + 30_000)
    shares.probeNow('a')
    expect(shares.waitsUntil('a')).toBe(0)
    expect(roomFor(ref('a'))).toBe(1)
  })

  it('of failing receivers fall by what these hold, until they answer', () => {
    for (let i = 0; i < 3; i++) begin(ref(`bad${i}`, `v${i}`), 1).end({ ...ok, status: 500 })
    const busy = Array.from({ length: 12 }, (_, i) => begin(ref(`bad${i % 3}`, `v${i % 3}`), 8))
    for (let i = 0; i < 5; i++) begin(ref(`late${i}`, `w${i}`), 1).end({ ...ok, status: 500 })
    // 96 of 100 slots are in use.
    const rooms = shares.rooms(at).room_of_webhook
    expect([0, 1, 2, 3, 4].reduce((sum, i) => sum + (rooms.get(`late${i}`) ?? 0), 0)).toBe(4)
    busy[0]?.end({ ...ok, status: 404 })
    const later = shares.rooms(at).room_of_webhook
    // One of the three is no failing receiver any more, with its 32.
    expect([0, 1, 2, 3, 4].reduce((sum, i) => sum + (later.get(`late${i}`) ?? 8), 0)).toBe(36)
  })
})

describe('slots for new deliveries', () => {
  const claim = (taken: ReceiverRef[]) => shares.beginClaim(shares.rooms(at), 100)(taken)

  it('are for receivers that have answered', () => {
    expect(shares.reserve(ref('a'), at)).toBe(false)
    begin(ref('b'), 1).end(ok)
    expect(shares.reserve(ref('b'), at)).toBe(true)
    begin(ref('c'), 1).end(ok)
    begin(ref('c'), 1).end(timeout)
    expect(shares.reserve(ref('c'), at)).toBe(false)
  })

  it('are reserved until they begin, up to the limit of the receiver', () => {
    begin(ref('a'), 1).end(ok)
    const limit = roomFor(ref('a'))
    const refs = Array.from({ length: limit }, () => ref('a'))
    expect(refs.map((one) => shares.reserve(one, at))).toEqual(refs.map(() => true))
    expect(shares.reserve(ref('a'), at)).toBe(false)
    shares.release(refs)
    // The refused delivery waits: a claim takes it first.
    expect(shares.reserve(ref('a'), at)).toBe(false)
    claim([ref('a')])
    expect(shares.reserve(ref('a'), at)).toBe(true)
  })

  it('are within the share of the workspace', () => {
    for (let i = 0; i < 25; i++) begin(ref(`a${i}`), 1).end(ok)
    const all = Array.from({ length: 100 }, (_, i) => ref(`a${i % 25}`))
    expect(all.every((one) => shares.reserve(one, at))).toBe(true)
    expect(shares.reserve(ref('a0'), at)).toBe(false)
  })

  it('are not for a receiver whose older deliveries may wait', () => {
    begin(ref('a'), 1).end(ok)
    shares.queued([ref('a')])
    expect(shares.reserve(ref('a'), at)).toBe(false)
    claim(Array.from({ length: roomFor(ref('a')) }, () => ref('a')))
    expect(shares.reserve(ref('a'), at)).toBe(false)
    claim([])
    expect(shares.reserve(ref('a'), at)).toBe(true)
  })

  it('are not for one that waits while a claim took all that it may', () => {
    begin(ref('a'), 1).end(ok)
    shares.queued([ref('a')])
    const note = shares.beginClaim(shares.rooms(at), 2)
    note([ref('b'), ref('c')])
    expect(shares.reserve(ref('a'), at)).toBe(false)
    shares.beginClaim(shares.rooms(at), 2)([ref('b')])
    expect(shares.reserve(ref('a'), at)).toBe(true)
  })

  it('are not for a workspace of which a claim took all that it may', () => {
    for (let i = 0; i < 20; i++) begin(ref(`a${i}`), 4).end(ok)
    begin(ref('a0'), 1).end(ok)
    const taken = Array.from({ length: 100 }, (_, i) => ref(`a${i % 20}`))
    const rooms = shares.rooms(at)
    shares.beginClaim(rooms, 200)(taken.slice(1))
    expect(shares.reserve(ref('a0'), at)).toBe(true)
    shares.release([ref('a0')])
    shares.beginClaim(rooms, 200)(taken)
    expect(shares.reserve(ref('a0'), at)).toBe(false)
    // Less than the room of the workspace was taken.
    shares.beginClaim(rooms, 200)([ref('a1')])
    shares.beginClaim(rooms, 200)([ref('a1')])
    expect(shares.reserve(ref('a0'), at)).toBe(true)
  })

  it('are less what the receiver and its workspace have in flight and reserved', () => {
    begin(ref('a'), 4).end(ok)
    const limit = roomFor(ref('a'))
    begin(ref('a'), limit - 2)
    expect(shares.reserve(ref('a'), at)).toBe(true)
    expect(shares.reserve(ref('a'), at)).toBe(true)
    expect(shares.reserve(ref('a'), at)).toBe(false)
    begin(ref('b'), 4).end(ok)
    begin(ref('c'), 100 - limit - 1)
    expect(shares.reserve(ref('b'), at)).toBe(true)
    expect(shares.reserve(ref('b'), at)).toBe(false)
  })

  it('wait for a receiver that is asked to wait or fails: its deliveries fall due meanwhile', () => {
    begin(ref('a'), 1).end(ok)
    begin(ref('a'), 1).end({ ...ok, status: 429, retry_after_ms: 10_000 })
    at += 10_000
    expect(shares.reserve(ref('a'), at)).toBe(false)
    claim([])
    claim([])
    expect(shares.reserve(ref('a'), at)).toBe(true)
    begin(ref('b'), 1).end({ ...ok, status: 500 })
    begin(ref('b'), 1).end(ok)
    expect(shares.reserve(ref('b'), at)).toBe(false)
  })

  it('free a slot that waiting deliveries may use', () => {
    const end = (answer: ReceiverAnswer) => {
      const is_probe = shares.began(ref('a'), at)
      return shares.ended(ref('a'), answer, { began: at, at, is_probe })
    }
    expect(end(ok)).toBe(true)
    expect(end(ok)).toBe(false)
    shares.queued([ref('a')])
    expect(end(ok)).toBe(true)
  })
})
