import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { api } from '../api.ts'
import { SvcError } from '../errors.ts'
import { decode } from './decode.ts'

const send = api.messages.send.body
const sms = { to: '+14155552671', channel: 'sms', content: { text: 'Hi' } }
const mail = { to: 'a@b.co', channel: 'email', content: { subject: 'Hi', text: 'x' } }
const signup = { email: 'a@b.co', password: 'long enough', company_name: 'Example' }

function refusalOf(schema: z.ZodType, value: unknown): SvcError {
  try {
    decode(schema, value)
  } catch (error) {
    if (error instanceof SvcError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

describe('messages of the specification', () => {
  test.each<[string, z.ZodType, unknown]>([
    ['Missing required field: content.text', send, { ...sms, content: {} }],
    ['Missing required field: content.text', send, { ...sms, content: { text: '' } }],
    ['Missing required field: content', send, { to: '+14155552671', channel: 'sms' }],
    ['Missing required field: to', send, { channel: 'sms', content: { text: 'Hi' } }],
    ['Missing required field: to', send, { ...sms, to: '' }],
    ['Missing required field: to', send, { ...mail, to: '' }],
    ['Missing required field: channel', send, { to: '+14155552671', content: { text: 'Hi' } }],
    ['Missing required field: channel', send, { ...sms, channel: '' }],
    ['Missing required field: channel', send, {}],
    ['Missing required field: content.subject', send, { ...mail, content: { text: 'x' } }],
    ['Invalid channel. Must be one of: sms, whatsapp, email', send, { ...sms, channel: 'fax' }],
    ['Invalid channel. Must be one of: sms, whatsapp, email', send, { ...sms, channel: 'voice' }],
    ['Invalid channel. Must be one of: sms, whatsapp, email', send, { ...sms, channel: 7 }],
    ['Invalid channel. Must be one of: sms, whatsapp, email', send, { ...sms, channel: null }],
    ['Phone number must be in E.164 format', send, { ...sms, to: '4155552671' }],
    ['Invalid email address format', send, { ...mail, to: 'a@b' }],
    [
      'Password must be at least 8 characters',
      api.workspaces.signup.body,
      { ...signup, password: '1234567' },
    ],
    ['Missing required field: password', api.workspaces.signup.body, { ...signup, password: '' }],
    [
      'Missing required field: company_name',
      api.workspaces.signup.body,
      { ...signup, company_name: '' },
    ],
    ['Missing required field: email', api.workspaces.login.body, { password: 'x' }],
    ['Limit must be between 1 and 100', api.messages.list.query, { limit: '101' }],
    [
      'Invalid date format. Use ISO 8601 format.',
      api.messages.list.query,
      { startDate: '2026-02-30' },
    ],
    [
      'Invalid channel. Must be one of: sms, whatsapp, email, voice',
      api.messages.list.query,
      { channel: 'fax' },
    ],
  ])('%s', (message, schema, value) => {
    expect(refusalOf(schema, value)).toMatchObject({
      code: 'validation_error',
      status: 400,
      message,
    })
  })
})

describe('messages with the field', () => {
  test.each<[string, z.ZodType, unknown]>([
    ['content.text must be a string', send, { ...sms, content: { text: 5 } }],
    ['content.text must be a string', send, { ...sms, content: { text: null } }],
    ['content must be an object', send, { ...sms, content: [] }],
    ['content must be an object', send, { ...sms, content: 'Hi' }],
    ['to must be a string', send, { ...sms, to: 14155552671 }],
    ['metadata must be an object', send, { ...sms, metadata: 'x' }],
    ['expires_in must be a number', send, { ...sms, expires_in: '60' }],
    ['expires_in must be at least 1', send, { ...sms, expires_in: 0 }],
    ['from must not be empty', send, { ...sms, from: '' }],
    [
      'content.text must be at most 1600 characters',
      send,
      { ...sms, content: { text: 'x'.repeat(1601) } },
    ],
    [
      'Unknown field: scheduled_att. Did you mean scheduled_at?',
      send,
      { ...sms, scheduled_att: 'x' },
    ],
    ['Unknown field: scheduledAt. Did you mean scheduled_at?', send, { ...sms, scheduledAt: 'x' }],
    [
      'Unknown field: content.txt. Did you mean content.text?',
      send,
      { ...sms, content: { text: 'Hi', txt: 'x' } },
    ],
    ['Unknown field: colour', send, { ...sms, colour: 'red' }],
    [
      'Unknown field: __proto__',
      send,
      JSON.parse(`{"__proto__":1,${JSON.stringify(sms).slice(1)}`),
    ],
    ['Request body must be a JSON object', send, []],
    ['Request body must be a JSON object', send, 'text'],
    ['Request body must be a JSON object', send, null],
    ['Request body must be a JSON object', send, undefined],
    [
      'status must be one of: queued, sent, delivered, failed, canceled',
      api.messages.list.query,
      { status: 'read' },
    ],
    ['scopes must have at least 1 item', api.api_keys.create.body, { name: 'x', scopes: [] }],
    [
      'scopes.0 must be one of: send_messages, read_messages, manage_contacts, manage_webhooks',
      api.api_keys.create.body,
      { name: 'x', scopes: ['admin'] },
    ],
    ['Phone number must be in E.164 format', api.workspaces.signup.body, { ...signup, phone: '' }],
  ])('%s', (message, schema, value) => {
    expect(refusalOf(schema, value).message).toBe(message)
  })

  test('suggest no field for a name of a thousand letters', () => {
    const name = 'x'.repeat(1000)
    expect(refusalOf(send, { ...sms, [name]: 1 }).message).toBe(`Unknown field: ${name}`)
  })
})

describe('details', () => {
  test('list every fault; the first is the message', () => {
    const refusal = refusalOf(send, { ...sms, to: 'x', content: { text: '' }, from: 5 })
    expect(refusal.details).toEqual([
      { path: 'to', message: 'Phone number must be in E.164 format' },
      { path: 'content.text', message: 'Missing required field: content.text' },
      { path: 'from', message: 'from must be a string' },
    ])
    expect(refusal.message).toBe(refusal.details?.[0]?.message)
  })

  test('name an empty required field once, even if it breaks several rules', () => {
    const schema = z.object({ a: z.string().min(1).regex(/x/) })
    expect(refusalOf(schema, { a: '' }).details).toEqual([
      { path: 'a', message: 'Missing required field: a' },
    ])
  })
})

describe('success', () => {
  test('returns the decoded value and does not change the input', () => {
    const input = { ...sms, scheduled_at: '2026-05-04T09:30:00+03:00' }
    const read = decode(send, Object.freeze(input))
    expect(read.scheduled_at).toEqual(new Date('2026-05-04T06:30:00.000Z'))
    expect(input.scheduled_at).toBe('2026-05-04T09:30:00+03:00')
  })
})
