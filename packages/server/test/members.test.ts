import { hash } from 'node:crypto'
import { type AssignedRole, api, type Endpoint, mayDo, ROLES } from '@svc/core/contract'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { claimsOf, forgeToken } from './tokens.ts'
import { useWorld } from './world.ts'

const world = useWorld()
let owner: Account

beforeEach(async () => {
  owner = await world().signup({ credits: 10 })
  await world().verify(owner)
})

const as = ({ token }: Pick<Account, 'token'>, method: string, path: string, json?: object) =>
  world().call(method, `/api/v1${path}`, { token, ...(json && { json }) })
const accept = (json: object) => world().call('POST', '/api/v1/invitations/accept', { json })
const login = (json: object) => world().call('POST', '/api/v1/auth/login', { json })
const tokenFor = (email: string) => world().mailed(email, 'invitation')
/** Resets the password of an account with the token of a mail, from a network of its own. */
async function reset({ email }: Account, more: object = {}): Promise<string> {
  await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
  const token = await world().mailed(email, 'reset_password')
  const json = { token, password: 'the password after a reset', ...more }
  const options = { json, from: '198.18.0.1' }
  const done = await world().call('POST', '/api/v1/auth/reset-password', options)
  return expectStatus(200, done).body.data.message
}
const audited = async (account: Account) =>
  (await as(account, 'GET', '/audit')).body.data.audit_entries.map(
    ({ action }: { action: string }) => action,
  )

/** What each role may do, written by hand from the guide: one request for each capability. */
const MATRIX = `
                               owner admin developer billing viewer
GET    /account                in    in    in        in      in
GET    /members                in    in    in        in      in
GET    /sessions               in    in    in        in      in
GET    /balance                in    in    in        in      in
GET    /billing/transactions   in    in    in        in      in
GET    /contacts               in    in    in        -       in
GET    /webhooks               in    in    in        -       in
GET    /api-keys               in    in    in        -       in
GET    /domains                in    in    in        -       in
GET    /templates              in    in    in        -       in
POST   /templates/preview      in    in    in        -       in
GET    /broadcasts             in    in    in        -       in
POST   /contacts               in    in    in        -       -
POST   /templates              in    in    in        -       -
POST   /contacts/suppressions  in    in    in        -       -
POST   /webhooks               in    in    in        -       -
POST   /api-keys               in    in    in        -       -
POST   /domains                in    in    in        -       -
PUT    /account                in    in    -         in      -
POST   /billing/checkout       in    in    -         in      -
GET    /audit                  in    in    -         -       -
GET    /invitations            in    in    -         -       -
POST   /invitations            in    in    -         -       -
`

const [header = [], ...rows] = MATRIX.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))
/** The cells of each role, as `GET /account in`. */
const CELLS = Object.fromEntries(
  header.map((role, i) => [
    role,
    rows.map(([method, path, ...cells]) => [method, path, cells[i]].join(' ')),
  ]),
)

describe('the roles', () => {
  let tokens: Record<string, string>
  beforeAll(async () => {
    const account = await world().signup({ credits: 10 })
    await world().verify(account)
    tokens = { owner: account.token }
    for (const role of ROLES.slice(1)) {
      tokens[role] = (await world().member(account, role as AssignedRole)).token
    }
  })

  it.each(ROLES)('%s may do what the matrix says', async (role) => {
    const found: string[] = []
    for (const [method = '', path = ''] of rows) {
      // An empty body: a role that may call gets a 400 about it, or a success.
      const json = method === 'GET' ? undefined : {}
      const { status, body } = await as({ token: tokens[role] ?? '' }, method, path, json)
      const isRefused = status === 403 && body.error === 'forbidden'
      const cell = [200, 400].includes(status) ? 'in' : isRefused ? '-' : `${status} ${body.error}`
      found.push([method, path, cell].join(' '))
    }
    expect(found).toEqual(CELLS[role])
  })

  it('are checked by every endpoint that takes a session', () => {
    const endpoints = Object.values(api).flatMap((group) => Object.values<Endpoint>(group))
    for (const { path, auth, needs } of endpoints) {
      if (auth === 'none') expect(needs, path).toBeUndefined()
      else expect(needs, path).toBeDefined()
    }
  })

  it('allow what an endpoint does not name to the owner only', () => {
    expect(ROLES.filter((role) => mayDo(role, undefined))).toEqual(['owner'])
  })
})

