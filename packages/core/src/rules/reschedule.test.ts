import { describe, expect, it } from 'vitest'
import type { MessageQueueRow, MessageRow } from '../rows/rows.ts'
import { HELD_UNTIL } from './claim.ts'
import { planReschedule, type RescheduleState } from './reschedule.ts'

const AT = new Date('2026-05-04T09:00:00Z')
const later = (ms: number) => new Date(AT.getTime() + ms)
const CREATED = later(-60_000)

const message = {
  id: 'm1',
  workspace_id: 'w1',
  channel: 'email',
  status: 'queued',
  accepted: false,
  created_at: CREATED,
  scheduled_at: later(3_600_000),
  expires_at: null,
} as MessageRow

const queued = {
  message_id: 'm1',
  workspace_id: 'w1',
  task: 'send',
  token: null,
  unknown_since: null,
  held_by: null,
} as MessageQueueRow

function plan(scheduled_at: Date, state: Partial<RescheduleState> = {}, held_by?: string) {
  const request = {
    workspace_id: 'w1',
    message_id: 'm1',
    scheduled_at,
    deferred_until: null,
    at: AT,
    ...(held_by !== undefined && { held_by }),
  }
  return planReschedule(request, { message, queued, ...state }, { newId: () => 'e1' })
}

describe('planReschedule', () => {
  it('moves the message, its queue row and its history to the new time', () => {
    expect(plan(later(7_200_000))).toStrictEqual({
      outcome: 'rescheduled',
      plan: {
        message: {
          workspace_id: 'w1',
          id: 'm1',
          scheduled_at: later(7_200_000),
          expires_at: null,
          deferred_until: null,
          updated_at: AT,
        },
        queued: { message_id: 'm1', due_at: later(7_200_000), set_at: AT, held_by: null },
        report: {
          workspace_id: 'w1',
          message_id: 'm1',
          id: 'e1',
          status: 'queued',
          applied: true,
          error_code: 'rescheduled',
          error_message: 'Rescheduled to 2026-05-04T11:00:00.000Z',
          at: AT,
        },
      },
    })
  })

  it('makes a message with a past time due now, with an age that counts from now', () => {
    expect(plan(later(-1)).plan).toMatchObject({
      message: { scheduled_at: AT },
      queued: { due_at: AT },
    })
  })

  it('keeps the distance between the time and the expiry', () => {
    const expiring = { ...message, expires_at: later(3_605_000) }
    expect(plan(later(60_000), { message: expiring }).plan?.message.expires_at).toEqual(
      later(65_000),
    )
    const unscheduled = { ...message, scheduled_at: null, expires_at: later(0) }
    expect(plan(later(60_000), { message: unscheduled }).plan?.message.expires_at).toEqual(
      later(120_000),
    )
  })

  it.each<[string, Partial<RescheduleState>, string]>([
    ['is unknown', { message: null, queued: null }, 'not_found'],
    ['is sent', { message: { ...message, status: 'sent' } }, 'not_waiting'],
    ['has a part at a provider', { message: { ...message, accepted: true } }, 'not_waiting'],
    ['is claimed', { queued: { ...queued, token: 't' } }, 'not_waiting'],
    ['may be sent', { queued: { ...queued, unknown_since: AT } }, 'not_waiting'],
    ['is looked up', { queued: { ...queued, task: 'lookup' } }, 'not_waiting'],
    ['has no queue row', { queued: null }, 'not_waiting'],
    ['is a call', { message: { ...message, channel: 'voice' } }, 'is_call'],
  ])('changes nothing if the message %s', (_, state, outcome) => {
    expect(plan(later(60_000), state)).toStrictEqual({ outcome, plan: null })
  })

  it('frees only messages that the broadcast holds', () => {
    const held = { ...queued, due_at: HELD_UNTIL, held_by: 'b1' }
    const { outcome, plan: freed } = plan(AT, { queued: held }, 'b1')
    expect(outcome).toBe('rescheduled')
    expect(freed).toMatchObject({
      message: { scheduled_at: AT },
      queued: { due_at: AT, set_at: AT, held_by: null },
      report: { error_message: 'The pause ended: rescheduled to 2026-05-04T09:00:00.000Z' },
    })
    for (const other of [queued, { ...held, held_by: 'b2' }, { ...held, token: 't' }]) {
      expect(plan(AT, { queued: other }, 'b1')).toStrictEqual({
        outcome: 'not_waiting',
        plan: null,
      })
    }
    // A request about one held message ends its hold too; the next claim holds it again.
    expect(plan(later(60_000), { queued: held }).plan?.queued.held_by).toBeNull()
  })

  it('frees a message without a later expiry, except at the end of quiet hours', () => {
    const held = { ...queued, held_by: 'b1' }
    const scheduled_at = later(-3_600_000)
    const freed = (expires_at: Date, end: Date | null) => {
      const waiting = { ...message, scheduled_at, expires_at, deferred_until: null }
      const { plan } = planReschedule(
        {
          ...{ workspace_id: 'w1', message_id: 'm1', held_by: 'b1', at: AT },
          ...{ scheduled_at: end ?? AT, deferred_until: end },
        },
        { message: waiting, queued: held },
        { newId: () => 'e1' },
      )
      return {
        ends_at: plan?.message.expires_at,
        starts_at: plan?.message.scheduled_at,
        deferred_until: plan?.message.deferred_until,
        due_at: plan?.queued.due_at,
      }
    }
    const kept = { starts_at: scheduled_at, deferred_until: null, due_at: AT }
    for (const ends_at of [later(-1), AT, later(1)]) {
      expect(freed(ends_at, null)).toEqual({ ...kept, ends_at })
    }
    // A message that has expired does not wait for the end of quiet hours.
    const end = later(7_200_000)
    expect(freed(AT, end)).toEqual({ ...kept, ends_at: AT })
    expect(freed(later(1_000), end)).toEqual({
      ...{ starts_at: end, deferred_until: end, due_at: end },
      ends_at: new Date(end.getTime() + 3_601_000),
    })
  })

  it('frees a call without a change of the time on which its credits depend', () => {
    const call = { ...message, channel: 'voice' as const, deferred_until: null }
    const { plan: freed } = plan(AT, { message: call, queued: { ...queued, held_by: 'b1' } }, 'b1')
    expect(freed).toMatchObject({
      message: { scheduled_at: message.scheduled_at, expires_at: null },
      queued: { due_at: AT },
    })
  })
})
