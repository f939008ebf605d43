import type { Message } from '@svc/client'
import { expect, test } from 'vitest'
import { textWidth } from '../show/text.ts'
import type { Change } from './follow-messages.ts'
import { changeLine, changeRow } from './message-rows.ts'

const at = new Date('2026-05-04T09:00:00.123Z')
const change = (fields: Partial<Message>): Change => ({
  status: fields.status ?? 'queued',
  at,
  message: {
    id: '01934f5e-8c00-7a3b-9d2e-000000000001',
    channel: 'sms',
    recipient: '+14155552671',
    error_code: null,
    error_message: null,
    ...fields,
  } as Message,
})
const failed = change({ status: 'failed', error_code: 'undelivered', error_message: 'x\u001b[2J' })

test('a plain row has the id and the reason of a failure', () => {
  const id = '01934f5e-8c00-7a3b-9d2e-000000000001'
  const start = [at.toISOString(), 'sms', '+14155552671']
  expect(changeRow(change({}), { padded: false })).toEqual([
    ...start,
    { text: 'queued', style: 'dim' },
    id,
  ])
  expect(changeRow(failed, { padded: false }).at(-1)).toBe('undelivered: x\u001b[2J')
})

test.each([20, 60, 80, 130, 200])(
  'a line fits into %i columns and has no control characters',
  (columns) => {
    const plain = (_: unknown, text: string) => text
    const wide = change({
      recipient: '你好'.repeat(20),
      status: 'failed',
      error_message: '\u001b]0;x\u0007',
    })
    for (const each of [change({}), failed, wide]) {
      const line = changeLine(each, columns, plain)
      expect(textWidth(line)).toBeLessThanOrEqual(columns)
      expect(line).not.toMatch(/\p{Cc}/u)
    }
  },
)

test('lines are aligned, and a wide one has the id', () => {
  const plain = (_: unknown, text: string) => text
  expect(changeLine(change({}), 80, plain)).toBe(
    '09:00:00  sms       +14155552671           queued',
  )
  expect(changeLine(failed, 80, plain)).toBe(
    '09:00:00  sms       +14155552671           failed     undelivered: x\\u001b[2J',
  )
  expect(changeLine(change({}), 130, plain)).toContain('01934f5e-8c00-7a3b-9d2e-000000000001')
})
