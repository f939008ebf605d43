import { describe, expect, test } from 'vitest'
import { decode } from '../endpoints/decode.ts'
import { EVENT_KINDS, EVENTS } from './events.ts'
import { webhooks } from './webhooks.ts'

const url = 'https://example.com/hook'
const at = new Date('2026-05-04T09:30:00.000Z')
const row = {
  id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d03',
  url,
  description: null,
  events: ['*' as const],
  mode: 'all' as const,
  format: 'svc' as const,
  api_key_id: null,
  is_active: true,
  status: 'active' as const,
  disabled_reason: null,
  secret_prefix: 'whsec_abcd...',
  headers: ['Authorization'],
  consecutive_failures: 0,
  last_success_at: null,
  last_failure_at: at,
  created_at: at,
  updated_at: at,
}

describe('creation', () => {
  test('subscribes to all events by default', () => {
    expect(decode(webhooks.create.body, { url })).toEqual({ url, events: ['*'] })
  })

  test('accepts a description, kinds and headers', () => {
    const body = {
      url: 'http://127.0.0.1:4000/hook',
      description: 'Orders',
      events: ['message.delivered', 'message.failed'],
      mode: 'test',
      headers: { Authorization: 'Bearer abc', 'X-Tenant': 'a' },
    }
    expect(decode(webhooks.create.body, body)).toEqual(body)
  })

  test.each([
    [{ url: '' }, 'Missing required field: url'],
    [{ url: 'https://user:pw@example.com' }, 'URL must be http or https, without user name'],
    [{ url: 'https://example.com/#a' }, 'URL must be http or https, without user name'],
    [{ url: 'ftp://example.com' }, 'URL must be http or https, without user name'],
    [{ url: `https://example.com/${'a'.repeat(2048)}` }, 'url must be at most 2048 characters'],
    [{ description: 'x'.repeat(501) }, 'description must be at most 500 characters'],
    [{ events: [] }, 'events must have at least 1 item'],
    [{ events: ['message.*'] }, 'events.0 must be one of: *, message.sent'],
    [{ mode: 'both' }, 'mode must be one of: all, live, test'],
    [{ headers: [] }, 'headers must be an object'],
    [{ headers: { 'X-A': 5 } }, 'X-A must be a string'],
    [{ headers: { 'X-A': 'a\r\nX-B: b' } }, 'Header values must be 1 to 1024 printable ASCII'],
    [{ headers: { 'X-A': '' } }, 'Header values must be 1 to 1024 printable ASCII'],
    [{ headers: { 'X A': 'a' } }, 'Header names must be 1 to 100 letters'],
    [{ headers: JSON.parse('{"__proto__":"a"}') }, 'Header names must be 1 to 100 letters'],
    [
      { headers: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, 'a'])) },
      'At most 20 entries',
    ],
  ])('refuses %j', (more, message) => {
    expect(() => decode(webhooks.create.body, { url, ...more })).toThrow(message)
  })

  test.each([
    'Host',
    'content-length',
    'Content-Type',
    'X-Svc-Signature',
    'webhook-id',
    'User-Agent',
  ])('refuses the reserved header %s', (name) => {
    expect(() => decode(webhooks.create.body, { url, headers: { [name]: 'a' } })).toThrow(
      `Header ${name} is reserved`,
    )
  })

  test('is the only answer with the secret', () => {
    const stored = { ...row, secret: 'whsec_x', workspace_id: 'w', previous_secret: 'whsec_y' }
    const created = webhooks.create.data.encode({ webhook: stored }).webhook
    expect(created.secret).toBe('whsec_x')
    expect(created).not.toHaveProperty('previous_secret')
    const read = webhooks.get.data.encode({ webhook: stored }).webhook
    expect(Object.keys(read).sort()).toEqual(Object.keys(row).sort())
  })

  test('does not encode header values', () => {
    const stored = { ...row, headers: { Authorization: 'secret' } } as never
    expect(webhooks.get.data.safeEncode({ webhook: stored }).success).toBe(false)
  })
})

test('the list of kinds has an example of a delivery for each', () => {
  const events = EVENT_KINDS.map((name) => ({
    name,
    description: EVENTS[name].description,
    example: { event: name, data: { ...EVENTS[name].example } },
  }))
  const wire = webhooks.events.data.encode({ events })
  expect(wire.events.map(({ name }) => name)).toEqual(EVENT_KINDS)
  expect(wire.events[1]?.example.data).toHaveProperty('message_id')
})

test('a delivery is encoded as its record', () => {
  const delivery = {
    id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d04',
    webhook_id: row.id,
    event: 'message.sent' as const,
    message_id: null,
    status: 'pending' as const,
    trigger: 'event' as const,
    livemode: true,
    attempt_count: 0,
    max_attempts: 12,
    next_attempt_at: at,
    next_attempt_reason: 'due' as const,
    response_status: null,
    response_time_ms: null,
    error: null,
    created_at: at,
    delivered_at: null,
  }
  const pagination = { total: 1, page: 1, pages: 1, limit: 50 }
  const wire = webhooks.deliveries.data.encode({
    deliveries: [{ ...delivery, event_id: 'e', workspace_id: 'w' } as typeof delivery],
    pagination,
    next_after: null,
  })
  expect(wire).toEqual({
    deliveries: [{ ...delivery, next_attempt_at: at.toISOString(), created_at: at.toISOString() }],
    pagination,
    next_after: null,
  })
})
