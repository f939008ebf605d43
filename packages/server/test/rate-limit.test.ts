import { beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import type { Answer } from './every-answer.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld({ rates: 'specified' })

const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS

// Every test begins in new windows.
beforeEach(() => world().advance(QUARTER_MS))

const limits = ({ status, headers }: Answer) => [
  status,
  Number(headers['x-ratelimit-limit']),
  Number(headers['x-ratelimit-remaining']),
  Number(headers['x-ratelimit-reset']),
]

/** The last of `count` answers. */
async function last(times: number, request: () => Promise<Answer>): Promise<Answer> {
  for (let i = 1; i < times; i++) await request()
  return request()
}

function expectRefused(answer: Answer, limit: number, seconds: number): void {
  expect(limits(answer)).toStrictEqual([429, limit, 0, seconds])
  expect(answer.headers['retry-after']).toBe(String(seconds))
  expect(answer.body).toStrictEqual(
    refusal('rate_limit_exceeded', `Rate limit exceeded. Try again in ${seconds} seconds.`),
  )
}

describe('general: 100 in 60 seconds', () => {
  let owner: Account
  let key: string
  beforeEach(async () => {
    owner = await world().signup()
    key = (await world().key(owner)).key
  })
  const list = (as = key) => world().call('GET', '/api/v1/messages', { key: as })
  const account = () => world().call('GET', '/api/v1/account', { token: owner.token })

  it('counts down, refuses the next request, and starts again when the window ends', async () => {
    expect(limits(await list())).toStrictEqual([200, 100, 99, 60])
    await world().advance(30_500)
    expect(limits(await list())).toStrictEqual([200, 100, 98, 30])
    expect(limits(await last(98, list))).toStrictEqual([200, 100, 0, 30])
    expectRefused(await list(), 100, 30)
    await world().advance(29_499)
    expectRefused(await list(), 100, 1)
    await world().advance(1)
    expect(limits(await list())).toStrictEqual([200, 100, 99, 60])
  })

  it.each([-24, -1, 1, 24])(
    'uses elapsed time, although the clock is set by %i hours',
    async (hours) => {
      await last(100, list)
      world().step(hours * 60 * MINUTE_MS)
      expectRefused(await list(), 100, 60)
      await world().advance(MINUTE_MS)
      expect(limits(await list())).toStrictEqual([200, 100, 99, 60])
      world().step(-hours * 60 * MINUTE_MS)
    },
  )

  it('counts each key, and the sessions of a workspace, separately', async () => {
    const { key: sibling } = await world().key(owner)
    expectRefused(await last(101, list), 100, 60)
    expect(limits(await list(sibling))).toStrictEqual([200, 100, 99, 60])
    // The session made two keys.
    expect(limits(await account())).toStrictEqual([200, 100, 97, 60])
    expectRefused(await last(98, account), 100, 60)
    expect((await list(sibling)).status).toBe(200)
  })

  it('admits exactly 100 of 150 concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 150 }, () => list()))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(statuses.filter((status) => status === 429)).toHaveLength(50)
    const left = answers.map(({ headers }) => Number(headers['x-ratelimit-remaining']))
    expect(new Set(left).size).toBe(100)
  })

  it('counts requests with any result, and refuses them unread over the limit', async () => {
    const { key: narrow } = await world().key(owner, { scopes: ['manage_contacts'] })
    expect(limits(await list(narrow))).toStrictEqual([403, 100, 99, 60])
    const broken = () => world().call('POST', '/api/v1/messages/send', { key, raw: '{' })
    expect(limits(await broken())).toStrictEqual([400, 100, 99, 60])
    const absent = () => world().call('GET', '/api/v1/messages/x', { key })
    expect(limits(await absent())).toStrictEqual([404, 100, 98, 60])
    expect(limits(await world().send(key))).toStrictEqual([402, 100, 97, 60])
    await last(97, list)
    expectRefused(await broken(), 100, 60)
    expectRefused(await absent(), 100, 60)
    await last(99, () => list(narrow))
    expectRefused(await list(narrow), 100, 60)
  })

  it('belongs to the key, for any client address', async () => {
    let n = 0
    const roam = () => world().call('GET', '/api/v1/messages', { key, from: `203.0.113.${++n}` })
    expectRefused(await last(101, roam), 100, 60)
  })
})

