import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld()

const REUSED = 'This Idempotency-Key was used with another request body'
const MALFORMED = 'Idempotency-Key must be 1 to 255 printable ASCII characters'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 100 })
  key = (await world().key(owner)).key
})

const send = (idempotencyKey: string, body: object = {}, with_key = key) =>
  world().send(with_key, body, { 'idempotency-key': idempotencyKey })

describe('201', () => {
  it('sends once, and returns the same answer again', async () => {
    const before = await world().written(owner)
    const first = await send('once')
    await world().advance(60_000)
    const second = await send('once')
    expect([first.status, second.status]).toStrictEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(second.headers['idempotent-replayed']).toBe('true')
    const { messages, entries } = await world().written(owner)
    expect([messages, entries]).toStrictEqual([before.messages + 1, before.entries + 1])
  })

  it('sends a code once, and sends it again once', async () => {
    const call = (path: string, idempotencyKey: string, body: object) =>
      world().call('POST', `/api/v1/verifications${path}`, {
        ...{ key, raw: JSON.stringify(body), headers: { 'idempotency-key': idempotencyKey } },
      })
    const asked = { to: '+15005550006', channel: 'sms' }
    const start = () => call('', 'code', asked)
    const [first, second] = [await start(), await start()]
    expect(second.text).toBe(first.text)
    const { verification_id } = first.body.data
    await world().advance(60_000)
    const resend = () => call(`/${verification_id}/resend`, 'again', {})
    const [third, fourth] = [await resend(), await resend()]
    expect([third.status, fourth.status]).toStrictEqual([201, 201])
    expect(fourth.text).toBe(third.text)
    expect(third.body.data.message_id).not.toBe(first.body.data.message_id)
    const replayed = [first, second, third, fourth].map((one) => one.headers['idempotent-replayed'])
    expect(replayed).toStrictEqual([undefined, 'true', undefined, 'true'])
  })

  it('recognizes a body with its fields in another order', async () => {
    const { to, channel, content } = sms
    const first = await send('order', { metadata: { a: 1, b: 2 } })
    const second = await world().call('POST', '/api/v1/messages/send', {
      key,
      raw: JSON.stringify({ metadata: { b: 2, a: 1 }, content, channel, to }),
      headers: { 'idempotency-key': 'order' },
    })
    expect(second.body.data.message_id).toBe(first.body.data.message_id)
  })

  it('belongs to the workspace: another key repeats, another workspace sends', async () => {
    const first = await send('shared')
    const sibling = await world().key(owner)
    expect((await send('shared', {}, sibling.key)).text).toBe(first.text)
    const stranger = await world().key(await world().signup({ credits: 1 }))
    const other = await send('shared', {}, stranger.key)
    expect(other.status).toBe(201)
    expect(other.body.data.message_id).not.toBe(first.body.data.message_id)
  })

  it('returns the stored answer although the credits are spent', async () => {
    const poor = await world().signup({ credits: 1 })
    const { key: own } = await world().key(poor)
    const first = await send('last', {}, own)
    const second = await send('last', {}, own)
    expect([first.status, second.status]).toStrictEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect((await send('next', {}, own)).status).toBe(402)
  })

  it('returns the stored answer although the recipient is suppressed now', async () => {
    const to = '+14155550199'
    const first = await send('before the opt-out', { to })
    await world().suppression(owner, { address: to })
    const second = await send('before the opt-out', { to })
    expect([first.status, second.status]).toStrictEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect((await send('after the opt-out', { to })).body).toStrictEqual(
      refusal('validation_error', 'The recipient is suppressed on this channel', 'to'),
    )
  })

  it.each(['a', 'x'.repeat(255), '~!@#$%^&*(){}[]|:;"<>,.?/', 'two words'])(
    'accepts the key %s',
    async (text) => {
      expect((await send(text)).status).toBe(201)
      expect((await send(text)).headers['idempotent-replayed']).toBe('true')
    },
  )
})

describe('400', () => {
  it('refuses the key with another body', async () => {
    await send('mine')
    const before = await world().written(owner)
    const { status, body, headers } = await send('mine', { content: { text: 'Other' } })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', REUSED, 'Idempotency-Key'))
    expect(headers['idempotent-replayed']).toBeUndefined()
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it.each(['', 'x'.repeat(256), 'schlüssel', '\u0001'])('refuses the key %j', async (text) => {
    const { status, body } = await send(text)
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', MALFORMED, 'Idempotency-Key'))
  })
})

it('a refused request stores no answer: the key is free for the corrected one', async () => {
  const poor = await world().signup()
  const { key: own } = await world().key(poor)
  expect((await send('again', { to: 'unknown' }, own)).status).toBe(400)
  expect((await send('again', {}, own)).status).toBe(402)
  await world().grant(poor, 1)
  const { status, headers } = await send('again', {}, own)
  expect(status).toBe(201)
  expect(headers['idempotent-replayed']).toBeUndefined()
})

describe('429', () => {
  afterEach(() => void vi.useRealTimers())

  it('answers a request that waits nearly 10 s for another one, and the next gets the answer', async () => {
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let waiting = 0
    const slow = await openWorld({
      alter: (core) => ({
        ...core,
        messages: {
          ...core.messages,
          async send(...args) {
            waiting += 1
            await held
            return core.messages.send(...args)
          },
        },
      }),
    })
    const { key: own } = await slow.key(await slow.signup({ credits: 1 }))
    const repeat = () => slow.send(own, {}, { 'idempotency-key': 'slow' })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const ended = vi.fn()
    const both = [repeat(), repeat()]
    for (const one of both) void one.then(ended)
    while (waiting < 2) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(9_499)
    expect(ended).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    vi.useRealTimers()
    const answers = await Promise.all(both)
    for (const { status, headers, body } of answers) {
      expect([status, headers['retry-after']]).toStrictEqual([429, '5'])
      expect(body).toStrictEqual(
        refusal('rate_limit_exceeded', 'Too many requests. Please try again later.'),
      )
    }
    letGo()
    // It was accepted nevertheless, once, and its answer was stored.
    const { status, headers } = await repeat()
    expect([status, headers['idempotent-replayed']]).toStrictEqual([201, 'true'])
    await slow.close()
  })
})
