import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { httpJob, jsonSettings, openHttp, querySettings } from './gateway.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function sent(
  changes: object,
  job = httpJob(),
  base: (url: string) => object = jsonSettings,
) {
  const { provider, peer, close } = await openHttp((url) => {
    const settings = { ...base(url), ...changes }
    return JSON.parse(JSON.stringify(settings).replaceAll('http://gateway', url))
  })
  closing.push(close)
  await provider.send([job])
  const [request] = peer.requests
  if (!request) throw new Error('there was no request')
  return request
}

const URL_ = 'http://gateway/messages'

describe('a body', () => {
  it('has each value as JSON', async () => {
    const body = {
      id: '{{message_id}}',
      dest: [{ number: '{{to_digits}}', tries: '{{attempt}}' }],
      whole: '{{content}}',
      mixed: 'To {{to}}: {{text}}!',
      none: '{{subject}}',
      nones: ['{{subject}}'],
      fixed: [true, null, 1.5],
      encoding: '{{encoding}} {{coding}}',
      first: '{{content.text}}',
      absent: '{{content.media.url}}',
    }
    const { text } = httpJob().content as { text: string }
    const request = await sent({ send: { url: URL_, body } })
    expect(request).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    expect(JSON.parse(request.body)).toEqual({
      id: '22222222-2222-4222-8222-222222222222',
      dest: [{ number: '15551234567', tries: 1 }],
      whole: { text },
      mixed: `To +15551234567: ${text}!`,
      nones: [null],
      fixed: [true, null, 1.5],
      encoding: 'GSM-7 0',
      first: text,
    })
  })

  it('keeps every value inside its JSON string', async () => {
    const { provider, peer, close } = await openHttp((url) => ({
      ...jsonSettings(url),
      send: { url: `${url}/m`, body: { to: '{{to}}', quoted: '"{{text}}"', text: '{{text}}' } },
    }))
    closing.push(close)
    const nasty = fc.constantFrom('{{to}}', '{{', '$&', '$1', '"', '\\', '","to":"x', '\n', '€😀')
    const texts = fc.array(fc.oneof(nasty, fc.string({ unit: 'grapheme' })), { minLength: 1 })
    await fc.assert(
      fc.asyncProperty(texts, async (parts) => {
        const text = parts.join('').toWellFormed() || 'x'
        await provider.send([httpJob({ content: { text } })])
        const to = httpJob().recipient
        expect(JSON.parse(peer.requests.at(-1)?.body ?? '')).toEqual({
          to,
          quoted: `"${text}"`,
          text,
        })
      }),
      { numRuns: 200 },
    )
  })

  it('may be a form', async () => {
    const form = { to: '{{to}}', text: '{{text}}', subject: '{{subject}}', n: '{{attempt}}' }
    const request = await sent({ send: { url: URL_, form } })
    expect(request.headers).toMatchObject({ 'content-type': 'application/x-www-form-urlencoded' })
    expect(Object.fromEntries(new URLSearchParams(request.body))).toEqual({
      to: '+15551234567',
      text: 'Grüße & "mehr" {{to}} $&',
      n: '1',
    })
  })
})

it('a query has UTF-8 and the coding of the text', async () => {
  const query = { to: '{{to_digits}}', text: '{{text}}', coding: '{{coding}}' }
  const send = { method: 'GET', url: `${URL_}?fixed=1`, query }
  const job = httpJob({ content: { text: 'Привет & пока' } })
  const request = await sent({ send }, job, querySettings)
  const { searchParams, pathname } = new URL(request.path, 'http://peer')
  expect(request.method).toBe('GET')
  expect(request.body).toBe('')
  expect(pathname).toBe('/messages')
  expect(Object.fromEntries(searchParams)).toEqual({
    fixed: '1',
    to: '15551234567',
    text: 'Привет & пока',
    coding: '2',
    username: 'svc',
    password: 'canary-api-token',
  })
})

it.each([
  ['../a?b=c#d', '/to/..%2Fa%3Fb%3Dc%23d/send'],
  ['..', '/to//send'],
  ['.', '/to//send'],
  ['a.b', '/to/a.b/send'],
])('a value in the path cannot change the path: %s', async (sender, path) => {
  const send = { url: 'http://gateway/to/{{from}}/send', body: { text: '{{text}}' } }
  expect((await sent({ send }, httpJob({ sender }))).path).toBe(path)
})

it('half a surrogate pair in the URL makes neither this message nor its batch fail', async () => {
  const send = { url: 'http://gateway/to/{{text}}' }
  const job = httpJob({ content: { text: 'a\ud800' } })
  expect((await sent({ send }, job)).path).toBe('/to/a%EF%BF%BD')
})

describe('credentials', () => {
  const send = { url: `${URL_}?a=1`, headers: { 'X-Id': 'id {{message_id}}' }, body: ['{{text}}'] }

  it.each<[string, object, Record<string, string>]>([
    ['bearer', { token: 'tok' }, { authorization: 'Bearer tok' }],
    ['basic', { user: 'u', password: 'p:q' }, { authorization: 'Basic dTpwOnE=' }],
    ['header', { name: 'X-Key', value: 'k' }, { 'x-key': 'k' }],
  ])('%s', async (type, settings, headers) => {
    const request = await sent({ send, auth: { type, ...settings } })
    const { message_id } = httpJob()
    expect(request.headers).toMatchObject({
      ...headers,
      'x-id': `id ${message_id}`,
      'idempotency-key': message_id,
    })
  })

  const auth = { type: 'hmac', header: 'X-Sig', secret: 's', encoding: 'base64', prefix: 'v1=' }
  const hash = (text: string) => `v1=${createHmac('sha256', 's').update(text).digest('base64')}`

  it('hmac of the body', async () => {
    const request = await sent({ send, auth })
    expect(request.headers['x-sig']).toBe(hash(request.body))
  })

  it('hmac of the path without a body', async () => {
    const request = await sent({
      send: { method: 'GET', url: URL_, query: { t: '{{text}}' } },
      auth,
    })
    expect(request.headers['x-sig']).toBe(hash(request.path))
  })

  it('have no idempotency key unless the settings say so', async () => {
    const request = await sent({ send, idempotent: false })
    expect(request.headers).not.toHaveProperty('idempotency-key')
  })
})