describe('workspace: 500 in 60 seconds', () => {
  let owner: Account
  beforeEach(async () => {
    owner = await world().signup()
  })
  const keys = async (count: number) => {
    const made = await Promise.all(Array.from({ length: count }, () => world().key(owner)))
    return made.map(({ key }) => key)
  }
  const list = (key: string) => world().call('GET', '/api/v1/messages', { key })

  it('counts the requests of all keys and sessions together', async () => {
    const [extra = '', ...five] = await keys(6)
    // The session made six keys.
    for (const key of five.slice(0, 4)) expect((await last(100, () => list(key))).status).toBe(200)
    expect(limits(await last(93, () => list(five[4] as string)))).toStrictEqual([200, 500, 1, 60])
    expect(limits(await list(extra))).toStrictEqual([200, 500, 0, 60])
    expectRefused(await list(extra), 500, 60)
    const account = () => world().call('GET', '/api/v1/account', { token: owner.token })
    expectRefused(await account(), 500, 60)
    const { key: stranger } = await world().key(await world().signup())
    expect((await list(stranger)).status).toBe(200)
    await world().advance(MINUTE_MS)
    expect((await list(extra)).status).toBe(200)
  })

  it('leaves the other keys their share while one key keeps exceeding its own limit', async () => {
    const [runaway = '', other = ''] = await keys(2)
    expectRefused(await last(700, () => list(runaway)), 100, 60)
    expect(limits(await list(other))).toStrictEqual([200, 100, 99, 60])
    await world().advance(MINUTE_MS)
    expect(limits(await list(runaway))).toStrictEqual([200, 100, 99, 60])
  })
})

describe('estimates of bulks: 60 in 5 minutes', () => {
  it('counts them for each workspace, but no other estimates and no bulks', async () => {
    const owner = await world().signup({ credits: 10 })
    const { key } = await world().key(owner)
    const { key: sibling } = await world().key(owner)
    const content = { text: 'Hello' }
    const request = (json: object, as = key) =>
      world().call('POST', '/api/v1/messages/estimate', { key: as, json })
    const many = { channel: 'sms', content, recipients: ['+255700000001'] }
    const one = { channel: 'sms', content, to: '+255700000001' }
    expect(limits(await request(many))).toStrictEqual([200, 60, 59, 300])
    expect(limits(await request(one))).toStrictEqual([200, 100, 98, 60])
    expect(limits(await last(59, () => request(many, sibling)))).toStrictEqual([200, 60, 0, 300])
    expectRefused(await request(many), 60, 300)
    expect((await request(one)).status).toBe(200)
    const sent = await world().call('POST', '/api/v1/messages/bulk', { key, json: many })
    expect(limits(sent)).toStrictEqual([201, 10, 9, 300])
    await world().advance(5 * MINUTE_MS)
    expect((await request(many)).status).toBe(200)
  })
})

