import { defineProvider } from '@svc/core'
import { expect, it } from 'vitest'
import { CANARY, newNumber, openService, PUBLIC_URL } from './service.ts'

const SECRET = 'canary-acme-secret'

/** A provider of an embedding program, whose callbacks have its secret in a header. */
const acme = defineProvider({
  name: 'acme',
  traits: { channels: ['sms'], callback_bytes: 1_000 },
  send: (jobs) =>
    jobs.map(async ({ message_id, content }) => {
      if (message_id === '') throw new Error(JSON.stringify(content))
      return {
        type: 'accepted',
        provider_message_id: message_id,
        lookup_after_ms: null,
        part_ids: [message_id],
      }
    }),
  readCallback({ headers, body }) {
    if (headers['x-secret'] !== SECRET) return { type: 'forged' }
    const { id: provider_message_id, status } = JSON.parse(new TextDecoder().decode(body))
    const error = { error_code: null, error_message: null }
    const receipt = { status, provider_message_id, ...error }
    return {
      type: 'read',
      reports: [{ type: 'receipt', about: null, provider_message_id, receipt }],
      answer: { content_type: 'text/plain', body: 'OK' },
    }
  },
})

it('a provider of an embedding program gets its callbacks over HTTP', async () => {
  const service = await openService({ providers: [acme], secrets: [SECRET] })
  try {
    const { key } = await service.tenant()
    const to = newNumber()
    const id = await service.accepted(key, { to, channel: 'sms', content: { text: CANARY } })
    await service.idle()
    expect(await service.statusOf(key, id)).toBe('sent')
    const callback = (body: string, secret = SECRET) =>
      service.called({
        method: 'POST',
        url: `${PUBLIC_URL}/callbacks/acme`,
        headers: { 'x-secret': secret, 'content-type': 'application/json' },
        body: new TextEncoder().encode(body),
      })
    const delivered = JSON.stringify({ id, status: 'delivered' })
    expect(await callback(delivered, 'another')).toMatchObject({ status: 403 })
    expect(await callback(`{"${CANARY}`)).toMatchObject({ status: 400 })
    expect(await callback(JSON.stringify({ id, status: 'eaten' }))).toMatchObject({ status: 400 })
    const oversized = await callback(' '.repeat(1_001))
    expect(oversized.text).toContain('Request body is too large')
    expect(await service.statusOf(key, id)).toBe('sent')
    expect(await callback(delivered)).toMatchObject({ status: 200 })
    expect(await service.statusOf(key, id)).toBe('delivered')
  } finally {
    await service.close()
  }
})
