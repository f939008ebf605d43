import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Account, sms } from '../accounts.ts'
import type { Answer } from '../every-answer.ts'
import { refusal } from '../refusal.ts'
import { openTwoApps, type TwoApps } from './two-apps.ts'

let apps: TwoApps
let owner: Account
beforeAll(async () => {
  apps = await openTwoApps({}, { api_keys: 12, test_messages_per_day: 30 })
})
beforeEach(async () => {
  owner = await apps.signup({ credits: 1_000 })
})
afterAll(() => apps?.close())

const remaining = ({ headers }: Answer) => Number(headers['x-ratelimit-remaining'])
const descending = (answers: Answer[]) => answers.map(remaining).sort((x, y) => y - x)
const countdown = (from: number) => Array.from({ length: from }, (_, i) => from - 1 - i)
const split = (answers: Answer[], status: number) => ({
  admitted: answers.filter((answer) => answer.status === status),
  refused: answers.filter((answer) => answer.status === 429),
})

/** Sends this number of concurrent requests to the two servers in turn. */
function together(times: number, request: (i: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: times }, (_, i) => request(i)))
}

describe('two servers count as one', () => {
  it('and admit exactly 100 concurrent sends of a key', async () => {
    const { key } = await apps.key(owner)
    const answers = await together(260, (i) =>
      apps.at(i).call('POST', '/api/v1/messages/send', { key, json: sms }),
    )
    const { admitted: sent, refused } = split(answers, 201)
    expect([sent.length, refused.length]).toEqual([100, 160])
    expect(descending(sent)).toEqual(countdown(100))
    for (const { headers } of refused) {
      expect(headers['x-ratelimit-limit']).toBe('100')
      expect(headers['x-ratelimit-remaining']).toBe('0')
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
    }
    expect((await apps.written(owner)).messages).toBe(100)
  })

  it('and admit exactly 500 concurrent requests of a workspace, with any of its keys', async () => {
    const busy = await apps.signup()
    const made = await Promise.all(Array.from({ length: 6 }, () => apps.key(busy)))
    const list = (i: number) =>
      apps.at(i).call('GET', '/api/v1/messages', { key: made[i % 6]?.key ?? '' })
    const answers: Answer[] = []
    for (let wave = 0; wave < 10; wave++) answers.push(...(await together(60, list)))
    const { admitted: listed, refused } = split(answers, 200)
    // The session of the same workspace made the keys.
    expect([listed.length, refused.length]).toEqual([494, 106])
    for (const { headers } of refused) expect(headers['x-ratelimit-limit']).toBe('500')
  })

  it('and their headers count down without a gap, at either server', async () => {
    const { key } = await apps.key(owner)
    for (const left of countdown(100)) {
      const answer = await apps.at(left).call('GET', '/api/v1/messages', { key })
      expect([answer.status, remaining(answer)]).toEqual([200, left])
      const reset = Number(answer.headers['x-ratelimit-reset'])
      expect(reset).toBeGreaterThan(0)
      expect(reset).toBeLessThanOrEqual(60)
    }
    for (const app of [apps.one, apps.other]) {
      expect((await app.call('GET', '/api/v1/messages', { key })).status).toBe(429)
    }
  })

  it('for wrong keys, and admit a valid key of the same address at both', async () => {
    const guess = (i: number, key = 'svc_bad') =>
      apps.at(i).call('GET', '/api/v1/messages', { key, from: '192.0.2.1' })
    const { admitted: wrong, refused } = split(await together(90, (i) => guess(i)), 401)
    expect([wrong.length, refused.length]).toEqual([60, 30])
    const { key } = await apps.key(owner)
    for (const i of [0, 1]) {
      const answer = await guess(i)
      expect(answer.status).toBe(429)
      expect(answer.headers['x-ratelimit-limit']).toBe('60')
      const valid = await guess(i, key)
      expect([valid.status, remaining(valid)]).toEqual([200, 99 - i])
    }
  })

  it('for logins, and recognize a known network at both', async () => {
    const { email, password } = await apps.signup()
    const login = (i: number, from: string, guess = password) =>
      apps.at(i).call('POST', '/api/v1/auth/login', { json: { email, password: guess }, from })
    for (let i = 0; i < 5; i++) await login(i, `203.0.${i}.1`, 'wrong one')
    expect((await login(1, '203.0.112.1')).status).toBe(429)
    for (const i of [0, 1]) expect((await login(i, `198.51.0.${201 + i}`)).status).toBe(200)
  })

  it('for the /64s of an IPv6 site', async () => {
    const knock = (i: number) =>
      apps.at(i).call('GET', '/nothing', { from: `2001:db8:0:${i % 9}::1` })
    const { admitted, refused } = split(await together(1_000, knock), 404)
    expect([admitted.length, refused.length]).toEqual([800, 200])
  })

  it('for passwords of an e-mail address, from any client', async () => {
    const answers = await together(8, (i) =>
      apps.at(i).call('POST', '/api/v1/auth/login', {
        json: { email: 'victim@example.com', password: 'wrong one' },
        from: `203.0.113.${i}`,
      }),
    )
    const { admitted: wrong, refused } = split(answers, 401)
    expect([wrong.length, refused.length]).toEqual([5, 3])
    expect(descending(wrong)).toEqual(countdown(5))
  })
})