describe('auth routes: 5 in 15 minutes', () => {
  const signup = (from: string, json: object = {}) =>
    world().call('POST', '/api/v1/auth/signup', { json, from })
  const login = (from: string, email = `${from}@example.com`) =>
    world().call('POST', '/api/v1/auth/login', { json: { email, password: 'wrong one' }, from })

  it('counts each route and address separately', async () => {
    expect(limits(await signup('192.0.2.1'))).toStrictEqual([400, 5, 4, 900])
    expectRefused(await last(5, () => signup('192.0.2.1')), 5, 900)
    expect(limits(await signup('192.0.2.2'))).toStrictEqual([400, 5, 4, 900])
    expect(limits(await login('192.0.2.1', 'a@example.com'))).toStrictEqual([401, 5, 4, 900])
    await world().advance(QUARTER_MS)
    expect((await signup('192.0.2.1')).status).toBe(400)
  })

  it('also counts logins for each e-mail address, in any case and from any client', async () => {
    for (let i = 1; i <= 5; i++) {
      const email = i % 2 ? 'victim@example.com' : 'Victim@Example.COM'
      expect((await login(`192.0.2.${i}`, email)).status).toBe(401)
    }
    expectRefused(await login('192.0.2.6', 'victim@example.com'), 5, 900)
    expect((await login('192.0.2.6', 'other@example.com')).status).toBe(401)
  })

  it('shows the counter with fewer remaining requests', async () => {
    for (let i = 1; i <= 3; i++) await login(`192.0.2.${i}`, 'shown@example.com')
    expect(limits(await login('192.0.2.9', 'shown@example.com'))).toStrictEqual([401, 5, 1, 900])
    await last(3, () => login('192.0.2.8', `${Math.random()}@example.com`))
    expect(limits(await login('192.0.2.8', 'fresh@example.com'))).toStrictEqual([401, 5, 1, 900])
  })

  it.each(['forgot-password', 'resend-verification'])(
    'also counts %s for each e-mail address, known or not, from any client',
    async (route) => {
      const { email } = await world().signup()
      for (const address of [email, `unknown.${route}@example.com`]) {
        let n = 0
        const request = () => {
          const json = { email: ++n % 2 ? address : address.toUpperCase() }
          return world().call('POST', `/api/v1/auth/${route}`, { json, from: `203.0.113.${n}` })
        }
        expect(limits(await last(5, request))).toStrictEqual([200, 5, 0, 900])
        expectRefused(await request(), 5, 900)
      }
    },
  )

  it('counts guesses of the current password for each workspace, from any client', async () => {
    const { token } = await world().signup()
    let n = 0
    const json = { current_password: 'a guess', new_password: 'long enough' }
    const guess = () =>
      world().call('POST', '/api/v1/auth/change-password', {
        json,
        token,
        from: `203.0.113.${++n}`,
      })
    expect(limits(await last(5, guess))).toStrictEqual([400, 5, 0, 900])
    expectRefused(await guess(), 5, 900)
  })

  it('counts password changes for each client address', async () => {
    const owners = await Promise.all([1, 2, 3].map(() => world().signup()))
    let n = 0
    const guess = () => {
      const token = owners[++n % 3]?.token
      const json = { current_password: 'a guess', new_password: 'long enough' }
      return world().call('POST', '/api/v1/auth/change-password', { json, token })
    }
    expect(limits(await last(5, guess))).toStrictEqual([400, 5, 0, 900])
    expectRefused(await guess(), 5, 900)
  })

  it('refuses even the right password after too many wrong ones', async () => {
    const { email, password } = await world().signup()
    for (let i = 1; i <= 4; i++) await login(`192.0.2.${i}`, email)
    const json = { email, password }
    const answer = await world().call('POST', '/api/v1/auth/login', { json, from: '192.0.2.7' })
    expectRefused(answer, 5, 900)
  })
})

