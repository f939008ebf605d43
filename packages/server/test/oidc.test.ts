import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { OidcSettings } from '../src/settings/oidc.ts'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { browse, CLIENT, type Claims, openProvider } from './oidc-provider.ts'
import { useWorld } from './world.ts'

const HOME = 'http://127.0.0.1:3000/console'
const CALLBACK = `${HOME}/oidc/callback`

let provider: Awaited<ReturnType<typeof openProvider>>
let roles: OidcSettings['roles'] = null
// The settings are those of the provider and the workspace of a test, which begin later than the world.
const settings: OidcSettings = {
  ...CLIENT,
  get issuer() {
    return provider.issuer
  },
  get roles() {
    return roles
  },
}
const world = useWorld({ oidc: settings })
beforeAll(async () => {
  provider = await openProvider({ redirect_uri: CALLBACK })
})
afterAll(() => provider.close())

let owner: Account
let count = 0
beforeEach(async () => {
  roles = null
  owner = await world().signup()
  await world().verify(owner)
})

const RANKS = new Map([
  ['svc-admins', 'admin'],
  ['svc-readers', 'viewer'],
] as const)
const giveRoles = () => {
  roles = { workspace_id: owner.id, claim: 'groups', by_value: RANKS }
}

const get = (url: string, cookie = '') =>
  world().app.inject({ method: 'GET', url, headers: { cookie } })
const cookiesOf = ({ headers }: Awaited<ReturnType<typeof get>>) =>
  [headers['set-cookie'] ?? []].flat().map((each) => each.split(';', 1)[0] ?? '')

/** The answer of the provider for a person, and the cookie of the browser. */
async function begin(claims: Claims): Promise<{ answer: string; cookie: string }> {
  provider.person(claims)
  const started = await get('/console/oidc/start')
  expect(started.statusCode).toBe(303)
  const at = await browse(String(started.headers.location), CALLBACK)
  const { pathname, search } = new URL(at)
  return { answer: pathname + search, cookie: cookiesOf(started)[0] ?? '' }
}

async function signIn(claims: Claims) {
  const { answer, cookie } = await begin(claims)
  const answered = await get(answer, cookie)
  const session = cookiesOf(answered).find((each) => each.startsWith('svc_session='))
  return { answered, token: session?.slice('svc_session='.length) ?? null }
}

const person = (more: Partial<Claims> = {}): Claims => {
  count += 1
  const email = `person${count}@example.com`
  return { sub: `subject ${count}`, email, email_verified: true, name: 'Asha', ...more }
}
const me = async (token: string | null) =>
  (await world().call('GET', '/api/v1/account', { token: token ?? '' })).status
const membersOf = async () =>
  (await world().call('GET', '/api/v1/members', { token: owner.token })).body.data.members.map(
    ({ email, role }: { email: string; role: string }) => [email, role],
  )