describe('two servers have one quota', () => {
  it('of webhooks on a host, also for concurrent creates at both', async () => {
    const add = (i: number) =>
      apps.at(i).call('POST', '/api/v1/webhooks', {
        token: owner.token,
        json: { url: `https://receiver.example/${i}` },
      })
    const statuses = (await together(40, add)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(20)
    expect(statuses.filter((status) => status === 400)).toHaveLength(20)
  })

  it('of API keys', async () => {
    const add = (i: number) =>
      apps.at(i).call('POST', '/api/v1/api-keys', { token: owner.token, json: { name: 'A' } })
    const statuses = (await together(30, add)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(12)
    expect(statuses.filter((status) => status === 400)).toHaveLength(18)
  })

  it('of the messages of test keys', async () => {
    const { key } = await apps.key(owner, { mode: 'test' })
    const answers = await together(50, (i) =>
      apps.at(i).call('POST', '/api/v1/messages/send', { key, json: sms }),
    )
    const { admitted: sent, refused } = split(answers, 201)
    expect([sent.length, refused.length]).toEqual([30, 20])
    expect((await apps.written(owner)).messages).toBe(30)
  })
})

describe('a credential that one server ends fails at the other in the next request:', () => {
  it('a key', async () => {
    const { id, key } = await apps.key(owner)
    const list = () => apps.other.call('GET', '/api/v1/messages', { key })
    for (let i = 0; i < 3; i++) expect((await list()).status).toBe(200)
    const path = `/api/v1/api-keys/${id}`
    expect((await apps.one.call('DELETE', path, { token: owner.token })).status).toBe(200)
    const { status, body } = await list()
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('unauthorized', 'API key has been deactivated'))
  })

  it('a key, whose requests then count only as those of a wrong key', async () => {
    const made = await apps.key(owner)
    const list = () => apps.other.call('GET', '/api/v1/messages', { key: made.key })
    for (let i = 0; i < 3; i++) expect((await list()).status).toBe(200)
    await apps.one.core.apiKeys.deactivate(owner.id, made.id)
    const database = await apps.connect()
    const counted = async () => {
      const answer = await list()
      expect([answer.status, answer.headers['x-ratelimit-limit']]).toEqual([401, '60'])
      const { rows } = await database.query('select count from rate_counters where key = $1', [
        `workspace ${owner.id}`,
      ])
      return rows[0]?.count
    }
    const first = await counted()
    for (let i = 0; i < 3; i++) expect(await counted()).toBe(first)
  })

  it('one session, and not another of the same workspace', async () => {
    const { token, email, password } = await apps.signup()
    const json = { email, password }
    const login = await apps.other.call('POST', '/api/v1/auth/login', { json, from: '192.0.2.9' })
    const account = (token: string) => apps.other.call('GET', '/api/v1/account', { token })
    expect((await account(token)).status).toBe(200)
    expect((await apps.one.call('POST', '/api/v1/auth/logout', { token })).status).toBe(200)
    const { status, body } = await account(token)
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('token_expired', 'Invalid or expired token'))
    expect((await account(login.body.data.token)).status).toBe(200)
  })

  it('the sessions of a workspace', async () => {
    const { id, token } = await apps.signup()
    const account = () => apps.other.call('GET', '/api/v1/account', { token })
    expect((await account()).status).toBe(200)
    const database = await apps.connect()
    await database.query('update workspaces set token_version = token_version + 1 where id = $1', [
      id,
    ])
    const { status, body } = await account()
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('token_expired', 'Invalid or expired token'))
  })
})

it('while the counters fail no request is admitted, and probes are answered', async () => {
  const { key } = await apps.key(owner)
  const request = (path: string, credential: object = {}) => apps.one.call('GET', path, credential)
  const other = await apps.connect()
  await other.query('alter table rate_counters rename to away')
  try {
    for (const credential of [{ key }, { key: 'svc_bad' }, { token: owner.token }, {}]) {
      expect((await request('/api/v1/messages', credential)).status).toBe(500)
    }
    expect((await request('/health/live')).status).toBe(200)
  } finally {
    await other.query('alter table away rename to rate_counters')
  }
  expect(remaining(await request('/api/v1/messages', { key }))).toBe(99)
})