describe('logins from a network that the account has logged in from', () => {
  const login = (from: string, { email, password = 'wrong one' }: Partial<Account>) =>
    world().call('POST', '/api/v1/auth/login', { json: { email, password }, from })

  /** An account whose signup lies in an earlier window of the limits. */
  async function settled(): Promise<Account> {
    const owner = await world().signup()
    await world().advance(QUARTER_MS)
    return owner
  }

  /** Uses up the logins to an e-mail address from many networks. */
  async function attack({ email }: Pick<Account, 'email'>): Promise<Answer[]> {
    const answers: Answer[] = []
    for (let i = 1; i <= 6; i++) answers.push(await login(`203.0.${i}.1`, { email }))
    return answers
  }

  it('are admitted, however many failed elsewhere', async () => {
    const owner = await settled()
    expect((await attack(owner)).map(({ status }) => status)).toStrictEqual([
      401, 401, 401, 401, 401, 429,
    ])
    expectRefused(await login('192.0.2.1', owner), 5, 900)
    // Another address of the network that the account logged in from.
    expect(limits(await login('198.51.0.201', owner))).toStrictEqual([200, 5, 4, 900])
    expectRefused(await login('198.52.0.1', owner), 5, 900)
  })

  it('have a limit too, for all addresses of the network together', async () => {
    const { email, password } = await settled()
    for (let i = 1; i <= 5; i++) {
      expect((await login(`198.51.0.${200 + i}`, { email })).status).toBe(401)
    }
    expectRefused(await login('198.51.0.206', { email, password }), 5, 900)
    // These logins count neither for the e-mail address nor for another network.
    expect(limits(await login('192.0.2.1', { email, password }))).toStrictEqual([200, 5, 4, 900])
    expect(limits(await login('192.0.2.2', { email }))).toStrictEqual([401, 5, 4, 900])
  })

  it('are recognized by the /48 of IPv6', async () => {
    const owner = await settled()
    expect((await login('2001:db8:77:1::1', owner)).status).toBe(200)
    await attack(owner)
    expect((await login('2001:db8:77:2::2', owner)).status).toBe(200)
    expectRefused(await login('2001:db8:78:1::1', owner), 5, 900)
  })

  it('are recognized for 30 days after the last login', async () => {
    const owner = await settled()
    const DAY_MS = 24 * 60 * MINUTE_MS
    await world().advance(20 * DAY_MS)
    expect((await login('198.51.0.3', owner)).status).toBe(200)
    await world().advance(30 * DAY_MS)
    await attack(owner)
    expect((await login('198.51.0.4', { email: owner.email })).status).toBe(401)
    await world().advance(1)
    expectRefused(await login('198.51.0.5', owner), 5, 900)
  })

  it('do not reveal the account to other clients', async () => {
    const seen = ({ status, headers, body }: Answer) => {
      const { 'x-request-id': _, date: __, ...rest } = headers
      return { status, rest, body }
    }
    const known = await attack(await settled())
    await world().advance(QUARTER_MS)
    const unknown = await attack({ email: 'none@example.com' })
    expect(known.map(seen)).toStrictEqual(unknown.map(seen))
  })

  it('are recognized after a reset by mail only from the network of the reset', async () => {
    const owner = await settled()
    expect((await login('203.0.113.1', owner)).status).toBe(200)
    const json = { email: owner.email }
    await world().call('POST', '/api/v1/auth/forgot-password', { json, from: '192.0.2.1' })
    const token = await world().mailed(owner.email, 'reset_password')
    const password = 'another one'
    const reset = { json: { token, password }, from: '192.0.2.1' }
    expect((await world().call('POST', '/api/v1/auth/reset-password', reset)).status).toBe(200)
    const { email } = owner
    await attack(owner)
    for (const from of ['203.0.113.2', '198.51.0.3']) {
      expectRefused(await login(from, { email, password }), 5, 900)
    }
    expect((await login('192.0.2.2', { email, password })).status).toBe(200)
  })
})

