import { api, type Endpoint } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '../../core/test/postgres-database.ts'
import type { Account } from './accounts.ts'
import { openWorld, useWorld, type World } from './world.ts'

const world = useWorld()

const READS = Object.values(api)
  .flatMap((endpoints) => Object.values<Endpoint>(endpoints))
  .filter(({ method, path }) => method === 'GET' && !path.includes(':'))
const REFUSING = READS.filter(({ rate }) => rate !== 'exempt')
const DATED = READS.filter(({ query }) => query && 'startDate' in query.shape)

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
  key = (await world().key(owner)).key
})

function read(at: World, account: Account, apiKey: string, { auth, path }: Endpoint, query = '') {
  const credential =
    auth === 'api_key' ? { key: apiKey } : auth === 'none' ? {} : { token: account.token }
  return at.call('GET', `${path}${query}`, credential)
}

describe('an unknown query parameter', () => {
  it.each(REFUSING)('of GET $path is refused', async (endpoint) => {
    const answer = await read(world(), owner, key, endpoint, '?nonsense_value=1')
    expect(answer.status).toBe(400)
    const message = 'Unknown query parameter: nonsense_value'
    expect(answer.body).toEqual({
      success: false,
      error: 'validation_error',
      message,
      details: [{ path: '', message }],
    })
  })

  it.each([
    ['start_date=2099-01-01', 'Unknown query parameter: start_date. Did you mean startDate?'],
    ['enddate=2099-01-01', 'Unknown query parameter: enddate. Did you mean endDate?'],
    ['Status=failed', 'Unknown query parameter: Status. Did you mean status?'],
    ['limits=5', 'Unknown query parameter: limits. Did you mean limit?'],
  ])('%s gets the name of the nearest one', async (query, message) => {
    const answer = await world().call('GET', `/api/v1/messages?${query}`, { key })
    expect([answer.status, answer.body.message]).toEqual([400, message])
  })

  it('is refused where a parameter has no effect at all', async () => {
    const one = await world().call('GET', '/api/v1/account?page=2', { token: owner.token })
    expect(one.status).toBe(400)
    const sent = await world().call('POST', '/api/v1/messages/send?dry_run=true', { key, json: {} })
    expect(sent.body.message).toBe('Unknown query parameter: dry_run')
  })

  it('lists each unknown name, and shortens long ones', async () => {
    const long = 'n'.repeat(500)
    const { body } = await world().call('GET', `/api/v1/messages?a1=&${long}=&limit=5`, { key })
    expect(body.details.map(({ message }: { message: string }) => message)).toEqual([
      'Unknown query parameter: a1',
      `Unknown query parameter: ${'n'.repeat(64)}`,
    ])
  })
})

describe('a date-time with an offset', () => {
  it.each(DATED)('of GET $path may have an unescaped plus', async (endpoint) => {
    for (const offset of ['+02:00', '+0200', '+02', '%2B02:00']) {
      const query = `?startDate=2026-11-28T00:00:00${offset}&endDate=2026-11-29T00:00:00.5${offset}`
      expect((await read(world(), owner, key, endpoint, query)).status).toBe(200)
    }
    const wrong = await read(world(), owner, key, endpoint, '?startDate=2026-11-28T00:00:00+99:00')
    expect(wrong.status).toBe(400)
  })

  it('selects by its instant', async () => {
    const other = await world().signup({ credits: 10 })
    const { key: apiKey } = await world().key(other)
    // The clock stands at 09:00:00Z.
    await world().send(apiKey)
    const count = async (query: string) =>
      (await world().call('GET', `/api/v1/messages?${query}`, { key: apiKey })).body.data.pagination
        .total
    expect(await count('startDate=2026-05-04T11:00:00+02:00')).toBe(1)
    expect(await count('startDate=2026-05-04T11:00:00.001+02:00')).toBe(0)
    expect(await count('endDate=2026-05-04T10:59:59.999+02:00')).toBe(0)
  })

  it('needs its plus in a body', async () => {
    const json = {
      to: '+14155552671',
      channel: 'sms',
      content: { text: 'Hi' },
      scheduled_at: '2026-05-05T00:00:00 02:00',
    }
    expect((await world().call('POST', '/api/v1/messages/send', { key, json })).status).toBe(400)
  })
})

describe.each(['SQLite', 'PostgreSQL'])('the first and the last dates on %s', (engine) => {
  const BOUNDS = [
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:59:59.999Z',
    '1969-12-31T23:59:59.999Z',
    '9999-12-31',
    '9999-12-31T23:00:00Z',
    '9999-12-31T23:30:00Z',
    '9999-12-31T23:59:59.999Z',
  ]

  it('are bounds of every list', async () => {
    const database = engine === 'SQLite' ? null : await createDatabase()
    const own = await openWorld({
      signup_credits: '10',
      ...(database && { database_url: database.url }),
    })
    try {
      const account = await own.signup()
      const { key: apiKey } = await own.key(account)
      await own.send(apiKey)
      const sid = `AC${account.id.replaceAll('-', '')}`
      const basic = { authorization: `Basic ${Buffer.from(`${sid}:${apiKey}`).toString('base64')}` }
      for (const from of [undefined, ...BOUNDS]) {
        for (const until of [undefined, ...BOUNDS]) {
          const query = [from && `startDate=${from}`, until && `endDate=${until}`]
          const text = `?${query.filter(Boolean).join('&')}`
          for (const endpoint of DATED) {
            const { status, body } = await read(own, account, apiKey, endpoint, text)
            expect([endpoint.path, text, status]).toEqual([endpoint.path, text, 200])
            if (endpoint.path !== '/api/v1/messages') continue
            const isHeld = (from ?? '0') < '2026' && (until ?? '9999') > '2026'
            expect([text, body.data.pagination.total]).toEqual([text, isHeld ? 1 : 0])
          }
        }
        if (from === undefined) continue
        for (const name of ['DateSent', 'DateSent%3C', 'DateSent%3E']) {
          const url = `/compat/twilio/2010-04-01/Accounts/${sid}/Messages.json?${name}=${from}`
          const listed = await own.app.inject({ method: 'GET', url, headers: basic })
          expect([url, listed.statusCode]).toEqual([url, 200])
        }
      }
    } finally {
      await own.close()
      await database?.drop()
    }
  })
})
