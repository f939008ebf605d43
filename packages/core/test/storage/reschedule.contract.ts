import { expect, it } from 'vitest'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import type { RescheduleOutcome } from '../../src/rules/reschedule.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

const HOUR_MS = 3_600_000
const refusal = { error_code: 'busy', error_message: 'Busy' }

/** Rescheduling: only messages that are not being sent; the claim follows the new time. */
export function rescheduleContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const inMs = (ms: number) => new Date(bench.clock.now().getTime() + ms)
  const reschedule = async (
    workspace_id: string,
    message_id: string,
    scheduled_at: Date,
    deferred_until: Date | null = null,
  ): Promise<RescheduleOutcome> => {
    const times = { scheduled_at, deferred_until, at: bench.clock.now() }
    return only(await bench.storage.hot.reschedule([{ workspace_id, message_id, ...times }]))
  }

  it('moves a scheduled message to a later time, and writes its history', async () => {
    const workspaceId = await bench.workspace(3)
    const message = await bench.queued(workspaceId, { scheduled_at: inMs(HOUR_MS) })
    const at = bench.clock.advance(1_000)
    const scheduled_at = inMs(3 * HOUR_MS)
    expect(await reschedule(workspaceId, message.id, scheduled_at)).toBe('rescheduled')
    expect(await bench.message(workspaceId, message.id)).toEqual({
      ...message,
      scheduled_at,
      updated_at: at,
    })
    expect(await bench.reportsOf(workspaceId, message.id)).toMatchObject([
      { status: 'queued', applied: true, error_code: 'rescheduled', at },
    ])
    bench.clock.advance(2 * HOUR_MS)
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.advance(HOUR_MS)
    expect(only(await bench.claimMessages()).message_id).toBe(message.id)
  })

  it('stores the end of the quiet hours that set the time, and removes it with the next time', async () => {
    const workspaceId = await bench.workspace(3)
    const { id } = await bench.queued(workspaceId, { scheduled_at: inMs(HOUR_MS) })
    const end = inMs(3 * HOUR_MS)
    expect(await reschedule(workspaceId, id, end, end)).toBe('rescheduled')
    expect(await bench.message(workspaceId, id)).toMatchObject({
      scheduled_at: end,
      deferred_until: end,
    })
    const [report] = await bench.reportsOf(workspaceId, id)
    const text = `Rescheduled and deferred by quiet hours to ${end.toISOString()}`
    expect(report?.error_message).toBe(text)
    await reschedule(workspaceId, id, inMs(HOUR_MS))
    expect((await bench.message(workspaceId, id)).deferred_until).toBeNull()
  })

  it('makes a message with a past time due now', async () => {
    const workspaceId = await bench.workspace(3)
    const message = await bench.queued(workspaceId, { scheduled_at: inMs(HOUR_MS) })
    expect(await reschedule(workspaceId, message.id, inMs(-HOUR_MS))).toBe('rescheduled')
    expect(only(await bench.claimMessages()).message_id).toBe(message.id)
  })

  it('leaves alone what is being sent, what may have arrived, and what has ended', async () => {
    const workspaceId = await bench.workspace(10)
    const attempted = async (outcome: Outcome) => {
      const message = await bench.queued(workspaceId)
      const claimed = only(await bench.claimMessages())
      await bench.settle(claimed, { task: 'send', attempt: claimed.attempt, outcome })
      return message
    }
    const ended = [
      await attempted({ type: 'ambiguous', ...refusal }),
      await attempted({ type: 'rejected', ...refusal }),
    ]
    const inFlight = await bench.queued(workspaceId)
    await bench.claimMessages()
    for (const message of [...ended, inFlight]) {
      const before = await bench.message(workspaceId, message.id)
      expect(await reschedule(workspaceId, message.id, inMs(HOUR_MS))).toBe('not_waiting')
      expect(await bench.message(workspaceId, message.id)).toEqual(before)
    }
    bench.clock.advance(LEASE_MS + 1)
    expect(await reschedule(workspaceId, inFlight.id, inMs(HOUR_MS))).toBe('not_waiting')
  })

  it('does not find a message of another workspace', async () => {
    const workspaceId = await bench.workspace(3)
    const other = await bench.workspace(3)
    const message = await bench.queued(workspaceId, { scheduled_at: inMs(HOUR_MS) })
    expect(await reschedule(other, message.id, inMs(-1))).toBe('not_found')
    expect(await bench.claimMessages()).toEqual([])
  })
}
