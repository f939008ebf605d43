import { expect, test } from 'vitest'
import { provider, reading, START } from '../../test/operating-readings.ts'
import type { RecentOutcomes } from '../control/provider-desk.ts'
import { EMPTY_PART } from '../rows/operating.ts'
import { findingsOf, type Reading } from './findings.ts'
import { createHistory } from './history.ts'

const ago = (s: number) => new Date(START.getTime() - s * 1000)
const sms = (status: 'queued' | 'delivered' | 'failed' | 'canceled', count: number) =>
  ({ channel: 'sms', status, count }) as const

function textsOf(last: Reading, ...before: Reading[]): string[] {
  const history = createHistory()
  for (const each of [...before, last]) history.add(each.overview)
  return findingsOf(last, history).map(({ severity, text }) => `${severity}: ${text}`)
}

test('finds nothing in an empty service', () => {
  expect(textsOf(reading())).toEqual([])
})

test('a canceled bulk is no failure, and does not hide failures', () => {
  const before = reading({ after_s: -30, overview: { messages: [sms('queued', 301)] } })
  const canceled = reading({ overview: { messages: [sms('queued', 1), sms('canceled', 300)] } })
  expect(textsOf(canceled, before)).toEqual([])
  const failed = [sms('delivered', 10), sms('failed', 5), sms('canceled', 286)]
  expect(textsOf(reading({ overview: { messages: failed } }), before)).toEqual([
    'problem: 5 of 15 messages failed in the last minute',
  ])
})

test('reports a late message, and whether other messages are sent', () => {
  const message_queue = { waiting: 9, due: 3, oldest_due_at: ago(240), unknown: 0 }
  const late = (messages: Reading['overview']['messages']) =>
    reading({ overview: { message_queue, messages } })
  const before = reading({ after_s: -30, overview: { messages: [sms('queued', 9)] } })
  const text = 'problem: the oldest message is due for 4 min (3 due):'
  expect(textsOf(late([]))).toEqual([`${text} check that a server runs`])
  expect(textsOf(late([sms('queued', 9)]), before)).toEqual([`${text} probably no server runs`])
  expect(textsOf(late([sms('queued', 9), sms('delivered', 5)]), before)).toEqual([
    `${text} messages become due faster than they are sent`,
  ])
  const young = { ...message_queue, oldest_due_at: ago(59) }
  expect(textsOf(reading({ overview: { message_queue: young } }))).toEqual([])
})

test('reports a paused provider with reason and end, problems before notices', () => {
  const retry_at = new Date(START.getTime() + 40_000)
  const refused = { cause: 'misconfigured', code: '20003', reason: 'Bad token', retry_at } as const
  const providers = [
    provider('one', { sender: '+15005550006' }),
    provider('two', {}),
    provider('three', refused as never),
    provider('four', null),
  ]
  expect(textsOf(reading({ troubles: { providers } }))).toEqual([
    'problem: provider two: paused by an operator 4 min ago, until svc providers resume: Maintenance',
    'problem: provider three: paused, refuses its settings (20003), retried in 40 s: Bad token',
    'notice: provider one, sender +15005550006: paused by an operator 4 min ago, until svc providers resume: Maintenance',
  ])
})

test('reports the countries to which no codes are sent, with the command that ends the pause', () => {
  const pause = { workspace_id: 'w1', country: 'TZ', paused_at: ago(240), sent: 52, approved: 1 }
  const paused_countries = [{ ...pause, is_active: true }]
  expect(textsOf(reading({ troubles: { paused_countries } }))).toEqual([
    'notice: one-time codes of workspace w1 to TZ are paused for 4 min: 1 of 52 messages were approved; svc verify allow w1 TZ ends the pause',
  ])
})

test('says that the pause of a country has ended', () => {
  const pause = { workspace_id: 'w1', country: 'TZ', paused_at: ago(240), sent: 52, approved: 1 }
  const paused_countries = [{ ...pause, is_active: false }]
  expect(textsOf(reading({ troubles: { paused_countries } }))).toEqual([
    'notice: the pause of one-time codes of workspace w1 to TZ has ended: it began 4 min ago, when 1 of 52 messages were approved',
  ])
})