describe('a sign-in with OIDC', () => {
  it('uses the code flow with PKCE, state and nonce', async () => {
    const started = await get('/console/oidc/start')
    const query = new URL(String(started.headers.location)).searchParams
    expect(Object.fromEntries(query)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: CALLBACK,
    })
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(query.get(name)).toMatch(/^[\w-]{43}$/)
    }
    const cookie = String(started.headers['set-cookie'])
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/)
  })

  it('makes a person with a role a member, and leads to the console', async () => {
    giveRoles()
    const asha = person({ groups: ['others', 'svc-readers', 'svc-admins'] })
    const { answered, token } = await signIn(asha)
    expect([answered.statusCode, answered.headers.location]).toEqual([303, HOME])
    expect(await membersOf()).toEqual([
      [owner.email, 'owner'],
      [asha.email, 'admin'],
    ])
    expect(await me(token)).toBe(200)
    // A user without a password cannot log in with one.
    const json = { email: asha.email, password: '' }
    expect((await world().call('POST', '/api/v1/auth/login', { json })).status).toBe(400)
  })

  it('follows the claims at each sign-in, also in sessions that exist', async () => {
    giveRoles()
    const asha = person({ groups: 'svc-admins' })
    const { token } = await signIn(asha)
    await signIn({ ...asha, groups: ['svc-readers'] })
    expect(await membersOf()).toContainEqual([asha.email, 'viewer'])
    const made = await world().call('POST', '/api/v1/api-keys', {
      token: token ?? '',
      json: { name: 'x' },
    })
    expect(made.status).toBe(403)
    const { answered } = await signIn({ ...asha, groups: [] })
    expect(answered.statusCode).toBe(403)
    expect(await membersOf()).toEqual([[owner.email, 'owner']])
    expect(await me(token)).toBe(401)
  })

  it('keeps the owner the owner, whatever the claims are', async () => {
    giveRoles()
    const { token } = await signIn(person({ email: owner.email.toUpperCase(), groups: [] }))
    expect(await membersOf()).toEqual([[owner.email, 'owner']])
    expect(await me(token)).toBe(200)
  })

  it('links a subject to the login with the address, and knows it when the address changes', async () => {
    const member = await world().member(owner, 'developer')
    const asha = person({ email: member.email })
    expect(await me((await signIn(asha)).token)).toBe(200)
    const moved = { ...asha, email: 'elsewhere@example.com', email_verified: false }
    expect(await me((await signIn(moved)).token)).toBe(200)
    expect(await membersOf()).toContainEqual([member.email, 'developer'])
  })

  it.each([false, 'true', undefined, 1])(
    'links and makes no login with the address of a claim email_verified of %j',
    async (email_verified) => {
      giveRoles()
      const groups = ['svc-admins']
      for (const email of [owner.email, 'new@example.com']) {
        const { answered, token } = await signIn(person({ email, email_verified, groups }))
        expect([answered.statusCode, token]).toEqual([403, null])
      }
      expect(await membersOf()).toEqual([[owner.email, 'owner']])
    },
  )

  it('is refused for an account that another person may have signed up with the address', async () => {
    const squatter = await world().signup()
    giveRoles()
    const { answered, token } = await signIn(
      person({ email: squatter.email, groups: ['svc-admins'] }),
    )
    expect([answered.statusCode, token]).toEqual([403, null])
    expect(answered.body).toContain('is not verified')
  })

  it('is refused if the workspace of the roles is missing', async () => {
    const workspace_id = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
    roles = { workspace_id, claim: 'groups', by_value: RANKS }
    const { answered, token } = await signIn(person({ groups: ['svc-admins'] }))
    expect([answered.statusCode, token]).toEqual([403, null])
    expect(await world().core.members.workspacesOf(workspace_id)).toEqual([])
  })

  it('is refused for a person without a role and without a login', async () => {
    expect((await signIn(person())).answered.statusCode).toBe(403)
    giveRoles()
    expect((await signIn(person({ groups: ['others'] }))).answered.statusCode).toBe(403)
    expect(await membersOf()).toHaveLength(1)
  })
})

describe('an answer of the provider', () => {
  it('is used once', async () => {
    giveRoles()
    const { answer, cookie } = await begin(person({ groups: ['svc-admins'] }))
    expect((await get(answer, cookie)).statusCode).toBe(303)
    expect((await get(answer, cookie)).statusCode).toBe(403)
  })

  it('is refused in another browser, without the cookie and with a changed state', async () => {
    giveRoles()
    const mine = await begin(person({ groups: ['svc-admins'] }))
    const theirs = await begin(person({ groups: ['svc-admins'] }))
    const state = (text: string) => text.replace(/state=[^&]+/, 'state=changed')
    for (const [answer, cookie] of [
      [mine.answer, ''],
      [mine.answer, theirs.cookie],
      [state(mine.answer), mine.cookie],
      ['/console/oidc/callback?error=access_denied', mine.cookie],
      ['/console/oidc/callback', mine.cookie],
      [mine.answer, 'svc_oidc=a.b'],
      [mine.answer, `svc_oidc=${'x'.repeat(10_000)}`],
    ] as const) {
      const { statusCode, headers, body } = await get(answer, cookie)
      expect(statusCode).toBe(403)
      expect(String(headers['set-cookie'])).not.toContain('svc_session')
      expect(body).toContain('You are not signed in')
    }
    expect(await membersOf()).toHaveLength(1)
  })
})

