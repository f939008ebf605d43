import { describe, expect, it } from 'vitest'
import { EVENTS } from '../contract/resources/events.ts'
import { type FanOut, fanOut, type Subscriber, wants } from './deliveries.ts'

const AT = new Date('2026-05-04T09:00:00.000Z')

function subscriber(id: string, ...events: string[]): Subscriber {
  return { id, workspace_id: 'w1', events, mode: 'all', format: 'svc' }
}

function announce(subscribers: readonly Subscriber[]): FanOut {
  const into: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  let n = 0
  const { data, example } = EVENTS['message.sent']
  fanOut(
    into,
    { event: 'message.sent', data: data.parse(example), workspace_id: 'w1', message_id: 'm1' },
    subscribers,
    { at: AT, newId: () => `id-${++n}` },
  )
  return into
}

describe('wants', () => {
  it.each([
    [['*'], true],
    [['message.sent'], true],
    [['message.failed', 'message.sent'], true],
    [['message.failed'], false],
    [['message.*'], false],
    [[], false],
  ])('%j: %s', (events, expected) => {
    expect(wants(subscriber('h1', ...events), 'message.sent', { livemode: true })).toBe(expected)
    expect(wants(subscriber('h1', ...events), 'message.sent', { livemode: false })).toBe(expected)
  })

  it.each([
    ['all', true, true],
    ['live', true, false],
    ['test', false, true],
  ] as const)('of mode %s: live %s, test %s', (mode, live, test) => {
    const webhook = { events: ['*'], mode, format: 'svc' as const }
    expect(wants(webhook, 'message.sent', { livemode: true })).toBe(live)
    expect(wants(webhook, 'message.sent', { livemode: false })).toBe(test)
  })
})

describe('fanOut', () => {
  it('stores nothing for an event without a subscriber', () => {
    expect(announce([])).toEqual({ events: [], deliveries: [], delivery_queue: [] })
    expect(announce([subscriber('h1', 'message.read')])).toEqual({
      events: [],
      deliveries: [],
      delivery_queue: [],
    })
  })

  it('stores one body and a due delivery for each subscribed webhook', () => {
    const { events, deliveries, delivery_queue } = announce([
      subscriber('h1', '*'),
      subscriber('h2', 'message.read'),
      subscriber('h3', 'message.sent'),
    ])
    expect(events).toHaveLength(1)
    expect(JSON.parse(events[0]?.body ?? '')).toEqual({
      event: 'message.sent',
      data: EVENTS['message.sent'].example,
    })
    expect(deliveries).toMatchObject([
      { webhook_id: 'h1', event_id: events[0]?.id, next_attempt_at: AT, status: 'pending' },
      { webhook_id: 'h3', event_id: events[0]?.id, next_attempt_at: AT, status: 'pending' },
    ])
    expect(delivery_queue).toEqual(
      deliveries.map(({ id, webhook_id }) => ({
        delivery_id: id,
        workspace_id: 'w1',
        webhook_id,
        due_at: AT,
        set_at: AT,
        token: null,
      })),
    )
  })
})