test('reports a provider that does not answer, with the messages that wait', () => {
  const queue = {
    provider: 'gateway',
    waiting: 0,
    oldest_waiting_at: null,
    calls: 2,
    oldest_call_at: ago(14),
    unknown: 2,
    oldest_unknown_at: ago(300),
  }
  const found = (changes: Partial<typeof queue> | object) =>
    textsOf(reading({ overview: { provider_queues: [{ ...queue, ...changes }] } }))
  expect(found({})).toEqual([])
  expect(found({ oldest_call_at: ago(15), unknown: 0 })).toEqual([
    'problem: provider gateway does not answer: 2 calls are open, the oldest for 15 s',
  ])
  expect(found({ calls: 1, oldest_call_at: ago(15), unknown: 1, waiting: 1 })).toEqual([
    'problem: provider gateway does not answer: 1 call is open, the oldest for 15 s; 1 outcome is unknown; 1 message waits, the oldest for 0 s',
  ])
  expect(found({ unknown: 3, waiting: 40, oldest_waiting_at: ago(70) })).toEqual([
    'problem: provider gateway does not answer: 3 outcomes are unknown; 40 messages wait, the oldest for 70 s',
  ])
})

test('reports a provider that has accepted nothing since its outcomes became unknown, also after they ended', () => {
  const queue = { provider: 'gateway', ...EMPTY_PART }
  const found = (unanswered: RecentOutcomes['unanswered']) => {
    const gateway = provider('gateway', null)
    const providers = [{ ...gateway, recent: { ...gateway.recent, unanswered } }]
    return textsOf(reading({ overview: { provider_queues: [queue] }, troubles: { providers } }))
  }
  expect(found(null)).toEqual([])
  expect(found({ count: 2, since: ago(7_200) })).toEqual([])
  expect(found({ count: 3, since: ago(7_200) })).toEqual([
    'problem: provider gateway does not answer: no message was accepted for 2 h',
  ])
})

test('reports many failures, but not a few', () => {
  const first = reading({ after_s: -30 })
  const now = (failed: number, delivered: number) =>
    reading({ overview: { messages: [sms('failed', failed), sms('delivered', delivered)] } })
  expect(textsOf(now(12, 28), first)).toEqual([
    'problem: 12 of 40 messages failed in the last minute',
  ])
  expect(textsOf(now(4, 0), first)).toEqual([])
  expect(textsOf(now(5, 100), first)).toEqual([])
  expect(textsOf(now(12, 28))).toEqual([])
})

test('reports unknown outcomes, late deliveries and failing webhooks', () => {
  const overview = {
    message_queue: { waiting: 1, due: 0, oldest_due_at: null, unknown: 1 },
    delivery_queue: { waiting: 7, due: 7, oldest_due_at: ago(420) },
    webhooks: { active: 0, failing: 2, disabled: 3 },
    pause: null,
  }
  expect(textsOf(reading({ overview }))).toEqual([
    'notice: it is unknown whether a provider has accepted 1 message',
    'notice: the oldest webhook delivery is due for 7 min (7 due): its receiver fails, or no server runs',
    'notice: 2 failing webhooks',
  ])
})

test('does not report a delivery that an open circuit breaker may delay', () => {
  const delivery_queue = { waiting: 1, due: 1, oldest_due_at: ago(330) }
  expect(textsOf(reading({ overview: { delivery_queue } }))).toEqual([])
})

test('reports only the pause when dispatch is paused', () => {
  const pause = {
    cause: 'operator',
    reason: 'moving',
    backup_at: null,
    created_at: ago(90),
  } as const
  const message_queue = { waiting: 3, due: 3, oldest_due_at: ago(600), unknown: 0 }
  const delivery_queue = { waiting: 7, due: 7, oldest_due_at: ago(600) }
  expect(textsOf(reading({ overview: { pause, message_queue, delivery_queue } }))).toEqual([
    'problem: all sending and delivering is paused for 90 s (3 due): moving; svc resume ends the pause',
  ])
})