it('a password from the mail makes a user of OIDC a user with both', async () => {
  giveRoles()
  const asha = person({ groups: ['svc-admins'] })
  await signIn(asha)
  const { email = '' } = asha
  await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
  const token = await world().mailed(email, 'reset_password')
  const json = { token, password: 'a long password' }
  expectStatus(200, await world().call('POST', '/api/v1/auth/reset-password', { json }))
  const login = await world().call('POST', '/api/v1/auth/login', {
    json: { email, password: json.password },
  })
  expect(login.status).toBe(200)
  expect(await me((await signIn(asha)).token)).toBe(200)
})

describe('the links of a login to OIDC subjects', () => {
  const linksOf = async (token: string | null) =>
    (await world().call('GET', '/api/v1/sign-in-links', { token: token ?? '' })).body.data.links
  const audited = async () =>
    (await world().core.audit.list(owner.id, { limit: 100 })).audit_entries
      .filter(({ action }) => action.startsWith('sign_in.'))
      .map(({ action, details, target }) => [action, details.subject, target?.id])
  const ownersAt = (sub: string) => person({ sub, email: owner.email })

  it('are listed, and audited one by one', async () => {
    const { token } = await signIn(ownersAt('first'))
    await signIn(ownersAt('first'))
    await signIn(ownersAt('second'))
    const links = await linksOf(token)
    expect(links).toMatchObject([
      { issuer: provider.issuer, subject: 'first' },
      { issuer: provider.issuer, subject: 'second' },
    ])
    expect(await audited()).toEqual([
      ['sign_in.linked', 'second', owner.id],
      ['sign_in.linked', 'first', owner.id],
    ])
    const other = await world().signup()
    expect(await linksOf(other.token)).toEqual([])
  })

  it('end: the subject then needs the verified address again', async () => {
    const { token } = await signIn(ownersAt('third'))
    const [{ id }] = await linksOf(token)
    const other = await world().signup()
    const end = (as: string) => world().call('DELETE', `/api/v1/sign-in-links/${id}`, { token: as })
    expect((await end(other.token)).status).toBe(404)
    expectStatus(200, await end(owner.token))
    expect((await end(owner.token)).status).toBe(404)
    expect(await linksOf(owner.token)).toEqual([])
    expect((await audited())[0]).toEqual(['sign_in.unlinked', 'third', owner.id])
    const { answered } = await signIn(person({ sub: 'third', email: 'elsewhere@example.com' }))
    expect(answered.statusCode).toBe(403)
  })

  /** Resets the password with the token of a mail. */
  async function reset(more: object = {}) {
    await world().call('POST', '/api/v1/auth/forgot-password', { json: { email: owner.email } })
    const token = await world().mailed(owner.email, 'reset_password')
    const json = { token, password: 'a new long password', ...more }
    const done = await world().call('POST', '/api/v1/auth/reset-password', {
      json,
      from: '198.18.0.1',
    })
    expectStatus(200, done)
  }

  it.each([
    ['ends those since the last verified sign-in', {}, ['before']],
    ['keeps them if the request says so', { keep_recent: true }, ['after', 'before']],
    ['ends all of them with revoke_api_keys', { revoke_api_keys: true }, []],
  ])('a reset %s', async (_, request, left) => {
    await signIn(ownersAt(`before ${owner.id}`))
    await world().advance(1_000)
    await reset({ keep_recent: true })
    await world().advance(1_000)
    await signIn(ownersAt(`after ${owner.id}`))
    await world().advance(1_000)
    await reset(request)
    const login = { email: owner.email, password: 'a new long password' }
    const { body } = await world().call('POST', '/api/v1/auth/login', { json: login })
    const subjects = (await linksOf(body.data.token)).map(({ subject }: { subject: string }) =>
      subject.replace(` ${owner.id}`, ''),
    )
    expect(subjects.sort()).toEqual(left)
  })
})