describe('an invitation', () => {
  it('makes a new login a member, once', async () => {
    const { email } = await world().invitation(owner, 'developer')
    const token = await tokenFor(email)
    const json = { token, password: 'a long password', name: 'Asha' }
    const { data } = expectStatus(200, await accept(json)).body
    expect(data.workspace.id).toBe(owner.id)
    const members = (await as(data, 'GET', '/members')).body.data.members
    expect(members).toEqual([
      expect.objectContaining({ id: owner.id, email: owner.email, role: 'owner' }),
      expect.objectContaining({ email, name: 'Asha', role: 'developer' }),
    ])
    expect((await accept(json)).body).toMatchObject({ message: 'Invalid or expired token' })
    const logged = expectStatus(
      200,
      await login({ email: email.toUpperCase(), password: json.password }),
    )
    expect(logged.body.data.workspace.id).toBe(owner.id)
    expect((await as(owner, 'GET', '/invitations')).body.data.invitations).toEqual([])
    expect(await audited(owner)).toEqual(
      expect.arrayContaining(['invitation.created', 'member.added']),
    )
  })

  it('is used by one of many simultaneous requests', async () => {
    const { email } = await world().invitation(owner)
    const json = { token: await tokenFor(email), password: 'a long password' }
    const answers = await Promise.all([accept(json), accept(json), accept(json), accept(json)])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await as(owner, 'GET', '/members')).body.data.members).toHaveLength(2)
  })

  it('ends when it is withdrawn, replaced or too old', async () => {
    const { id, email } = await world().invitation(owner)
    const withdrawn = await tokenFor(email)
    expectStatus(200, await as(owner, 'DELETE', `/invitations/${id}`))
    const role = 'viewer'
    expectStatus(201, await as(owner, 'POST', '/invitations', { email, role }))
    const replaced = await tokenFor(email)
    expectStatus(201, await as(owner, 'POST', '/invitations', { email: email.toUpperCase(), role }))
    expect((await as(owner, 'GET', '/invitations')).body.data.invitations).toHaveLength(1)
    for (const token of [withdrawn, replaced]) {
      expect((await accept({ token, password: 'a long password' })).status).toBe(400)
    }
    const late = await world().invitation(owner)
    const token = await tokenFor(late.email)
    await world().advance(7 * 86_400_000)
    expect((await accept({ token, password: 'a long password' })).status).toBe(400)
  })

  it('needs the password of a login with the address, whatever the case of the letters', async () => {
    const other = await world().signup()
    const email = other.email.toUpperCase()
    expectStatus(201, await as(owner, 'POST', '/invitations', { email, role: 'viewer' }))
    await world().core.mails.idle()
    const link = world().core.mails.list()[0]?.link ?? ''
    const token = new URL(link).searchParams.get('token')
    expect((await accept({ token, password: 'another password' })).status).toBe(401)
    const { data } = expectStatus(200, await accept({ token, password: other.password })).body
    expect(data.workspace.id).toBe(owner.id)
    // The login still owns its workspace, and chooses.
    const { email: own, password } = other
    const home = expectStatus(200, await login({ email: own, password })).body.data
    expect(home.workspace.id).toBe(other.id)
    const there = await login({ email: own, password, workspace_id: owner.id })
    expect(expectStatus(200, there).body.data.workspace.id).toBe(owner.id)
    expect((await as(there.body.data, 'POST', '/api-keys', { name: 'x' })).status).toBe(403)
    expect((await as(home, 'POST', '/api-keys', { name: 'x' })).status).toBe(201)
    const stranger = await world().signup()
    const foreign = await login({ email: own, password, workspace_id: stranger.id })
    expect(foreign.status).toBe(404)
  })

  it('is refused to members, to unverified workspaces, and for the role of the owner', async () => {
    const { email } = await world().member(owner, 'viewer')
    const invite = (account: Account, json: object) => as(account, 'POST', '/invitations', json)
    expect((await invite(owner, { email, role: 'admin' })).status).toBe(400)
    expect((await invite(owner, { email: owner.email, role: 'admin' })).status).toBe(400)
    expect((await invite(owner, { email: 'x@example.com', role: 'owner' })).status).toBe(400)
    const unverified = await world().signup()
    expect((await invite(unverified, { email: 'x@example.com', role: 'admin' })).status).toBe(403)
  })

  it('keeps the address for a login: a signup with it is refused', async () => {
    const { email } = await world().member(owner, 'viewer')
    const json = { email: email.toUpperCase(), password: 'long enough', company_name: 'New' }
    const { status, body } = await world().call('POST', '/api/v1/auth/signup', { json })
    expect([status, body.message]).toEqual([400, 'Email already exists'])
  })

  it('shows no text of the workspace in its mail', async () => {
    await as(owner, 'PUT', '/account', { name: 'Buy pills' })
    const { email } = await world().invitation(owner)
    await world().core.mails.idle()
    const mail = world()
      .core.mails.list()
      .find(({ to }) => to === email)
    expect(JSON.stringify(mail)).not.toContain('pills')
    expect(mail?.text).toContain(owner.email)
  })
})