describe('without credentials: 100 in 60 seconds', () => {
  const knock = (from: string, path = '/api/v1/messages') => world().call('GET', path, { from })

  it('counts each address, for any path', async () => {
    expect(limits(await knock('192.0.2.1'))).toStrictEqual([401, 100, 99, 60])
    expect(limits(await knock('192.0.2.1', '/nothing'))).toStrictEqual([404, 100, 98, 60])
    expect(limits(await knock('192.0.2.1', '/api/v1/messages/%zz'))).toStrictEqual([
      404, 100, 97, 60,
    ])
    await last(97, () => knock('192.0.2.1'))
    expectRefused(await knock('192.0.2.1'), 100, 60)
    expectRefused(await knock('192.0.2.1', '/nothing'), 100, 60)
    expectRefused(await knock('192.0.2.1', '/%zz'), 100, 60)
    expect((await knock('192.0.2.2')).status).toBe(401)
  })

  it('has one counter for the /64 of an IPv6 customer, and for both spellings of an IPv4 address', async () => {
    await last(99, () => knock('2001:db8:0:1::1'))
    expect(limits(await knock('2001:db8:0:1:ffff:ffff:ffff:ffff'))).toStrictEqual([401, 100, 0, 60])
    expectRefused(await knock('2001:0DB8:0000:0001::2'), 100, 60)
    expect(limits(await knock('2001:db8:0:2::1'))).toStrictEqual([401, 100, 99, 60])
    await last(99, () => knock('192.0.2.77'))
    expect(limits(await knock('::ffff:192.0.2.77'))).toStrictEqual([401, 100, 0, 60])
    expect(limits(await knock('::ffff:192.0.2.78'))).toStrictEqual([401, 100, 99, 60])
  })

  it('does not limit a client with a key', async () => {
    const { key } = await world().key(await world().signup())
    await last(101, () => knock('192.0.2.3'))
    const answer = await world().call('GET', '/api/v1/messages', { key, from: '192.0.2.3' })
    expect(answer.status).toBe(200)
  })

  it('probes carry the headers, are not counted, and are never refused', async () => {
    const probes = ['/health', '/health/live', '/health/ready']
    const asked = async () => {
      const answers: ReturnType<typeof limits>[] = []
      for (const path of [...probes, ...probes])
        answers.push(limits(await knock('192.0.2.4', path)))
      return answers
    }
    expect(await asked()).toStrictEqual(Array(6).fill([200, 100, 100, 60]))
    await last(101, () => knock('192.0.2.4'))
    expect(await asked()).toStrictEqual(Array(6).fill([200, 100, 0, 60]))
  })
})

describe('failed authentication: 60 in 15 minutes', () => {
  const withKey = (key: string, from: string) =>
    world().call('GET', '/api/v1/messages', { key, from })
  const withToken = (token: string, from: string) =>
    world().call('GET', '/api/v1/account', { token, from })

  it('counts wrong keys and wrong tokens of an address together', async () => {
    expect(limits(await withKey('svc_bad', '192.0.2.1'))).toStrictEqual([401, 60, 59, 900])
    await last(29, () => withKey('svc_bad', '192.0.2.1'))
    expect(limits(await last(30, () => withToken('bad', '192.0.2.1')))).toStrictEqual([
      401, 60, 0, 900,
    ])
    expectRefused(await withToken('bad', '192.0.2.1'), 60, 900)
    expectRefused(await withKey('svc_bad', '192.0.2.1'), 60, 900)
    expect((await withKey('svc_bad', '192.0.2.2')).status).toBe(401)
  })

  it('admits a valid key and a valid token from any address', async () => {
    const owner = await world().signup()
    const { id, key } = await world().key(owner)
    await last(61, () => withKey('svc_bad', '192.0.2.1'))
    expect(limits(await withKey(key, '192.0.2.1'))).toStrictEqual([200, 100, 99, 60])
    expect(limits(await withToken(owner.token, '192.0.2.1'))).toStrictEqual([200, 100, 98, 60])
    expectRefused(await withKey('svc_bad', '192.0.2.1'), 60, 900)
    expect(limits(await withKey(key, '192.0.2.1'))).toStrictEqual([200, 100, 98, 60])
    await world().call('DELETE', `/api/v1/api-keys/${id}`, { token: owner.token })
    // The answer does not reveal that the key was once valid.
    expectRefused(await withKey(key, '192.0.2.1'), 60, 900)
    expect((await withKey(key, '192.0.2.9')).body.message).toBe('API key has been deactivated')
    await world().advance(QUARTER_MS)
    expect((await withKey('svc_bad', '192.0.2.1')).status).toBe(401)
  })

  it('admits at most 60 concurrent guesses', async () => {
    const answers = await Promise.all(
      Array.from({ length: 90 }, () => withKey('svc_bad', '192.0.2.1')),
    )
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(60)
  })

  it('does not count a missing credential, a missing scope or a wrong address', async () => {
    const account = await world().signup()
    const { key: bound } = await world().key(account, { allowed_ips: ['203.0.113.1'] })
    expect(limits(await withKey(bound, '192.0.2.2'))).toStrictEqual([403, 100, 99, 60])
    const { key } = await world().key(account, { scopes: ['manage_contacts'] })
    await last(70, () => withKey(key, '192.0.2.1'))
    await last(70, () => world().call('GET', '/api/v1/messages', { from: '192.0.2.1' }))
    expect(limits(await withKey('svc_bad', '192.0.2.1'))).toStrictEqual([401, 100, 29, 60])
  })
})

