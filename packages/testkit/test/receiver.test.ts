import { afterEach, describe, expect, expectTypeOf, it } from 'vitest'
import { fixture } from '../src/fixture.ts'
import { createReceiver, type ReceiverOptions, type TestReceiver } from '../src/receiver.ts'
import { createSender } from '../src/sender.ts'
import { sign } from '../src/sign.ts'
import { other, secret } from './secrets.ts'

const open: TestReceiver[] = []
async function receiver(options: Partial<ReceiverOptions> = {}) {
  const one = await createReceiver({ secret, ...options })
  open.push(one)
  return one
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})
const event = fixture('message.failed', { error_code: 'busy' })
const post = (url: string, by = secret) => fetch(sign(event, { secret: by }).toRequest(url))

describe('createReceiver', () => {
  it('stores requests, and answers 200 to a valid signature', async () => {
    const one = await receiver()
    expect((await post(one.url)).status).toBe(200)
    expect(one.requests).toMatchObject([
      {
        verification: { ok: true },
        event: 'message.failed',
        data: { error_code: 'busy' },
        method: 'POST',
        path: '/',
        status: 200,
      },
    ])
    expect(one.requests[0]?.body).toEqual(sign(event, { secret }).body)
  })

  it('answers 403 to an invalid signature, and counts no delivery', async () => {
    const one = await receiver()
    expect((await post(one.url, other)).status).toBe(403)
    expect(one.requests).toHaveLength(1)
    expect(one.deliveries).toEqual([])
  })

  it('calls the secret function at each request', async () => {
    let known = other
    const one = await receiver({ secret: () => known })
    expect((await post(one.url)).status).toBe(403)
    known = secret
    expect((await post(one.url)).status).toBe(200)
  })

  it('follows its script, then verifies', async () => {
    const one = await receiver({ script: [500, { status: 429, retry_after: 2, body: 'later' }] })
    one.answer({ status: 202, headers: { 'x-note': 'hi' }, after_ms: 20 })
    expect((await post(one.url)).status).toBe(500)
    const second = await post(one.url)
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '2'])
    expect(await second.text()).toBe('later')
    const third = await post(one.url)
    expect([third.status, third.headers.get('x-note')]).toEqual([202, 'hi'])
    expect((await post(one.url)).status).toBe(200)
  })

  it('groups the attempts of one event, and lists repetitions after a 2xx as duplicates', async () => {
    const one = await receiver({ script: [500, 200] })
    await createSender({ secret }).deliver(one.url, event)
    await createSender({ secret }).deliver(one.url, fixture('message.sent'))
    expect(one.deliveries.map(({ attempts }) => attempts.map(({ status }) => status))).toEqual([
      [500, 200],
      [200],
    ])
    expect(one.duplicates).toEqual([])
    await post(one.url)
    expect(one.duplicates).toMatchObject([{ event_id: event.event_id, event: 'message.failed' }])
  })

  it('separates deliveries without webhook-id', async () => {
    const one = await receiver()
    const { headers, body } = sign(event, { secret })
    const hex = { 'X-Svc-Signature': headers['X-Svc-Signature'] as string }
    await fetch(one.url, { method: 'POST', headers: hex, body: new Uint8Array(body) })
    expect(one.deliveries).toMatchObject([{ event_id: hex['X-Svc-Signature'] }])
  })

  it('keeps the newest requests, and no body of more than 1 MB', async () => {
    const one = await receiver({ keep_max: 2, script: [201, 202, 203] })
    for (let i = 0; i < 3; i++) await post(one.url)
    expect(one.requests.map(({ status }) => status)).toEqual([202, 203])
    const forged = await createSender({ secret }).forge(one.url, event, 'oversized')
    expect(forged.status).toBe(413)
    expect(one.requests.at(-1)?.body).toHaveLength(0)
    one.clear()
    expect(one.requests).toEqual([])
  })
})

describe('waitFor', () => {
  it('resolves with past and future requests', async () => {
    const one = await receiver()
    const coming = one.waitFor('message.failed')
    await post(one.url)
    expect((await coming).data.error_code).toBe('busy')
    expect(await one.waitFor('message.failed', { timeout_ms: 1 })).toBe(await coming)
    expect(await one.waitFor(({ data }) => data?.error_code === 'busy')).toBe(await coming)
    expectTypeOf((await coming).data.sequence).toEqualTypeOf<number>()
  })

  it('names the received events, and why they were refused, in the error', async () => {
    const one = await receiver()
    await expect(one.waitFor('message.read', { timeout_ms: 10 })).rejects.toThrow(
      'No message.read arrived within 10 ms; no request arrived',
    )
    await post(one.url, other)
    await expect(one.waitFor('message.failed', { timeout_ms: 10 })).rejects.toThrow(
      /No message.failed arrived within 10 ms; received message.failed \(refused: signature_mismatch\. Check the secret/,
    )
  })
})

describe('close', () => {
  it.each(['timeout', 'drip', 'huge'] as const)('cuts a %s in progress', async (step) => {
    const one = await receiver({ script: [step] })
    const response = post(one.url).then((answer) => (step === 'huge' ? null : answer.text()))
    response.catch(() => {})
    await one.waitFor('message.failed')
    await one.close()
    if (step !== 'huge') await expect(response).rejects.toThrow()
  })

  it('works with `await using`, and may be called twice', async () => {
    const one = await receiver()
    await one[Symbol.asyncDispose]()
    await one.close()
    await expect(post(one.url)).rejects.toThrow()
  })
})