describe('a role', () => {
  it('narrows and ends in sessions that exist, at once', async () => {
    const member = await world().member(owner, 'developer')
    expect((await as(member, 'POST', '/api-keys', { name: 'x' })).status).toBe(201)
    expectStatus(200, await as(owner, 'PUT', `/members/${member.id}`, { role: 'viewer' }))
    expect((await as(member, 'POST', '/api-keys', { name: 'x' })).status).toBe(403)
    expect((await as(member, 'GET', '/contacts')).status).toBe(200)
    expectStatus(200, await as(owner, 'DELETE', `/members/${member.id}`))
    expect((await as(member, 'GET', '/contacts')).status).toBe(401)
    expect((await login(member)).status).toBe(401)
    expect(await audited(owner)).toEqual(
      expect.arrayContaining(['member.changed', 'member.removed']),
    )
    // The address is free again.
    const json = { email: member.email, password: 'long enough', company_name: 'New' }
    expect((await world().call('POST', '/api/v1/auth/signup', { json })).status).toBe(201)
  })

  it('is not raised by its member, and the owner cannot be changed or removed', async () => {
    const admin = await world().member(owner, 'admin')
    const viewer = await world().member(owner, 'viewer')
    const role = { role: 'admin' }
    expect((await as(viewer, 'PUT', `/members/${viewer.id}`, role)).status).toBe(403)
    expect((await as(admin, 'PUT', `/members/${admin.id}`, { role: 'owner' })).status).toBe(400)
    for (const who of [admin, owner]) {
      expect((await as(who, 'PUT', `/members/${owner.id}`, role)).status).toBe(403)
      expect((await as(who, 'DELETE', `/members/${owner.id}`)).status).toBe(403)
    }
    const password = { current_password: owner.password }
    expect((await as(admin, 'POST', `/members/${admin.id}/owner`, password)).status).toBe(403)
    expect((await as(viewer, 'DELETE', `/members/${admin.id}`)).status).toBe(403)
    // A member may leave.
    expect((await as(viewer, 'DELETE', `/members/${viewer.id}`)).status).toBe(200)
  })

  it('of one workspace gives nothing in another', async () => {
    const stranger = await world().signup()
    const member = await world().member(owner, 'admin')
    const claims = claimsOf(member.id)
    for (const token of [
      forgeToken({ claims: { ...claims, ws: stranger.id } }),
      forgeToken({ claims: { ...claims, sub: owner.id, ws: stranger.id } }),
      forgeToken({ claims }),
      forgeToken({ claims: { ...claims, ws: "' or '1'='1" } }),
    ]) {
      expect((await as({ token }, 'GET', '/account')).status).toBe(401)
    }
  })
})

