import { afterEach, beforeEach, expect, it } from 'vitest'
import { type RunningLane, startLane } from '../../src/dispatch/lane.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage, Route } from '../../src/rules/claim.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { MessageClaim } from '../../src/storage/ports/hot.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

const ACCEPTED = {
  task: 'send',
  attempt: 1,
  outcome: { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null },
} as const

/** Messages that are claimed in the transaction that queues them, and handed over after its commit. */
export function handOverContract(open: OpenStorage): void {
  const bench = benchFor(open)
  let lane: RunningLane<ClaimedMessage, MessageClaim>
  /** The messages that were handed over, and their attempts as the database had them at that moment. */
  let handed: ClaimedMessage[]
  /** The messages that a claim of the lane found. */
  let found: ClaimedMessage[]
  let route: MessageClaim['route']
  let gate: { is_paused: boolean }
  /** Whether the claims of the lane find nothing. */
  let isBlind: boolean

  beforeEach(async () => {
    handed = []
    found = []
    gate = { is_paused: false }
    isBlind = false
    route = () => ({ provider: 'carrier', sender: 'Acme' })
    const { storage } = bench
    lane = startLane(
      {
        name: 'messages',
        // Room for the eight messages of a test beside a claim of the lane, which looks four times a second.
        slots: 12,
        batch: 4,
        claim: async (limit) => {
          if (isBlind) return []
          const claimed = await bench.claimMessages({ limit, route })
          found.push(...claimed)
          return claimed
        },
        offer: (limit) => ({
          terms: {
            ...bench.time(),
            limit,
            lease_ms: LEASE_MS,
            token: bench.clock.id(),
            route: (message) => route(message),
          },
          end() {},
        }),
        async run(messages, done) {
          handed.push(...messages.filter((message) => !found.includes(message)))
          await Promise.all(messages.map((message) => bench.settle(message, ACCEPTED)))
          done(messages.length)
        },
      },
      systemRuntime().log,
      undefined,
      gate,
    )
    await lane.quiet()
    storage.hot.setLanes({ messages: lane })
  })
  afterEach(async () => {
    bench.storage.hot.setLanes(null)
    await lane.stop(60_000)
  })

  const attemptsOf = ({ workspace_id, id }: MessageRow) =>
    bench.storage.read.messages.attempts(workspace_id, id)
  const statusOf = async ({ workspace_id, id }: MessageRow) =>
    (await bench.message(workspace_id, id)).status
  const ids = (messages: readonly { message_id: string }[]) =>
    messages.map(({ message_id }) => message_id)

  it('are what a claim would have returned, with a journalled attempt and a lease', async () => {
    const workspaceId = await bench.workspace()
    const { hot } = bench.storage
    const left: ClaimedMessage[] = []
    hot.setLanes({
      messages: {
        reserve(limit) {
          const terms = { ...bench.time(), limit, lease_ms: LEASE_MS, token: 'token-1', route }
          return { terms, handOver: (items) => left.push(...items), release() {}, giveBack() {} }
        },
        queued() {},
      },
    })
    const expires_at = new Date('2026-05-04T10:00:00.001Z')
    const message = await bench.queued(workspaceId, { sender: 'Acme', expires_at })
    hot.setLanes(null)
    const other = await bench.queued(workspaceId, { sender: 'Acme', expires_at })
    const claimed = only(await bench.claimMessages({ token: 'token-1', route }))
    const { recipient, content, api_key_id } = message
    expect(left).toEqual([{ ...claimed, message_id: message.id, recipient, content, api_key_id }])
    const [own, others] = [only(await attemptsOf(message)), only(await attemptsOf(other))]
    expect(own).toEqual({ ...others, message_id: message.id })
    // The lease ends as the lease of a claim does; the attempt is then interrupted.
    const end = bench.clock.advance(LEASE_MS)
    const again = await bench.claimMessages({ now: end })
    expect(
      again.map(({ message_id, interrupted, attempt }) => [message_id, interrupted, attempt]),
    ).toEqual([
      [message.id, true, 1],
      [other.id, true, 1],
    ])
  })

  it('are settled, and no claim finds them', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    expect(ids(handed)).toEqual([message.id])
    await lane.quiet()
    expect(await statusOf(message)).toBe('sent')
    expect(found).toEqual([])
  })

  it('leave the rest of a batch to a claim: schedules, bulks, messages without a provider', async () => {
    const workspaceId = await bench.workspace()
    route = ({ sender }): Route =>
      sender === 'Unlisted'
        ? { provider: null, wait_ms: 1_000, error_message: 'paused' }
        : { provider: 'carrier', sender }
    isBlind = true
    const due = bench.clock.advance(1)
    const [now, later, none] = [
      await bench.queued(workspaceId),
      await bench.queued(workspaceId, { scheduled_at: new Date(due.getTime() + 60_000) }),
      await bench.queued(workspaceId, { sender: 'Unlisted' }),
    ]
    const bulk = bench.make.bulk(workspaceId, 2)
    await bench.accept(bulk)
    expect(ids(handed)).toEqual([now.id])
    for (const each of [later, none, ...bulk.messages]) expect(await attemptsOf(each)).toEqual([])
    const claimed = await bench.claimMessages()
    expect(new Set(ids(claimed))).toEqual(new Set([none, ...bulk.messages].map(({ id }) => id)))
  })

  it('wake the lane for messages that no claim holds', async () => {
    const workspaceId = await bench.workspace()
    const bulk = bench.make.bulk(workspaceId, 7)
    await bench.accept(bulk)
    await lane.quiet()
    expect(ids(found).sort()).toEqual(bulk.messages.map(({ id }) => id).sort())
    for (const message of bulk.messages) expect(await statusOf(message)).toBe('sent')
  })

  it('overtake no older message', async () => {
    const workspaceId = await bench.workspace()
    gate.is_paused = true
    const many = Array.from({ length: 9 }, () => bench.make.send(workspaceId))
    await bench.storage.hot.accept(many)
    bench.clock.advance(1)
    const last = await bench.queued(workspaceId)
    expect(handed).toEqual([])
    gate.is_paused = false
    lane.wake()
    await lane.quiet()
    expect([found.length, found.at(-1)?.message_id]).toEqual([10, last.id])
  })

  it('are those of the workspaces for which the lane is open', async () => {
    const [busy, other] = [await bench.workspace(), await bench.workspace()]
    const left: ClaimedMessage[] = []
    const reserved: unknown[] = []
    const queued: string[] = []
    bench.storage.hot.setLanes({
      messages: {
        isOpen: (workspaceId) => workspaceId !== busy,
        reserve(limit, workspaces) {
          reserved.push([limit, workspaces])
          const terms = { ...bench.time(), limit, lease_ms: LEASE_MS, token: 'token-1', route }
          return { terms, handOver: (items) => left.push(...items), release() {}, giveBack() {} }
        },
        queued: (rows) => queued.push(...rows.map(({ workspace_id }) => workspace_id)),
      },
    })
    const [late, passing] = [bench.make.send(busy), bench.make.send(other)]
    await bench.storage.hot.accept([late, passing])
    expect(reserved).toEqual([[1, [other]]])
    expect(ids(left)).toEqual(passing.messages.map(({ id }) => id))
    expect(queued).toEqual([busy])
    expect(await attemptsOf(only(late.messages))).toEqual([])
  })

  it('give their room back when the request is refused or its transaction fails', async () => {
    const workspaceId = await bench.workspace(1)
    const poor = await bench.workspace(0)
    const message = await bench.queued(workspaceId)
    await lane.quiet()
    for (let i = 0; i < 9; i++) {
      expect(await bench.accept(bench.make.send(poor))).toMatchObject({
        outcome: 'insufficient_credits',
      })
      // The id of the message exists: the insert fails after the room was reserved.
      const copy = bench.make.request([{ ...bench.make.message(workspaceId), id: message.id }])
      await expect(bench.accept({ ...copy, debit: null })).rejects.toThrow()
    }
    expect(await attemptsOf(message)).toHaveLength(1)
    const rich = await bench.workspace(8)
    const all = Array.from({ length: 8 }, () => bench.make.send(rich))
    await bench.storage.hot.accept(all)
    expect(ids(handed)).toEqual(
      [message, ...all.flatMap(({ messages }) => messages)].map(({ id }) => id),
    )
  })

  it('are none while the clock is in doubt', async () => {
    const workspaceId = await bench.workspace()
    await lane.stop(60_000)
    await bench.reopen()
    const taken: unknown[] = []
    bench.storage.hot.setLanes({
      messages: {
        reserve: (count) => {
          taken.push(count)
          return null
        },
        queued: () => taken.push('queued'),
      },
    })
    await bench.queued(workspaceId)
    expect(taken).toEqual(['queued'])
    expect(await bench.claimMessages()).toHaveLength(1)
    await bench.queued(workspaceId)
    expect(taken).toEqual(['queued', 1, 'queued'])
  })

  it('are none without a lane', async () => {
    const workspaceId = await bench.workspace()
    bench.storage.hot.setLanes(null)
    const message = await bench.queued(workspaceId)
    expect(handed).toEqual([])
    expect(await attemptsOf(message)).toEqual([])
  })
}
