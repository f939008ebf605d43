import { describe, expect, it } from 'vitest'
import { useWorld } from './world.ts'

const rates = { anonymous: { max: 2, window_s: 60 } }

const PROXY = '10.1.2.3'
const OTHER_PROXY = 'fd00::7'

describe('behind the proxies of the configuration', () => {
  const world = useWorld({ rates, trust_proxy: ['10.0.0.0/8', 'fd00::/8'] })
  const knock = async (from: string, forwarded?: string) => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    return (await world().call('GET', '/nothing', { from, headers })).status
  }
  /** Uses two requests of a client's limit, so that the third is refused. */
  const areOne = async (first: [string, string?], second: [string, string?]) => {
    await world().advance(60_000)
    await knock(...first)
    await knock(...first)
    return (await knock(...second)) === 429
  }

  it('the client is the address that the nearest trusted proxy saw', async () => {
    expect(await areOne([PROXY, '192.0.2.1'], [PROXY, '192.0.2.1'])).toBe(true)
    expect(await areOne([PROXY, '192.0.2.1'], [PROXY, '192.0.2.2'])).toBe(false)
    expect(await areOne([PROXY, '192.0.2.1'], [OTHER_PROXY, '192.0.2.1'])).toBe(true)
    expect(await areOne([PROXY, '192.0.2.1, 10.9.9.9'], [PROXY, '192.0.2.1'])).toBe(true)
  })

  it('addresses that the client added itself are ignored', async () => {
    expect(await areOne([PROXY, '1.1.1.1, 192.0.2.1'], [PROXY, '2.2.2.2, 192.0.2.1'])).toBe(true)
    expect(await areOne([PROXY, '10.0.0.1, 192.0.2.1'], [PROXY, '192.0.2.1'])).toBe(true)
  })

  it('a port behind the address does not separate clients, and neither does an invalid address', async () => {
    expect(await areOne([PROXY, '192.0.2.1:1000'], [PROXY, '192.0.2.1:1001'])).toBe(true)
    expect(await areOne([PROXY, '192.0.2.1:1000'], [PROXY, '192.0.2.2:1000'])).toBe(false)
    expect(await areOne([PROXY, '[2001:db8::1]:1000'], [PROXY, '2001:db8::1'])).toBe(true)
    expect(await areOne([PROXY, 'unknown'], [PROXY, 'x'.repeat(4_000)])).toBe(true)
  })

  it('the header of a client that is not a proxy is ignored', async () => {
    expect(await areOne(['192.0.2.1', '1.1.1.1'], ['192.0.2.1', '2.2.2.2'])).toBe(true)
  })

  it('an IPv6 client is its /64', async () => {
    expect(await areOne([PROXY, '2001:db8::1'], [PROXY, '2001:db8::2'])).toBe(true)
    expect(await areOne([PROXY, '2001:db8::1'], [PROXY, '2001:db8:0:1::1'])).toBe(false)
  })

  it.each([
    'unknown',
    '',
    ',',
    '::gg',
    '192.0.2.1:8080',
    '[2001:db8::1]:443',
    'fe80::1%eth0',
    '999.1.1.1',
    '_hidden',
    '1'.repeat(2000),
    '"; drop table',
    ':'.repeat(500),
  ])('a forwarded %j causes no fault', async (forwarded) => {
    await world().advance(60_000)
    expect(await knock(PROXY, forwarded)).toBe(404)
    const { key } = await world().key(await world().signup(), { allowed_ips: ['192.0.2.1'] })
    const headers = { 'x-forwarded-for': forwarded }
    const answer = await world().call('GET', '/api/v1/messages', { key, from: PROXY, headers })
    expect(answer.status).toBe(403)
  })
})

describe('without proxies', () => {
  const world = useWorld({ rates })
  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip'])(
    'ignores %s',
    async (name) => {
      await world().advance(60_000)
      const knock = (address: string) =>
        world().call('GET', '/nothing', { from: '127.0.0.1', headers: { [name]: address } })
      await knock('192.0.2.1')
      await knock('192.0.2.2')
      expect((await knock('192.0.2.3')).status).toBe(429)
    },
  )
})
