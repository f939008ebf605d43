import { EVENTS } from '@svc/core/contract'
import { sign, verify } from '@svc/core/webhooks'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  Svc,
  type UnwrappedEvent,
  unwrapWebhook,
  verifyWebhook,
  webhookHandler,
} from '../src/index.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const now = new Date('2026-05-04T09:30:00.000Z')
const body = JSON.stringify({ event: 'message.failed', data: EVENTS['message.failed'].example })
const attempt = { event: 'message.failed', event_id: 'evt_1', delivery_id: 'dlv_1', attempt: 1 }
const headers = sign({ secret, body, at: now, ...attempt })

/** The words of a union on `event`: the compiler must know the fields of each kind. */
function textOf(event: UnwrappedEvent): string {
  switch (event.event) {
    case 'message.failed':
      return event.data.error_code ?? ''
    case 'credits.low':
      return String(event.data.threshold)
    default:
      return event.event
  }
}

describe('webhooks.unwrap', () => {
  it('returns the event of text and bytes, with its id', async () => {
    const svc = new Svc({ baseUrl: 'https://svc.example.com' })
    for (const raw of [body, new TextEncoder().encode(body), Buffer.from(body)]) {
      const event = await svc.webhooks.unwrap(raw, headers, secret, { now })
      expect(event).toEqual({
        event: 'message.failed',
        data: EVENTS['message.failed'].example,
        event_id: 'evt_1',
      })
      expect(textOf(event)).toBe('undelivered')
    }
  })

  it('takes the headers of Fetch and Node, and several secrets', async () => {
    const node = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    for (const each of [new Headers(headers), node]) {
      expect((await unwrapWebhook(body, each, [other, secret], { now })).event_id).toBe('evt_1')
    }
  })

  it.each([
    ['another secret', body, headers, other, 'signature_mismatch'],
    ['another body', `${body} `, headers, secret, 'signature_mismatch'],
    ['no signature', body, {}, secret, 'missing_signature'],
    ['no secret', body, headers, '', 'secret_unusable'],
    ['a parsed body', { event: 'x' } as unknown as string, headers, secret, 'body_already_parsed'],
  ])('refuses %s', async (_, raw, given, key, reason) => {
    const unwrapped = unwrapWebhook(raw, given, key, { now })
    await expect(unwrapped).rejects.toMatchObject({
      name: 'WebhookVerificationError',
      code: 'webhook_not_verified',
      reason,
    })
  })

  it('refuses an old delivery, and a signed body that is no event', async () => {
    const late = { now: new Date(now.getTime() + 301_000) }
    await expect(unwrapWebhook(body, headers, secret, late)).rejects.toMatchObject({
      reason: 'timestamp_too_old',
    })
    expect(await unwrapWebhook(body, headers, secret, { ...late, tolerance_s: false })).toBeTruthy()
    const text = '[]'
    const signed = sign({ secret, body: text, at: now, ...attempt })
    await expect(unwrapWebhook(text, signed, secret, { now })).rejects.toMatchObject({
      reason: 'malformed_body',
    })
  })

  it('accepts what a library of Standard Webhooks signs', async () => {
    const signature = new Webhook(secret).sign('evt_2', now, body)
    const standard = {
      'webhook-id': 'evt_2',
      'webhook-timestamp': String(now.getTime() / 1000),
      'webhook-signature': signature,
    }
    expect((await unwrapWebhook(body, standard, secret, { now })).event_id).toBe('evt_2')
  })
})

describe('verifyWebhook', () => {
  const { 'webhook-signature': _, ...hex } = headers
  const reprinted = JSON.stringify(JSON.parse(`{"data":1, "event":"x"}`))
  const cases: Parameters<typeof verify>[0][] = [
    { secret, body, headers },
    { secret: [other, secret], body, headers },
    { secret, body, headers: hex },
    { secret, body, signature: headers['X-Svc-Signature-256'] },
    { secret: ` ${secret} `, body, headers: hex },
    { secret: secret.slice(6), body, headers: hex },
    { secret, body: `${body}\n`, headers },
    { secret, body: JSON.stringify(JSON.parse(body), null, 1), headers },
    { secret, body: reprinted, headers },
    { secret, body, headers: { ...headers, 'X-Svc-Event': 'message.sent' } },
    { secret, body, headers: { ...headers, 'webhook-timestamp': 'now' } },
    { secret, body, headers: { ...headers, 'webhook-signature': 'v2,x' } },
    { secret, body, headers: { 'webhook-signature': 'v1,x' } },
    { secret, body, headers: { 'webhook-id': 'x', 'webhook-signature': 'v1,x' } },
    { secret, body, signature: 'AB' },
    { secret: 'whsec_', body, headers },
    { secret: [], body, headers },
    { secret, body: Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), headers },
  ]

  it.each(cases.map((input, n) => [n, input] as const))(
    'gives the result of the service for case %i',
    async (_, input) => {
      expect(await verifyWebhook({ ...input, now })).toEqual(verify({ ...input, now }))
    },
  )
})

describe('a receiver of several webhooks', () => {
  const secrets: Record<string, string> = { '/hooks/a': secret, '/hooks/b': other }
  const post = (path: string, key = secret) =>
    new Request(`https://app.example.com${path}`, {
      method: 'POST',
      headers: sign({ secret: key, body, at: new Date(), ...attempt, event_id: path }),
      body,
    })

  it('chooses the secret by what a delivery claims', async () => {
    const asked: unknown[] = []
    const seen: string[] = []
    const hooks = webhookHandler({
      secret: async ({ url, event_id, delivery_id, headers }) => {
        asked.push([event_id, delivery_id, headers.get('x-svc-event')])
        return secrets[new URL(url).pathname]
      },
      on_event: (_, { event_id }) => void seen.push(event_id),
    })
    const statuses = [post('/hooks/a'), post('/hooks/b', other), post('/hooks/b'), post('/hooks/c')]
    const answers = await Promise.all(statuses.map((request) => hooks.fetch(request)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403, 403])
    expect(await answers[3]?.json()).toMatchObject({ error: 'unknown_webhook' })
    expect(seen.toSorted()).toEqual(['/hooks/a', '/hooks/b'])
    expect(asked[0]).toEqual(['/hooks/a', 'dlv_1', 'message.failed'])
  })

  it('answers 500 when the choice fails, so that the delivery is retried', async () => {
    const lines: string[] = []
    const hooks = webhookHandler({
      secret: () => Promise.reject(new Error('no database')),
      on_event: () => {},
      log: (line) => void lines.push(line),
    })
    expect((await hooks.fetch(post('/hooks/a'))).status).toBe(500)
    expect(lines).toEqual(['webhookHandler: the function for the secret failed.'])
  })
})
