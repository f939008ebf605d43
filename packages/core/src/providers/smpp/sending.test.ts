import { describe, expect, test } from 'vitest'
import type { Report, SendJob } from '../../contract/outside/provider.ts'
import type { OnResult, Pool } from './pool.ts'
import { createReferences, createSending } from './sending.ts'
import { settings, timingOf } from './settings.ts'
import { createStatusTable } from './status-table.ts'

const smpp = settings.parse({
  type: 'smpp',
  name: 'smsc',
  binds: [{ host: '127.0.0.1', port: 2775, system_id: 'svc', password: 'secret' }],
})

const job: SendJob = {
  workspace_id: 'w1',
  message_id: 'm1',
  channel: 'sms',
  sender: '12345',
  recipient: '+14155550100',
  content: { text: 'x'.repeat(400) },
  attempt: 1,
  created_at_ms: 1_750_000_000_000,
  max_duration_s: null,
}

/** Sends a text of three parts. The test answers each part, any number of times. */
async function sendingThree() {
  const reports: Report[] = []
  const parts: OnResult[] = []
  const pool: Pick<Pool, 'submit'> = {
    submit(_pdu, _write_by, done) {
      parts.push(done)
    },
  }
  const send = createSending({
    settings: smpp,
    timing: timingOf(smpp),
    meaningOf: createStatusTable({}),
    pool: () => pool as Pool,
    report: (one) => reports.push(one),
  })
  const sent = send([job])
  await Promise.resolve()
  return { parts, reports, sent }
}

const silence = { type: 'unanswered', reason: 'no answer in time' } as const
const answer = (status: number, message_id = '') =>
  ({ type: 'answered', status, message_id }) as const

test('reports a message that is refused after the outcome ambiguous as never accepted', async () => {
  const { parts, reports, sent } = await sendingThree()
  parts[0]?.(silence)
  expect(await sent).toMatchObject([{ type: 'ambiguous' }])
  expect(reports).toEqual([])
  parts[0]?.(answer(0x0b))
  expect(reports).toEqual([
    {
      type: 'receipt',
      about: { workspace_id: 'w1', message_id: 'm1' },
      provider_message_id: null,
      receipt: {
        status: 'failed',
        provider_message_id: null,
        error_code: 'invalid_recipient',
        error_message: expect.stringContaining('smpp:0x0b'),
        never_accepted: true,
      },
    },
  ])
})

test('reports a partly accepted message as sent after a late refusal', async () => {
  const { parts, reports, sent } = await sendingThree()
  parts[0]?.(answer(0, '7'))
  await new Promise(setImmediate)
  parts[1]?.(silence)
  parts[2]?.(answer(0, '9'))
  expect(await sent).toMatchObject([{ type: 'ambiguous' }])
  parts[1]?.(answer(0x0b))
  expect(reports).toMatchObject([
    { receipt: { status: 'sent', part_ids: ['7', 'm1.2', '9'] } },
    { receipt: { status: 'failed', provider_message_id: 'm1.2' } },
  ])
  expect(reports.some((one) => one.type === 'receipt' && one.receipt.never_accepted)).toBe(false)
})

test('retries the rest of a partly accepted message', async () => {
  const { parts, sent } = await sendingThree()
  parts[0]?.(answer(0, '7'))
  await new Promise(setImmediate)
  parts[1]?.(answer(0x58))
  parts[2]?.(answer(0, '9'))
  expect(await sent).toMatchObject([{ type: 'retry', partial: true }])
})

describe('createReferences', () => {
  test('counts up to 255 and again from 0, for each pair separately', () => {
    const next = createReferences(() => 0)
    const numbers = Array.from({ length: 257 }, () => next('SVC', '+1'))
    expect(new Set(numbers.slice(0, 256)).size).toBe(256)
    expect(numbers[256]).toBe(numbers[0])
    expect(Math.max(...numbers)).toBe(255)
    expect(next('SVC', '+2')).toBe(1)
    expect(next(null, '+1')).toBe(1)
    expect(next('SVC', '+1')).toBe(((numbers[256] as number) + 1) % 256)
  })

  test('begins at a random number', () => {
    expect(createReferences(() => 0.999)('SVC', '+1')).toBe(0)
    expect(createReferences(() => 0.5)('SVC', '+1')).toBe(129)
  })

  test('forgets the least recently used pair', () => {
    const next = createReferences(() => 0, 2)
    for (const recipient of ['+1', '+2', '+1', '+3']) next('SVC', recipient)
    expect(next('SVC', '+1')).toBe(3)
    expect(next('SVC', '+2')).toBe(1)
  })
})
