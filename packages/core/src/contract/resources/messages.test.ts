import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { api } from '../api.ts'
import { decode } from '../endpoints/decode.ts'
import { units } from '../fields/units.ts'
import { type Message, message } from './messages.ts'

const at = new Date('2026-05-04T09:30:00.000Z')
const row = {
  id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
  workspace_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d00',
  channel: 'sms',
  recipient: '+14155552671',
  sender: null,
  content: { text: 'Hi' },
  status: 'queued',
  credits_used: units(100_000),
  credits_refunded: units(0),
  provider: null,
  provider_message_id: null,
  error_code: null,
  error_message: null,
  metadata: JSON.parse('{"__proto__":{"a":1},"order_id":"A1"}'),
  segments: 1,
  encoding: 'GSM-7',
  bulk_id: null,
  livemode: true,
  created_at: at,
  updated_at: at,
  scheduled_at: null,
  expires_at: null,
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  erased_at: null,
} satisfies Message

describe('a message', () => {
  test('is encoded without fields that the record does not name', () => {
    const stored = { ...row, sender: 'SVC', api_key_id: 'k', accepted: false, sequence: 0 }
    const wire = message.encode(stored)
    expect(Object.keys(wire).sort()).toEqual(Object.keys(row).sort())
    expect(wire).toMatchObject({ credits_used: 0.1, created_at: '2026-05-04T09:30:00.000Z' })
    expect(JSON.stringify(wire.metadata)).toBe('{"__proto__":{"a":1},"order_id":"A1"}')
  })

  test('is decoded to the same value', () => {
    expect(message.decode(JSON.parse(JSON.stringify(message.encode(row))))).toEqual(row)
  })

  test('is not encoded if it is invalid', () => {
    const wrong = { ...row, status: 'lost' } as unknown as Message
    expect(message.safeEncode(wrong).success).toBe(false)
  })

  test('has exactly the fields of the specification', () => {
    const specified = ['id', 'workspace_id', 'channel', 'recipient', 'content', 'status']
      .concat(['credits_used', 'provider_message_id', 'error_message', 'metadata'])
      .concat(['created_at', 'updated_at', 'delivered_at'])
    expect(Object.keys(message.shape)).toEqual(expect.arrayContaining(specified))
  })
})

describe('the answer to a send', () => {
  test('has four fields, with credits as a number', () => {
    const wire = z.encode(api.messages.send.data, {
      message_id: row.id,
      status: 'queued',
      credits_used: units(100_000),
      created_at: at,
      workspace_id: 'not a field of the answer',
    } as never)
    expect(JSON.stringify(wire)).toBe(
      `{"message_id":"${row.id}","status":"queued","credits_used":0.1,"created_at":"2026-05-04T09:30:00.000Z"}`,
    )
  })
})

describe('the filters of a list', () => {
  test('are decoded', () => {
    const query = {
      channel: 'voice',
      status: 'failed',
      startDate: '2026-05-01',
      endDate: '2026-05-04T23:59:59Z',
      recipient: '+14155552671',
      bulk_id: row.id,
      cursor: 'abc',
      page: '2',
      limit: '10',
    }
    expect(decode(api.messages.list.query, query)).toEqual({
      ...query,
      startDate: new Date('2026-05-01T00:00:00.000Z'),
      endDate: new Date('2026-05-04T23:59:59.000Z'),
      page: 2,
      limit: 10,
    })
  })

  test('are ignored if they are unknown', () => {
    expect(decode(api.messages.list.query, { utm_source: 'x' })).toEqual({ limit: 50 })
  })

  test.each([
    [{ status: 'read' }, 'status must be one of: queued, sent, delivered, failed'],
    [{ bulk_id: '7' }, 'bulk_id must be a UUID'],
    [{ startDate: '01/05/2026' }, 'Invalid date format. Use ISO 8601 format.'],
    [{ endDate: ['2026-05-01', '2026-05-02'] }, 'endDate must be a string'],
    [{ limit: '0' }, 'Limit must be between 1 and 100'],
  ])('%j are refused', (query, message) => {
    expect(() => decode(api.messages.list.query, query)).toThrow(message)
  })
})
