import { SvcError } from '@svc/core/contract'
import { decodedOf } from '@svc/core/operate'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import {
  clientKey,
  clientOf,
  createRateLimiter,
  plainAddress,
  type RateLimiter,
  rateExceeded,
} from '../src/admission/rate-limiter.ts'
import { ratesOf, useWorld } from './world.ts'

const world = useWorld()

const MINUTE = { window_s: 60 }
const RATES = ratesOf({
  general: { max: 2, ...MINUTE },
  workspace: { max: 5, ...MINUTE },
  anonymous: { max: 2, ...MINUTE },
  auth: { max: 1, ...MINUTE },
  bulk: { max: 3, ...MINUTE },
})

type Count = Parameters<typeof createRateLimiter>[2]['count']
type Work = (request: FastifyRequest, reply: FastifyReply) => unknown

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  await world().advance(60_000)
  for (const one of opened.splice(0)) await one.close()
})

/** A limiter on the counters of the world, or on `count`, and a request that works with it. */
async function open(count?: Count) {
  const app = Fastify()
  opened.push(app)
  const core = { count: count ?? decodedOf(world().core).count }
  const limiter = await createRateLimiter(app, RATES, core)
  let work: Work = () => {}
  app.get('/', async (request, reply) => {
    await work(request, reply)
    return 'done'
  })
  app.setErrorHandler((error, _, reply) =>
    reply.code(error instanceof SvcError ? error.status : 500).send(`${error}`),
  )
  /** The status of the answer, and its headers about limits. */
  const ask = async (next: Work) => {
    work = next
    const { statusCode, headers } = await app.inject({ url: '/' })
    const named = ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`])
    return [statusCode, ...named.map((value) => (value === undefined ? null : Number(value)))]
  }
  return { limiter, ask }
}

const counting =
  (limiter: RateLimiter, ...[bucket, who]: Parameters<RateLimiter['charge']>): Work =>
  (request, reply) =>
    limiter.count(request, reply, bucket, who)

describe('the address in the text of a proxy', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:8080', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['192.0.2.1:', null],
    ['192.0.2.1:80x', null],
    ['x192.0.2.1:80', null],
    ['[2001:db8::1]x', null],
    ['[2001:db8::1]:44x', null],
    ['[2001:db8::1]:', null],
    ['x[2001:db8::1]', null],
    ['[]', null],
    ['unknown', null],
    ['', null],
  ])('%j is %j', (text, address) => {
    expect(plainAddress(text)).toBe(address)
  })
})

describe('a client', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', null],
    ['192.0.2.1:80', '192.0.2.1', null],
    ['2001:db8:1:2:3::4', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['[2001:db8:1:2:3::4]:443', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['unknown', 'no address', null],
    ['', 'no address', null],
    [undefined, 'gone', null],
  ])('with the address %j counts as %j in %j', (ip, address, network) => {
    expect(clientKey({ ip })).toBe(address)
    expect(clientOf({ ip })).toEqual({ address, network })
    expect(clientOf({ ip }, '/login')).toEqual({
      address: `/login ${address}`,
      network: network && `/login ${network}`,
    })
  })
})

describe.each([
  ['in this process', false],
  ['of a shared database', true],
])('with counters %s', (_, isShared) => {
  const openOne = () =>
    open(isShared ? async (all) => decodedOf(world().core).count(all) : undefined)

  it('counts each owner and each bucket separately, until the window ends', async () => {
    const { limiter, ask } = await openOne()
    for (const bucket of ['general', 'anonymous'] as const) {
      const one = counting(limiter, bucket, 'one')
      expect(await ask(one)).toEqual([200, 2, 1, 60])
      expect(await ask(counting(limiter, bucket, 'other'))).toEqual([200, 2, 1, 60])
      await world().advance(500)
      expect(await ask(one)).toEqual([200, 2, 0, 60])
      await world().advance(1_000)
      expect(await ask(one)).toEqual([429, 2, 0, 59])
      await world().advance(58_500)
      expect(await ask(one)).toEqual([200, 2, 1, 60])
    }
  })

  it('counts a client and its network, which has eight times the limit', async () => {
    const { limiter, ask } = await openOne()
    const from = (ip: string) => ask(counting(limiter, 'anonymous', clientOf({ ip })))
    expect(await from('2001:db8:1:1::1')).toEqual([200, 2, 1, 60])
    expect(await from('2001:db8:1:1::2')).toEqual([200, 2, 0, 60])
    // Refused requests use up nothing of the network.
    for (let i = 0; i < 20; i++) expect(await from('2001:db8:1:1::3')).toEqual([429, 2, 0, 60])
    for (let i = 2; i <= 14; i++) {
      expect(await from(`2001:db8:1:${i}::1`)).toEqual([200, 2, 1, 60])
    }
    expect(await from('2001:db8:1:15::1')).toEqual([200, 16, 0, 60])
    expect(await from('2001:db8:1:16::1')).toEqual([429, 16, 0, 60])
    expect(await from('2001:db8:2::1')).toEqual([200, 2, 1, 60])
    // IPv4 has no network.
    for (let i = 1; i <= 20; i++) expect(await from(`192.0.2.${i}`)).toEqual([200, 2, 1, 60])
  })

  it('shows the bucket with the least remaining, and one that is exceeded in any case', async () => {
    const { limiter, ask } = await openOne()
    const both = (who: string): Work => {
      return async (request, reply) => {
        await limiter.count(request, reply, 'general', who)
        await limiter.count(request, reply, 'bulk', 'all')
      }
    }
    expect(await ask(both('one'))).toEqual([200, 2, 1, 60])
    expect(await ask(both('other'))).toEqual([200, 2, 1, 60])
    expect(await ask(both('third'))).toEqual([200, 3, 0, 60])
    await ask(counting(limiter, 'general', 'fourth'))
    expect(await ask(both('fourth'))).toEqual([429, 3, 0, 60])
  })

  it('asserts and shows without counting, and notes and tallies without a refusal', async () => {
    const { limiter, ask } = await openOne()
    const assertLeft: Work = (...args) => limiter.assertLeft(...args, 'auth', 'one')
    const show: Work = (...args) => limiter.show(...args, 'auth', 'one')
    for (let i = 0; i < 3; i++) {
      expect(await ask(assertLeft)).toEqual([200, 1, 1, 60])
      expect(await ask(show)).toEqual([200, 1, 1, 60])
    }
    const states: unknown[] = []
    const note: Work = async (...args) => {
      states.push(await limiter.note(...args, 'auth', 'one'))
    }
    expect(await ask(note)).toEqual([200, 1, 0, 60])
    expect(await ask(note)).toEqual([200, 1, 0, 60])
    states.push(await limiter.tally('auth', 'one'))
    const state = { max: 1, remaining: 0, reset_s: 60 }
    expect(states).toEqual([false, true, true].map((exceeded) => ({ ...state, exceeded })))
    expect(await ask(show)).toEqual([200, 1, 0, 60])
    expect(await ask(assertLeft)).toEqual([429, 1, 0, 60])
  })

  it('charges work that is no request', async () => {
    const { limiter } = await openOne()
    const charge = async () => limiter.charge('general', 'mail')
    await charge()
    await charge()
    await expect(charge()).rejects.toMatchObject({ code: 'rate_limit_exceeded', status: 429 })
  })

  it('leaves a shared bucket to others while callers exceed their own', async () => {
    const { limiter, ask } = await openOne()
    const by =
      (who: string): Work =>
      (...args) =>
        limiter.countShared(...args, ['general', who], ['workspace', 'all'])
    expect(await ask(by('one'))).toEqual([200, 2, 1, 60])
    expect(await ask(by('one'))).toEqual([200, 2, 0, 60])
    // The first refusal counts in both; it is how the caller becomes known.
    for (let i = 0; i < 10; i++) expect(await ask(by('one'))).toEqual([429, 2, 0, 60])
    expect(await ask(by('other'))).toEqual([200, 2, 1, 60])
    expect(await ask(by('third'))).toEqual([200, 5, 0, 60])
    expect(await ask(by('fourth'))).toEqual([429, 5, 0, 60])
    await world().advance(60_000)
    // A known caller counts in both again, in its own first.
    expect(await ask(by('one'))).toEqual([200, 2, 1, 60])
    await ask(by('other'))
    await ask(by('other'))
    expect(await ask(by('third'))).toEqual([200, 2, 1, 60])
    expect(await ask(by('fourth'))).toEqual([200, 5, 0, 60])
  })

  it('remembers several callers that exceed their own bucket', async () => {
    const { limiter, ask } = await openOne()
    const by = (who: string) =>
      ask((...args) => limiter.countShared(...args, ['auth', who], ['workspace', 'all']))
    for (const who of ['one', 'other']) expect((await by(who))[0]).toBe(200)
    for (let i = 0; i < 10; i++) {
      for (const who of ['one', 'other']) expect(await by(who)).toEqual([429, 1, 0, 60])
    }
    // Two admitted and two refused requests count.
    expect(await by('third')).toEqual([200, 1, 0, 60])
    expect(await by('fourth')).toEqual([429, 5, 0, 60])
  })
})

describe('counters that fail', () => {
  const failing = () => open(() => Promise.reject(new Error('the disk is full')))

  it('refuse each request, and show that nothing remains', async () => {
    const { limiter, ask } = await failing()
    for (const bucket of ['general', 'anonymous'] as const) {
      expect(await ask(counting(limiter, bucket, 'one'))).toEqual([500, 2, 0, 1])
    }
    const shared: Work = (...args) =>
      limiter.countShared(...args, ['general', 'one'], ['workspace', 'all'])
    expect(await ask(shared)).toEqual([500, 2, 0, 1])
    await expect(limiter.charge('general', 'mail')).rejects.toThrow('the disk is full')
  })

  it.each([
    ['fail', failing],
    ['hang', () => open(() => new Promise(() => {}))],
  ])('refuse nothing that is only shown or noted when they %s', async (_, openOne) => {
    const { limiter, ask } = await openOne()
    const answer = ask((...args) => limiter.show(...args, 'auth', 'one'))
    const unknown = { max: 1, remaining: 0, reset_s: 1, exceeded: false }
    expect(await limiter.tally('auth', 'one')).toEqual(unknown)
    expect(await answer).toEqual([200, 1, 0, 1])
  })
})

it('names a whole second at least until the next attempt', () => {
  const state = { max: 1, remaining: 0, exceeded: true }
  for (const [reset_s, seconds] of [
    [0, 1],
    [1, 1],
    [7, 7],
  ] as const) {
    expect(rateExceeded({ ...state, reset_s })).toMatchObject({
      code: 'rate_limit_exceeded',
      message: `Rate limit exceeded. Try again in ${seconds} seconds.`,
      retry_after_s: seconds,
    })
  }
})
