import { expect as jestExpect } from 'expect'
import { afterEach, describe, expect, it } from 'vitest'
import { fixture } from '../src/fixture.ts'
import { verify } from '../src/index.ts'
import { createReceiver, type TestReceiver } from '../src/receiver.ts'
import { createSender } from '../src/sender.ts'
import { sign } from '../src/sign.ts'
import { other, secret } from './secrets.ts'
import '../src/vitest.ts'

// Jest sets its global `expect` before setup files are loaded.
Object.assign(globalThis, { expect: jestExpect })
await import('../src/jest.ts')

const open: TestReceiver[] = []
async function receiver() {
  const one = await createReceiver({ secret })
  open.push(one)
  return one
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

/** Verifies deliveries, but answers 200 to failures for which `about` returns true. */
function careless(about: (reason: string) => boolean) {
  return async (request: Request) => {
    const body = Buffer.from(await request.arrayBuffer())
    const result = verify({ secret, headers: request.headers, body })
    return new Response(null, { status: result.ok || about(result.reason) ? 200 : 403 })
  }
}

describe.each([
  ['vitest', expect],
  ['jest', jestExpect as unknown as typeof expect],
])('with %s', (_, expectOf) => {
  describe('toHaveReceivedEvent', () => {
    const event = fixture('message.failed', { error_code: 'busy', metadata: { a: 1, b: [1, 2] } })

    it('passes for a verified event', async () => {
      const one = await receiver()
      await createSender({ secret }).deliver(one.url, event)
      expectOf(one).toHaveReceivedEvent('message.failed')
      expectOf(one).toHaveReceivedEvent('message.failed', { error_code: 'busy' })
      expectOf(one).toHaveReceivedEvent('message.failed', { metadata: { b: [1, 2] } })
      expectOf(one).toHaveReceivedEvent('message.failed', { message_id: expect.any(String) })
      expectOf(one).not.toHaveReceivedEvent('message.sent')
      expectOf(one).not.toHaveReceivedEvent('message.failed', { error_code: 'other' })
      expectOf(one).not.toHaveReceivedEvent('message.failed', { metadata: { b: [1] } })
    })

    it('fails for a forgery', async () => {
      const one = await receiver()
      await createSender({ secret }).forge(one.url, event, 'wrong_secret')
      expectOf(one).not.toHaveReceivedEvent('message.failed')
    })

    it('names the received events in the failure', async () => {
      const one = await receiver()
      await createSender({ secret }).deliver(one.url, event)
      expect(() => expectOf(one).toHaveReceivedEvent('message.read')).toThrow(
        'expected the receiver to have received message.read {}, but received message.failed',
      )
      expect(() =>
        expectOf(one).toHaveReceivedEvent('message.failed', { error_code: 'x' }),
      ).toThrow(/its data: \[.*"error_code":"busy"/)
      expect(() => expectOf(one).not.toHaveReceivedEvent('message.failed')).toThrow(
        'expected the receiver not to have received message.failed',
      )
    })
  })

  describe('toBeSignedBy', () => {
    const delivery = sign(fixture('message.sent'), { secret, at: new Date(0) })

    it('passes for the secret that signed, at any time', () => {
      expectOf(delivery).toBeSignedBy(secret)
      expectOf(delivery).not.toBeSignedBy(other)
    })

    it('gives the reason of a failure', () => {
      const { headers, body } = delivery
      const reprinted = JSON.stringify(JSON.parse(body.toString()), null, 2)
      expect(() => expectOf({ headers, body: reprinted }).toBeSignedBy(secret)).toThrow(
        /signature_mismatch.*printed again/,
      )
      expect(() => expectOf(delivery).not.toBeSignedBy(secret)).toThrow('not to be signed')
    })
  })

  describe('toRejectForgery', () => {
    it('passes for a receiver that verifies', async () => {
      await expectOf(careless(() => false)).toRejectForgery({ secret })
    })

    it('names each forgery that a careless receiver accepts', async () => {
      const target = careless((reason) => reason === 'timestamp_too_old')
      await expectOf(target).not.toRejectForgery({ secret })
      const wrong = expectOf(target).toRejectForgery({ secret })
      await expect(wrong).rejects.toThrow(
        'expected the receiver to refuse with 4xx:\nstale_timestamp (200): A genuine delivery from an hour ago: a replay.',
      )
      await expectOf(target).toRejectForgery({ secret, mutations: ['flipped_byte'] })
    })

    it('fails for a receiver that breaks or refuses everything', async () => {
      const broken = () => new Response(null, { status: 500 })
      const closed = () => new Response(null, { status: 403 })
      await expect(expectOf(broken).toRejectForgery({ secret })).rejects.toThrow('must accept')
      await expect(expectOf(closed).toRejectForgery({ secret })).rejects.toThrow('must accept')
      await expect(expectOf(closed).not.toRejectForgery({ secret })).rejects.toThrow(
        'the receiver must accept a genuine delivery, but answered 403',
      )
    })
  })
})