describe('a change of members by a session', () => {
  const sessionOf = ({ id, token }: Account) => ({
    user_id: id,
    session_hash: hash('sha256', token.slice(0, token.lastIndexOf('.'))),
    token_version: 1,
  })
  const by = (account: Account) =>
    ({
      kind: 'session',
      id: account.id,
      address: null,
      request_id: null,
      session: sessionOf(account),
    }) as const

  it('is refused in its transaction if the role or the session ended after the first check', async () => {
    const { members } = world().core
    const admin = await world().member(owner, 'admin')
    const other = await world().member(owner, 'viewer')
    const json = { email: 'late@example.com', role: 'admin' } as const
    await members.update(owner.id, admin.id, { role: 'viewer' })
    for (const change of [
      () => members.invite(owner.id, json, by(admin)),
      () => members.update(owner.id, admin.id, { role: 'admin' }, by(admin)),
      () => members.remove(owner.id, other.id, by(admin)),
      () => members.makeOwner(owner.id, admin.id, { current_password: owner.password }, by(admin)),
      () => members.rename(owner.id, other.id, 'Mallory', by(admin)),
    ]) {
      await expect(change()).rejects.toMatchObject({ code: 'forbidden' })
    }
    await members.remove(owner.id, admin.id)
    for (const late of [
      members.invite(owner.id, json, by(admin)),
      members.rename(owner.id, admin.id, 'Late', by(admin)),
    ]) {
      await expect(late).rejects.toMatchObject({ code: 'token_expired' })
    }
    await expect(members.rename(owner.id, admin.id, 'Late')).rejects.toMatchObject({
      code: 'not_found',
    })
    expect((await members.list(owner.id)).map(({ role }) => role)).toEqual(['owner', 'viewer'])
    expect(await members.invitations(owner.id)).toEqual([])
  })
})

describe('the change of the owner', () => {
  it('exchanges the roles and ends the sessions of both', async () => {
    const heir = await world().member(owner, 'viewer')
    const key = await world().key(owner)
    await world().core.members.rename(owner.id, owner.id, 'First')
    await world().core.members.rename(owner.id, heir.id, 'Second')
    const path = `/members/${heir.id}/owner`
    expect((await as(owner, 'POST', path, { current_password: 'wrong' })).status).toBe(400)
    expectStatus(200, await as(owner, 'POST', path, { current_password: owner.password }))
    for (const token of [owner.token, heir.token]) {
      expect((await as({ token }, 'GET', '/account')).status).toBe(401)
    }
    const { email, password } = heir
    const now = expectStatus(200, await login({ email, password })).body.data
    expect(now.workspace).toMatchObject({ id: owner.id, email })
    const former = expectStatus(200, await login(owner)).body.data
    const members = (await as(now, 'GET', '/members')).body.data.members
    type Person = { email: string; name: string; role: string }
    expect(members.map((one: Person) => [one.email, one.name, one.role])).toEqual([
      [email, 'Second', 'owner'],
      [owner.email, 'First', 'admin'],
    ])
    expect((await as(former, 'PUT', `/members/${owner.id}`, { role: 'viewer' })).status).toBe(403)
    expect((await world().send(key.key)).status).toBe(201)
    // A token of the former owner is no token of the new one, whatever its version.
    for (const tv of [1, 2]) {
      const token = forgeToken({ claims: { ...claimsOf(owner.id), tv, jti: 'x' } })
      expect((await as({ token }, 'GET', '/account')).status).toBe(tv === 2 ? 200 : 401)
    }
  })

  it('leaves each act in the audit log with its person', async () => {
    const heir = await world().member(owner, 'admin')
    const elsewhere = await world().signup()
    await world().verify(elsewhere)
    for (const { email, password } of [heir, owner]) {
      expectStatus(201, await as(elsewhere, 'POST', '/invitations', { email, role: 'viewer' }))
      expectStatus(200, await accept({ token: await tokenFor(email), password }))
    }
    // A member who leaves and joins again is the same person.
    const [left, returned] = [await world().signup(), { email: heir.email, role: 'viewer' }]
    const join = async () => {
      expectStatus(201, await as(left, 'POST', '/invitations', returned))
      const token = await tokenFor(heir.email)
      expectStatus(200, await accept({ token, password: heir.password }))
    }
    await world().verify(left)
    await join()
    expectStatus(200, await as(left, 'DELETE', `/members/${heir.id}`))
    expectStatus(200, await as(heir, 'PUT', '/account', { phone: '+14155552671' }))
    const path = `/members/${heir.id}/owner`
    expectStatus(200, await as(owner, 'POST', path, { current_password: owner.password }))
    const { email, password } = heir
    const now = expectStatus(200, await login({ email, password, workspace_id: owner.id })).body
      .data
    type Entry = { action: string; actor: { name: string | null } }
    const actorsOf = async (of: { token: string }) => {
      const { data } = expectStatus(200, await as(of, 'GET', '/audit')).body
      return (data.audit_entries as Entry[]).map(({ action, actor }) => [action, actor.name])
    }
    const own = await actorsOf(now)
    expect(own[0]).toEqual(['session.created', email])
    expect(own[1]).toEqual(['owner.changed', owner.email])
    expect(own[2]).toEqual(['account.updated', email])
    expect(own).toContainEqual(['invitation.created', owner.email])
    const others = await actorsOf(elsewhere)
    for (const name of [email, owner.email]) {
      expect(others).toContainEqual(['member.added', name])
    }
    await join()
    const added = (await actorsOf(left)).filter(([action]) => action === 'member.added')
    expect(added).toEqual(Array(2).fill(['member.added', email]))
    // Its present address is not for a workspace that the person left.
    expectStatus(200, await as(elsewhere, 'DELETE', `/members/${owner.id}`))
    const later = await actorsOf(elsewhere)
    expect(later).not.toContainEqual(['member.added', email])
    expect(later).toContainEqual(['member.added', null])
  })

  it('is refused for a login that owns another workspace', async () => {
    const other = await world().signup()
    const { email, password } = other
    expectStatus(201, await as(owner, 'POST', '/invitations', { email, role: 'admin' }))
    expectStatus(200, await accept({ token: await tokenFor(email), password }))
    const request = { current_password: owner.password }
    expect((await as(owner, 'POST', `/members/${other.id}/owner`, request)).status).toBe(403)
    expect((await as(owner, 'GET', '/account')).status).toBe(200)
  })
})