describe('the /48 of an IPv6 site: eight times the limit of one client', () => {
  const site = (prefix: string, i: number) => `${prefix}:${i.toString(16)}::1`

  it('counts the admitted requests of its /64s without credentials, but no refused ones', async () => {
    const small = await openWorld({ rates: { anonymous: { max: 10, window_s: 60 } } })
    const knock = (i: number) => small.call('GET', '/nothing', { from: site('2001:db8:a', i) })
    await last(13, () => knock(0))
    for (let i = 1; i < 8; i++) await last(i < 7 ? 10 : 9, () => knock(i))
    expect(limits(await knock(8))).toStrictEqual([404, 80, 0, 60])
    expectRefused(await knock(9), 80, 60)
    expect((await small.call('GET', '/nothing', { from: '2001:db8:b::1' })).status).toBe(404)
    await small.advance(MINUTE_MS)
    expect(limits(await knock(9))).toStrictEqual([404, 10, 9, 60])
    await small.close()
  })

  it('counts its sign-in requests', async () => {
    const login = (i: number) => {
      const json = { email: `site${i}@example.com`, password: 'wrong one' }
      return world().call('POST', '/api/v1/auth/login', { json, from: site('2001:db8:c', i) })
    }
    for (let i = 0; i < 39; i++) expect((await login(i)).status).toBe(401)
    expect(limits(await login(39))).toStrictEqual([401, 40, 0, 900])
    expectRefused(await login(40), 40, 900)
  })

  it('counts its wrong keys', async () => {
    const rates = { failed_auth: { max: 2, window_s: 900 } }
    const small = await openWorld({ rates })
    const guess = (i: number) =>
      small.call('GET', '/api/v1/messages', { key: 'svc_bad', from: site('2001:db8:d', i) })
    for (let i = 0; i < 16; i++) expect((await guess(i)).status).toBe(401)
    expectRefused(await guess(16), 16, 900)
    await small.close()
  })
})

