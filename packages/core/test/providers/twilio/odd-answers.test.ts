import { DEADLINES_MS } from '@svc/testkit/provider'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Provider } from '../../../src/contract/outside/provider.ts'
import { createTwilio } from '../../../src/providers/twilio/twilio.ts'
import { deadlineMsFor, type HttpPeer, NO_ANSWER, ODD_ANSWERS, openHttpPeer } from '../http-peer.ts'
import { CALLBACK_URL, jobOf, questionOf } from './bench.ts'

let peer: HttpPeer
let provider: Provider
beforeEach(async () => {
  peer = await openHttpPeer()
})
afterEach(async () => {
  await provider.close?.()
  await peer.close()
})

function openProvider(deadline_ms: number): void {
  const settings = {
    name: 'twilio',
    type: 'twilio' as const,
    account_sid: `AC${'0'.repeat(32)}`,
    auth_token: '0'.repeat(32),
    senders: { sms: ['+15550100001'] },
    api_url: peer.url,
  }
  const context = { public_url: 'https://svc.example', callback_url: CALLBACK_URL, secret: 'x' }
  provider = createTwilio(settings, context, {
    deadline_ms,
    body_max: 64 * 1024,
    connections: 2,
  })
}

it.each(Object.entries(NO_ANSWER))('%s: the message is in doubt', async (name, play) => {
  openProvider(deadlineMsFor(name))
  peer.next(play)
  expect(await provider.send([jobOf()])).toMatchObject([{ type: 'ambiguous' }])
  expect(peer.requests).toHaveLength(1)
})

it.each(Object.entries(ODD_ANSWERS))(
  '%s: the message does not count as accepted',
  async (name, play) => {
    openProvider(deadlineMsFor(name))
    peer.next(play)
    const expected =
      name === 'redirect' ? { type: 'retry', misconfigured: 'provider' } : { type: 'ambiguous' }
    expect(await provider.send([jobOf()])).toMatchObject([expected])
    expect(peer.requests).toHaveLength(1)
  },
)

it.each(Object.entries({ ...NO_ANSWER, ...ODD_ANSWERS }))(
  '%s: a look-up is unavailable',
  async (name, play) => {
    openProvider(deadlineMsFor(name))
    peer.otherwise(play)
    const hour_ms = 3_600_000
    const now_ms = Date.now() + hour_ms
    const jobs = [null, `SM${'1'.repeat(32)}`].map((provider_message_id) =>
      questionOf(jobOf(), { provider_message_id, now_ms }),
    )
    expect(await provider.lookup?.(jobs)).toEqual([
      { type: 'unavailable' },
      { type: 'unavailable' },
    ])
  },
)

it('a message that gets no connection in time is a retry', async () => {
  openProvider(DEADLINES_MS.brief)
  peer.otherwise(NO_ANSWER.hang)
  const jobs = Array.from({ length: 6 }, () => jobOf())
  const outcomes = await provider.send(jobs)
  const types = outcomes.map(({ type }) => type)
  expect(types).toContain('retry')
  for (const [at, job] of jobs.entries()) {
    const was_read = peer.requests.some(({ body }) => body.includes(job.message_id))
    if (was_read) expect(types[at]).toBe('ambiguous')
    if (types[at] === 'retry') expect(was_read).toBe(false)
  }
})