describe('sessions', () => {
  it('are listed with their client, and end one by one', async () => {
    const { email, password } = owner
    const headers = { 'user-agent': 'A'.repeat(500) }
    const other = await world().call('POST', '/api/v1/auth/login', {
      json: { email, password },
      headers,
      from: '192.0.2.77',
    })
    const { sessions } = (await as(owner, 'GET', '/sessions')).body.data
    expect(sessions).toHaveLength(2)
    expect(sessions[0]).toMatchObject({
      is_current: false,
      network: '192.0.2.0/24',
      agent: 'A'.repeat(200),
      workspace_id: owner.id,
    })
    expect(sessions[1]).toMatchObject({ is_current: true })
    expect(JSON.stringify(sessions)).not.toContain('hash')
    expectStatus(200, await as(owner, 'DELETE', `/sessions/${sessions[0].id}`))
    expect((await as(other.body.data, 'GET', '/account')).status).toBe(401)
    expect((await as(owner, 'GET', '/account')).status).toBe(200)
    expect((await as(owner, 'DELETE', `/sessions/${sessions[0].id}`)).status).toBe(404)
  })

  it('end together, also those of another workspace of the login', async () => {
    const member = await world().member(owner, 'viewer')
    const again = (await login(member)).body.data
    expectStatus(200, await as(member, 'DELETE', '/sessions'))
    for (const { token } of [member, again]) {
      expect((await as({ token }, 'GET', '/account')).status).toBe(401)
    }
    expect((await as(owner, 'GET', '/account')).status).toBe(200)
  })

  it('show the time of their last use, exact to five minutes', async () => {
    const last = async () =>
      (await as(owner, 'GET', '/sessions')).body.data.sessions[0].last_seen_at
    const first = await last()
    await world().advance(4 * 60_000)
    expect(await last()).toBe(first)
    await world().advance(60_000)
    expect(await last()).toBe(world().now().toISOString())
  })
})

