import { expect, test } from 'vitest'
import { provider, reading, START } from '../../test/top-readings.ts'
import { findingsOf } from './findings.ts'
import { createHistory } from './history.ts'
import type { Reading } from './reading.ts'

const ago = (s: number) => new Date(START.getTime() - s * 1000)
const sms = (status: 'queued' | 'delivered' | 'failed', count: number) =>
  ({ channel: 'sms', status, count }) as const

function textsOf(last: Reading, ...before: Reading[]): string[] {
  const history = createHistory()
  for (const each of [...before, last]) history.add(each.overview)
  return findingsOf(last, history).map(({ severity, text }) => `${severity}: ${text}`)
}

test('nothing is wrong with an empty service', () => {
  expect(textsOf(reading())).toEqual([])
})

test('a message that nobody takes is told, and whether others are taken', () => {
  const message_queue = { waiting: 9, due: 3, oldest_due_at: ago(240), unknown: 0 }
  const late = (messages: Reading['overview']['messages']) =>
    reading({ overview: { message_queue, messages } })
  const before = reading({ after_s: -30, overview: { messages: [sms('queued', 9)] } })
  const text = 'problem: the oldest message is due for 4 min (3 due):'
  expect(textsOf(late([]))).toEqual([`${text} is a server dispatching?`])
  expect(textsOf(late([sms('queued', 9)]), before)).toEqual([`${text} no server is dispatching?`])
  expect(textsOf(late([sms('queued', 9), sms('delivered', 5)]), before)).toEqual([
    `${text} more is due than is sent`,
  ])
  const young = { ...message_queue, oldest_due_at: ago(59) }
  expect(textsOf(reading({ overview: { message_queue: young } }))).toEqual([])
})

test('a paused provider is told with why and until when, problems before notices', () => {
  const retry_at = new Date(START.getTime() + 40_000)
  const refused = { cause: 'misconfigured', code: '20003', reason: 'Bad token', retry_at } as const
  const providers = [
    provider('one', { sender: '+15005550006' }),
    provider('two', {}),
    provider('three', refused as never),
    provider('four', null),
  ]
  expect(textsOf(reading({ troubles: { providers } }))).toEqual([
    'problem: provider two: paused by an operator 4 min ago, until it is resumed: Maintenance',
    'problem: provider three: paused, refuses its settings (20003), tried again in 40 s: Bad token',
    'notice: provider one: +15005550006 paused by an operator 4 min ago, until it is resumed: Maintenance',
  ])
})

test('many failures are told, a few are not', () => {
  const first = reading({ after_s: -30 })
  const now = (failed: number, delivered: number) =>
    reading({ overview: { messages: [sms('failed', failed), sms('delivered', delivered)] } })
  expect(textsOf(now(12, 28), first)).toEqual([
    'problem: 12 of 40 messages failed within the last minute',
  ])
  expect(textsOf(now(4, 0), first)).toEqual([])
  expect(textsOf(now(5, 100), first)).toEqual([])
  expect(textsOf(now(12, 28))).toEqual([])
})

test('unknown outcomes, late deliveries and failing webhooks are noticed', () => {
  const overview = {
    message_queue: { waiting: 1, due: 0, oldest_due_at: null, unknown: 1 },
    delivery_queue: { waiting: 7, due: 7, oldest_due_at: ago(420) },
    webhooks: { active: 0, failing: 2, disabled: 3 },
    pause: null,
  }
  expect(textsOf(reading({ overview }))).toEqual([
    'notice: of 1 message it is not known whether a provider has it',
    'notice: the oldest webhook delivery is due for 7 min (7 due): its receiver is down, or no server delivers',
    'notice: 2 webhooks fail',
  ])
})

test('a pause of everything is the one thing to say of what is late', () => {
  const pause = {
    cause: 'operator',
    reason: 'moving',
    backup_at: null,
    created_at: ago(90),
  } as const
  const message_queue = { waiting: 3, due: 3, oldest_due_at: ago(600), unknown: 0 }
  const delivery_queue = { waiting: 7, due: 7, oldest_due_at: ago(600) }
  expect(textsOf(reading({ overview: { pause, message_queue, delivery_queue } }))).toEqual([
    'problem: nothing is sent or delivered for 90 s (3 due): moving; svc resume lets it go on',
  ])
})
