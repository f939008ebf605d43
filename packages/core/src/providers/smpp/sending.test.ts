import { expect, test } from 'vitest'
import type { Report, SendJob } from '../../contract/outside/provider.ts'
import type { OnResult, Pool } from './pool.ts'
import { createSending } from './sending.ts'
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

/** Sends a text of three parts; each part is answered by the test, as often as it likes. */
async function sendingThree() {
  const told: Report[] = []
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
    tell: (report) => told.push(report),
  })
  const sent = send([job])
  await Promise.resolve()
  return { parts, told, sent }
}

const silence = { type: 'unanswered', reason: 'no answer in time' } as const
const answer = (status: number, message_id = '') =>
  ({ type: 'answered', status, message_id }) as const

test('a message refused after it was called ambiguous was never accepted, and that is told', async () => {
  const { parts, told, sent } = await sendingThree()
  parts[0]?.(silence)
  expect(await sent).toMatchObject([{ type: 'ambiguous' }])
  expect(told).toEqual([])
  parts[0]?.(answer(0x0b))
  expect(told).toEqual([
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

test('one of which a part was taken is out, whatever was refused late', async () => {
  const { parts, told, sent } = await sendingThree()
  parts[0]?.(answer(0, '7'))
  await new Promise(setImmediate)
  parts[1]?.(silence)
  parts[2]?.(answer(0, '9'))
  expect(await sent).toMatchObject([{ type: 'ambiguous' }])
  parts[1]?.(answer(0x0b))
  expect(told).toMatchObject([
    { receipt: { status: 'sent', part_ids: ['7', 'm1.2', '9'] } },
    { receipt: { status: 'failed', provider_message_id: 'm1.2' } },
  ])
  expect(told.some((one) => one.type === 'receipt' && one.receipt.never_accepted)).toBe(false)
})

test('one of which a part was taken goes on where it stopped', async () => {
  const { parts, sent } = await sendingThree()
  parts[0]?.(answer(0, '7'))
  await new Promise(setImmediate)
  parts[1]?.(answer(0x58))
  parts[2]?.(answer(0, '9'))
  expect(await sent).toMatchObject([{ type: 'retry', partial: true }])
})