describe('a password of a member', () => {
  it('is changed and reset without a change of the workspace', async () => {
    const member = await world().member(owner, 'viewer')
    const key = await world().key(owner)
    const { email, password } = member
    const change = { current_password: password, new_password: 'another long password' }
    expectStatus(200, await as(member, 'POST', '/auth/change-password', change))
    expect((await as(member, 'GET', '/account')).status).toBe(401)
    expect((await login({ email, password })).status).toBe(401)
    await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
    const token = await world().mailed(email, 'reset_password')
    const json = { token, password: 'a third long password', revoke_api_keys: true }
    expectStatus(200, await world().call('POST', '/api/v1/auth/reset-password', { json }))
    expectStatus(200, await login({ email, password: json.password }))
    expect((await as(owner, 'GET', '/account')).status).toBe(200)
    expect((await world().send(key.key)).status).toBe(201)
  })
})

describe('limits', () => {
  it('of invitations in a day hold, also when each is withdrawn', async () => {
    const invite = (i: number) =>
      as(owner, 'POST', '/invitations', { email: `p${i}@example.com`, role: 'viewer' })
    for (let i = 0; i < 100; i++) {
      const { id } = expectStatus(201, await invite(i)).body.data.invitation
      expectStatus(200, await as(owner, 'DELETE', `/invitations/${id}`))
    }
    const { status, headers } = await invite(100)
    expect([status, headers['retry-after']]).toEqual([429, '3600'])
  })

  it('of the list of sessions keep the newest', async () => {
    const { core } = world()
    const session = { user_id: owner.id, workspace_id: owner.id, agent: null }
    const ends_at = new Date(world().now().getTime() + 1_000)
    for (let i = 0; i < 101; i++) {
      await core.members.listSession({ ...session, session_hash: `h${i}`, ends_at })
    }
    expect((await as(owner, 'GET', '/sessions')).body.data.sessions).toHaveLength(100)
    expect((await as(owner, 'GET', '/account')).status).toBe(200)
  })
})

describe('a request without a body over a connection', () => {
  const listening = useWorld({ listen: true })

  it('is refused by the role too', async () => {
    const account = await listening().signup()
    await listening().verify(account)
    const { token } = await listening().member(account, 'viewer')
    const statusOf = async (path: string) => {
      const headers = { authorization: `Bearer ${token}`, connection: 'close' }
      const answer = await fetch(`${listening().url}/api/v1${path}`, { headers })
      await answer.arrayBuffer()
      return answer.status
    }
    expect([await statusOf('/contacts'), await statusOf('/audit')]).toEqual([200, 403])
  })
})

