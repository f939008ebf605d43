import { createHmac } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createDelivery,
  createReceiver,
  EVENT_KINDS,
  type TestReceiver,
  verify,
} from '../src/index.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const open: TestReceiver[] = []

async function receiver(statuses?: number[]): Promise<TestReceiver> {
  const one = await createReceiver({ secret, ...(statuses && { statuses }) })
  open.push(one)
  return one
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

describe('createDelivery', () => {
  it.each(EVENT_KINDS)('signs %s so that verify accepts it', (kind) => {
    const { body, headers } = createDelivery(kind, { secret })
    expect(verify({ secret, body, headers })).toMatchObject({ ok: true, event: kind })
  })

  it('signs with the bare hex digest that the specification names', () => {
    const { body, headers } = createDelivery('message.delivered', { secret })
    const digest = createHmac('sha256', secret).update(body).digest('hex')
    expect(headers['X-Svc-Signature']).toBe(digest)
  })

  it('takes fields of the data over the example', () => {
    const { body } = createDelivery('message.failed', { secret, data: { error_code: 'busy' } })
    expect(JSON.parse(body)).toMatchObject({
      event: 'message.failed',
      data: { error_code: 'busy' },
    })
  })
})

describe('createReceiver', () => {
  it('keeps what comes and tells what verified', async () => {
    const { url, waitFor } = await receiver()
    const { body, headers } = createDelivery('message.sent', { secret })
    const answer = await fetch(url, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    const delivery = await waitFor(({ event }) => event === 'message.sent')
    expect(delivery.verification.ok).toBe(true)
  })

  it('refuses what another secret signed', async () => {
    const { url, received } = await receiver()
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    const answer = await fetch(url, {
      method: 'POST',
      ...createDelivery('message.sent', { secret: other }),
    })
    expect(answer.status).toBe(403)
    expect(received[0]?.verification).toMatchObject({ ok: false, reason: 'signature_mismatch' })
  })

  it('answers by its script first', async () => {
    const { url } = await receiver([500, 503])
    const post = () => fetch(url, { method: 'POST', ...createDelivery('message.sent', { secret }) })
    expect([(await post()).status, (await post()).status, (await post()).status]).toEqual([
      500, 503, 200,
    ])
  })

  it('says so when nothing comes', async () => {
    const { waitFor } = await receiver()
    await expect(waitFor(() => true, { timeout_ms: 20 })).rejects.toThrow('no such delivery')
  })
})