describe('the console: 600 in 60 seconds', () => {
  const minute = (max: number) => ({ max, window_s: 60 })
  const world = useWorld({
    rates: { general: minute(2), workspace: minute(3), console: minute(5) },
    console: { folder: 'none' },
  })
  const inConsole = async (cookie: string, method: 'GET' | 'PUT', path: string) => {
    const { statusCode, headers } = await world().app.inject({
      method,
      url: `/console/api${path}`,
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      ...(method === 'PUT' && { payload: {} }),
    })
    return [statusCode, Number(headers['x-ratelimit-limit']), headers['x-ratelimit-remaining']]
  }

  it('counts each person on its own, and reads use up nothing of the programs', async () => {
    const [owner, other] = [await world().signup(), await world().signup()]
    const { key } = await world().key(owner)
    const cookie = `svc_session=${owner.token}`
    await world().advance(MINUTE_MS)
    const account = (from: string) => inConsole(from, 'GET', '/v1/account')
    for (let left = 4; left >= 0; left--) expect(await account(cookie)).toEqual([200, 5, `${left}`])
    expect((await account(cookie))[0]).toBe(429)
    expect((await account(`svc_session=${other.token}`))[0]).toBe(200)
    const list = () => world().call('GET', '/api/v1/messages', { key })
    expect(limits(await list())).toStrictEqual([200, 2, 1, 60])
    const { token } = owner
    expect((await world().call('GET', '/api/v1/account', { token })).status).toBe(200)
  })

  it('counts changes for the workspace too, so that a cookie is no way around its limit', async () => {
    const cookie = `svc_session=${(await world().signup()).token}`
    await world().advance(MINUTE_MS)
    const change = () => inConsole(cookie, 'PUT', '/v1/account')
    const answers = [await change(), await change(), await change(), await change()]
    expect(answers.map(([status]) => status)).toEqual([200, 200, 200, 429])
    expect((await inConsole(cookie, 'GET', '/v1/account'))[0]).toBe(200)
  })

  it('counts operators', async () => {
    const operator = { name: 'ops@example.com', password: 'a long password' }
    await world().core.operators.add(operator)
    const { headers } = await world().app.inject({
      method: 'POST',
      url: '/console/api/operator/session',
      headers: { 'sec-fetch-site': 'same-origin' },
      payload: operator,
    })
    const cookie = `${headers['set-cookie']}`.split(';', 1)[0] ?? ''
    expect(await inConsole(cookie, 'GET', '/operator/workspaces')).toEqual([200, 5, '4'])
  })
})

describe('ceilings of all clients together: 200 times the limit of one', () => {
  const world = useWorld({
    rates: { login_all: { max: 3, window_s: 900 }, signup_all: { max: 2, window_s: 900 } },
  })
  const post = (route: string, n: number, json: object = {}) =>
    world().call('POST', `/api/v1/auth/${route}`, {
      json: { email: `all${n}@example.com`, password: 'long enough', ...json },
      from: `203.0.113.${n}`,
    })

  it('limits logins', async () => {
    for (let n = 1; n <= 3; n++) expect((await post('login', n)).status).toBe(401)
    expectRefused(await post('login', 4), 3, 900)
    // The network of an account that logged in before is exempt.
    const before = { rates: { login_all: { max: 1, window_s: 900 } } }
    const small = await openWorld(before)
    const { email, password } = await small.signup()
    const login = (from: string) =>
      small.call('POST', '/api/v1/auth/login', { json: { email, password }, from })
    expectRefused(await login('203.0.113.9'), 1, 900)
    expect((await login('198.51.0.9')).status).toBe(200)
    await small.close()
    expect((await post('login', 5, { email: 'none' })).status).toBe(400)
    await world().advance(QUARTER_MS)
    expect((await post('login', 4)).status).toBe(401)
  })

  it('limits signups', async () => {
    const company_name = 'Example'
    // A body that is not a valid signup does not count.
    for (let n = 1; n <= 3; n++) expect((await post('signup', n)).status).toBe(400)
    for (let n = 1; n <= 2; n++)
      expect((await post('signup', n, { company_name })).status).toBe(201)
    expectRefused(await post('signup', 3, { company_name }), 2, 900)
    await world().advance(QUARTER_MS)
    expect((await post('signup', 3, { company_name })).status).toBe(201)
  })
})

it('limits a client for at most one window, even with repeated attempts', async () => {
  for (let i = 0; i < 3; i++) {
    const answer = await last(101, () => world().call('GET', '/x', { from: '192.0.2.1' }))
    expectRefused(answer, 100, 60)
    await world().advance(MINUTE_MS)
  }
  expect((await world().call('GET', '/x', { from: '192.0.2.1' })).status).toBe(404)
})