describe('a reset of a password', () => {
  const listed = async (account: Account, path: string, name: string) => {
    const json = { email: account.email, password: 'the password after a reset' }
    const { token } = (await login(json)).body.data
    return (await as({ token }, 'GET', path)).body.data[name].map(
      ({ email }: { email: string }) => email,
    )
  }
  /** What a stranger does with a session of `account`. */
  async function intrude(account: Account) {
    const admin = await world().member(account, 'admin')
    const second = await world().member(admin, 'developer')
    const open = await world().invitation(admin)
    const keys = [await world().key(account), await world().key(admin), await world().key(second)]
    return { people: [admin.email, second.email], open: open.email, keys }
  }
  const isActive = async ({ key }: { key: string }) =>
    (await world().call('GET', '/api/v1/messages', { key })).status === 200

  it('ends what the login and those that it invited added since the last verified sign-in', async () => {
    const friend = await world().member(owner, 'admin')
    const kept = await world().key(owner)
    await world().advance(1_000)
    await reset(owner, { keep_recent: true })
    owner.token = (
      await login({ email: owner.email, password: 'the password after a reset' })
    ).body.data.token
    await world().advance(1_000)
    const { people, open, keys } = await intrude(owner)
    const byFriend = await world().invitation(friend)
    await world().advance(1_000)
    expect(await reset(owner)).toContain(
      '3 API keys were revoked, 1 invitation was withdrawn and 2 members were removed. Create new keys. Invite the people of your team again.',
    )
    expect(await Promise.all([kept, ...keys].map(isActive))).toEqual([true, false, false, false])
    const members = await listed(owner, '/members', 'members')
    expect(members).toEqual([owner.email, friend.email])
    for (const email of people) expect(members).not.toContain(email)
    const invited = await listed(owner, '/invitations', 'invitations')
    expect(invited).toEqual([byFriend.email])
    expect(invited).not.toContain(open)
  })

  it('ends the same with revoke_api_keys, and all keys', async () => {
    const kept = await world().key(owner)
    await world().advance(1_000)
    await reset(owner, { keep_recent: true })
    owner.token = (
      await login({ email: owner.email, password: 'the password after a reset' })
    ).body.data.token
    await world().advance(1_000)
    const { keys } = await intrude(owner)
    await reset(owner, { revoke_api_keys: true, keep_recent: true })
    expect(await Promise.all([kept, ...keys].map(isActive))).toEqual([false, false, false, false])
    expect(await listed(owner, '/members', 'members')).toEqual([owner.email])
  })

  it('of a member ends what this member added, in each workspace', async () => {
    const admin = await world().member(owner, 'admin')
    await world().advance(1_000)
    const { people, open, keys } = await intrude(admin)
    const kept = await world().key(owner)
    await world().advance(1_000)
    await reset(admin)
    expect(await Promise.all([kept, ...keys].map(isActive))).toEqual([true, false, false, false])
    const members = await listed(admin, '/members', 'members')
    expect(members).toEqual([owner.email, admin.email])
    for (const email of people) expect(members).not.toContain(email)
    expect(await listed(admin, '/invitations', 'invitations')).not.toContain(open)
  })

  it('ends nothing from before a sign-in in its network', async () => {
    await intrude(owner)
    await world().advance(1_000)
    const { email, password } = owner
    const json = { email, password }
    await world().call('POST', '/api/v1/auth/login', { json, from: '198.18.0.200' })
    await world().advance(1_000)
    expect(await reset(owner)).not.toMatch(/revoked|removed|withdrawn/)
    expect(await listed(owner, '/members', 'members')).toHaveLength(3)
  })
})

describe('the sessions of a member', () => {
  const isOpen = async (account: Account) => (await as(account, 'GET', '/account')).status === 200
  const end = (by: Account, of: Account, current_password?: string) =>
    as(by, 'POST', `/members/${of.id}/end-sessions`, { current_password })

  it('are ended by owner and admins, with their password', async () => {
    const [admin, developer] = [
      await world().member(owner, 'admin'),
      await world().member(owner, 'developer'),
    ]
    expect((await end(admin, developer)).body.message).toBe(
      'Missing required field: current_password',
    )
    expect((await end(admin, developer, 'a wrong one')).status).toBe(400)
    expect((await end(developer, admin, developer.password)).status).toBe(403)
    expect(await isOpen(developer)).toBe(true)
    expectStatus(200, await end(admin, developer, admin.password))
    expect(await isOpen(developer)).toBe(false)
    const { email, password } = developer
    expect((await login({ email, password })).status).toBe(200)
    const [entry] = (await as(owner, 'GET', '/audit?action=sessions.ended')).body.data.audit_entries
    expect(entry).toMatchObject({ actor: { id: admin.id }, target: { id: developer.id } })
  })

  it('of the owner are ended only by the owner, and those of a stranger are not found', async () => {
    const admin = await world().member(owner, 'admin')
    expect((await end(admin, owner, admin.password)).status).toBe(403)
    const stranger = await world().signup()
    expect((await end(owner, stranger, owner.password)).status).toBe(404)
    expect([await isOpen(owner), await isOpen(stranger)]).toEqual([true, true])
    expectStatus(200, await end(owner, owner, owner.password))
    expect(await isOpen(owner)).toBe(false)
  })
})

describe('the own sessions', () => {
  it('are ended with the password, one or all', async () => {
    const id = await world().otherSession(owner)
    const end = (json: object) => as(owner, 'POST', '/sessions/end', json)
    expect((await end({ id })).status).toBe(400)
    expect((await end({ id, current_password: 'a wrong one' })).status).toBe(400)
    expectStatus(200, await end({ id, current_password: owner.password }))
    expect((await end({ id, current_password: owner.password })).status).toBe(404)
    expectStatus(200, await end({ current_password: owner.password }))
    expect((await as(owner, 'GET', '/account')).status).toBe(401)
  })
})
