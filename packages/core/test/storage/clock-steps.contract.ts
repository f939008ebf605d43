import { describe, expect, it, vi } from 'vitest'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { ClaimedDelivery } from '../../src/rules/deliveries.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { REDATED } from '../../src/storage/queueing.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, LEASE_MS, type OpenStorage, only } from './bench.ts'

const HOUR_MS = 3_600_000
const STEPS = [
  ['an hour', HOUR_MS],
  ['a day', 24 * HOUR_MS],
] as const

const MINUTE_MS = 60_000
/** Longer than the first wait of a delivery that failed, with its jitter. */
const RETRIED_MS = 10_000

const withLookup = { abilities: { idempotent: false, lookup: true } }
const busy = { type: 'retry', error_code: 'busy', error_message: 'Busy' } as const
const refused = { type: 'rejected', error_code: 'unroutable', error_message: 'No' } as const
const silent = { type: 'ambiguous', error_code: 'timeout', error_message: 'No answer' } as const
const taken = { type: 'accepted', provider_message_id: 'P1' } as const

const send = (outcome: Extract<Settlement['result'], { task: 'send' }>['outcome']) =>
  ({ task: 'send', attempt: 1, outcome }) as const

const SENT = send({ ...taken, lookup_after_ms: null })

/** What becomes of queued work when the clock is set forwards or back. */
export function clockStepsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** What is due, and what becomes due as the first claim sees the clock. */
  async function claim(): Promise<ClaimedMessage[]> {
    const first = await bench.claimMessages()
    return [...first, ...(await bench.claimMessages())]
  }
  const ids = (messages: readonly { message_id: string }[]) =>
    messages.map(({ message_id }) => message_id).sort()
  const idsOf = (...messages: MessageRow[]) => messages.map(({ id }) => id).sort()

  /** A message that was claimed, and what came of it. */
  async function settled(
    workspaceId: string,
    result: Settlement['result'] | null,
  ): Promise<MessageRow> {
    const message = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    if (result) expect(await bench.settle(claimed, result, withLookup)).toBe(true)
    return message
  }

  it('that is set back during a repeated attempt brings the next one no nearer', async () => {
    const workspaceId = await bench.workspace()
    bench.clock.step(HOUR_MS)
    const message = await bench.queued(workspaceId)
    const idempotent = { abilities: { idempotent: true, lookup: false } }
    await bench.settle(only(await bench.claimMessages()), send(silent), idempotent)
    bench.clock.advance(2_000)
    const again = only(await bench.claimMessages())
    bench.clock.step(-HOUR_MS)
    const later = { ...send({ ...busy, delay_ms: MINUTE_MS }), attempt: 2 }
    expect(await bench.settle(again, later, idempotent)).toBe(true)
    expect(await claim()).toEqual([])
    bench.clock.advance(MINUTE_MS - 1)
    expect(await claim()).toEqual([])
    bench.clock.advance(1)
    expect(ids(await claim())).toEqual(idsOf(message))
  })

  it('that is set back while a claim waits leaves it no lease that began meanwhile', async () => {
    const workspaceId = await bench.workspace()
    await claim()
    const held: ClaimedMessage[] = []
    bench.storage.hot.setLanes({
      messages: {
        reserve: (limit) => {
          const route = () => ({ provider: 'carrier', sender: null })
          const terms = { ...bench.time(), limit, lease_ms: LEASE_MS, token: 'token-1', route }
          return { terms, handOver: (items) => held.push(...items), release() {}, giveBack() {} }
        },
        queued() {},
      },
    })
    const early = bench.time()
    bench.clock.step(-HOUR_MS)
    const message = await bench.queued(workspaceId)
    held.push(...(await bench.claimMessages(early)))
    held.push(...(await claim()))
    expect(held.map(({ message_id, interrupted }) => [message_id, interrupted])).toEqual([
      [message.id, false],
    ])
    bench.storage.hot.setLanes(null)
  })

  it('that was ahead is named in the log with the number of rows, once', async () => {
    // All runtimes of tests have this log.
    const warn = vi.spyOn(bench.clock.log, 'warn')
    try {
      const workspaceId = await bench.workspace()
      bench.clock.step(HOUR_MS)
      for (let i = 0; i < 2; i++) await settled(workspaceId, send({ ...busy, delay_ms: MINUTE_MS }))
      bench.clock.step(-HOUR_MS)
      for (let i = 0; i < 3; i++) await claim()
      expect(warn.mock.calls).toEqual([[{ rows: 2 }, REDATED]])
    } finally {
      warn.mockRestore()
    }
  })

  describe.each(STEPS)('a clock that was %s ahead and is set back', (_, step_ms) => {
    it.each([
      ['while the storage is open', async () => {}],
      ['while it is closed', bench.reopen],
    ])(
      '%s: messages wait as long as they were to, and the scheduled until their time',
      async (_, between) => {
        const workspaceId = await bench.workspace()
        bench.clock.step(step_ms)
        const retried = await settled(workspaceId, send({ ...busy, delay_ms: MINUTE_MS }))
        const followed = await settled(workspaceId, send({ ...taken, lookup_after_ms: 2_000 }))
        const doubtful = await settled(workspaceId, send({ ...silent }))
        const held = await settled(workspaceId, null)
        const scheduled_at = new Date(bench.clock.now().getTime() + HOUR_MS)
        const scheduled = await bench.queued(workspaceId, { scheduled_at })
        const queued = await bench.queued(workspaceId)
        bench.clock.step(-step_ms)
        await between()

        expect(ids(await claim())).toEqual(idsOf(queued))
        bench.clock.advance(1_999)
        expect(await claim()).toEqual([])
        bench.clock.advance(MINUTE_MS - 1_999)
        const found = await claim()
        expect(ids(found)).toEqual(idsOf(retried, followed, doubtful, held, queued))
        const of = ({ id }: MessageRow) => found.find(({ message_id }) => message_id === id)
        expect(of(retried)).toMatchObject({ task: 'send', attempt: 2, interrupted: false })
        expect(of(followed)).toMatchObject({ task: 'lookup' })
        expect(of(held)).toMatchObject({ interrupted: true })
        const looked = of(doubtful)
        if (!looked) throw new Error('it is looked up')
        // A minute of doubt has passed, whatever the clock showed at its beginning.
        await bench.settle(looked, { task: 'lookup', found: { type: 'not_found' } }, withLookup)
        expect(await claim()).toMatchObject([{ message_id: doubtful.id, task: 'send', attempt: 2 }])

        bench.clock.set(new Date(scheduled_at.getTime() - 1))
        expect(ids(await claim())).not.toContain(scheduled.id)
        bench.clock.advance(1)
        expect(ids(await claim())).toEqual([scheduled.id])
      },
    )

    it('tries work that was in flight again within three minutes', async () => {
      const workspaceId = await bench.workspace()
      await bench.webhook(workspaceId)
      bench.clock.step(step_ms)
      await settled(workspaceId, SENT)
      const delivery = only(await bench.claimDeliveries())
      const started_at = bench.clock.now()
      bench.clock.step(-step_ms)
      await claim()
      await bench.record(delivery, { started_at, response_status: 500 })
      bench.clock.advance(3 * MINUTE_MS)
      await claim()
      bench.clock.advance(RETRIED_MS)
      expect(await bench.claimDeliveries()).toMatchObject([{ attempt: 2 }])
    })

    it('delivers, and tries again as soon as it was to', async () => {
      const workspaceId = await bench.workspace()
      const webhook = await bench.webhook(workspaceId)
      bench.clock.step(step_ms)
      const announce = () => settled(workspaceId, SENT)
      await announce()
      const failed = only(await bench.claimDeliveries())
      await bench.record(failed, { response_status: 500 })
      await announce()
      const held = only(await bench.claimDeliveries())
      await announce()
      const { webhooks } = bench.storage.read
      const rowOf = ({ delivery_id }: ClaimedDelivery) =>
        webhooks.delivery(workspaceId, webhook.id, delivery_id)
      const inFlight = await rowOf(held)
      bench.clock.step(-step_ms)

      await claim()
      const queued = only(await bench.claimDeliveries())
      expect([failed.delivery_id, held.delivery_id]).not.toContain(queued.delivery_id)
      // The end of a lease is no time of an attempt.
      expect(await rowOf(held)).toEqual(inFlight)
      const shown = await rowOf(failed)
      const wait_ms = (shown?.next_attempt_at?.getTime() ?? 0) - bench.clock.now().getTime()
      expect(wait_ms).toBeGreaterThan(0)
      expect(wait_ms).toBeLessThan(RETRIED_MS)
      bench.clock.advance(wait_ms - 1)
      expect(await bench.claimDeliveries()).toEqual([])
      bench.clock.advance(1)
      expect(only(await bench.claimDeliveries())).toMatchObject({
        delivery_id: failed.delivery_id,
        attempt: 2,
      })
      bench.clock.advance(LEASE_MS - wait_ms)
      const late = (await bench.claimDeliveries()).map(({ delivery_id }) => delivery_id)
      expect(late).toContain(held.delivery_id)
      const all = await webhooks.deliveries(workspaceId, webhook.id, EVERYTHING)
      expect(all).toHaveLength(3)
    })
  })

  it.each(STEPS)(
    'a clock that is set %s forwards interrupts no work in flight',
    async (_, step_ms) => {
      const workspaceId = await bench.workspace()
      await bench.webhook(workspaceId)
      const message = await bench.queued(workspaceId)
      const claimed = only(await bench.claimMessages())
      const lost = await settled(workspaceId, null)
      await settled(workspaceId, SENT)
      const delivery = only(await bench.claimDeliveries())
      bench.clock.step(step_ms)

      expect(await claim()).toEqual([])
      expect(await bench.claimDeliveries()).toEqual([])
      // The outcome counts, although the lease seems to be over: what was refused is paid back.
      expect(await bench.settle(claimed, send(refused), withLookup)).toBe(true)
      expect(await bench.record(delivery)).toBe(true)
      expect(await bench.message(workspaceId, message.id)).toMatchObject({
        status: 'failed',
        error_code: 'unroutable',
        credits_refunded: SMS_PRICE,
      })
      bench.clock.advance(LEASE_MS - 1)
      expect(await claim()).toEqual([])
      bench.clock.advance(1)
      expect(await claim()).toMatchObject([{ message_id: lost.id, interrupted: true }])
      await bench.reopen()
    },
  )

  it.each(STEPS)(
    'a clock that is set %s forwards ends no lease of a delivery, whichever claim detects it',
    async (_, step_ms) => {
      const workspaceId = await bench.workspace()
      await bench.webhook(workspaceId)
      await settled(workspaceId, SENT)
      const { delivery_id } = only(await bench.claimDeliveries())
      bench.clock.step(step_ms)
      expect(await bench.claimDeliveries()).toEqual([])
      bench.clock.advance(LEASE_MS)
      expect(await bench.claimDeliveries()).toMatchObject([{ delivery_id }])
    },
  )
}
