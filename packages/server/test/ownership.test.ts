import { api, type Endpoint } from '@svc/core/contract'
import { beforeAll, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const NEVER_WAS = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

const NEVER_SUPPRESSED = 'sms/+255799999999'

/** Every endpoint with an id, with each of its credentials. */
const CASES = Object.entries(api).flatMap(([group, endpoints]) =>
  Object.values<Endpoint>(endpoints)
    .filter(({ path }) => path.includes(':'))
    .flatMap(({ method, path, auth }) =>
      (auth === 'jwt_or_api_key' ? (['jwt', 'api_key'] as const) : [auth]).map((credential) => ({
        group,
        method,
        path,
        credential,
      })),
    ),
)

interface Tenant {
  account: Account
  key: string
  /** The objects of the tenant, by the group of endpoints. */
  ids: Record<string, string>
}
let ours: Tenant
let theirs: Tenant

beforeAll(async () => {
  ours = await tenant()
  theirs = await tenant()
})

async function tenant(): Promise<Tenant> {
  const account = await world().signup({ credits: 10 })
  await world().verify(account)
  const { key } = await world().key(account)
  const ids = {
    api_keys: (await world().key(account)).id,
    messages: (await world().send(key)).body.data.message_id,
    verifications: (
      await world().call('POST', '/api/v1/verifications', {
        key,
        json: { to: '+255712345678', channel: 'sms' },
      })
    ).body.data.verification_id,
    bulks: (await world().bulk(key)).body.data.bulk_id,
    templates: await world().template(account),
    broadcasts: await world().broadcast(account),
    contacts: (await world().contact(account)).id,
    suppressions: await world().suppression(account),
    webhooks: (await world().webhook(account)).id,
    domains: (await world().domain(account)).id,
    members: (await world().member(account, 'developer')).id,
    invitations: (await world().invitation(account)).id,
    sessions: await world().otherSession(account),
  }
  // The service records this after the request, then at most once a minute: it must not appear
  // between two snapshots.
  await world().core.apiKeys.flush()
  return { account, key, ids }
}

/** All data that a tenant can see of its own. */
async function seen({ account: { token }, key }: Tenant): Promise<string> {
  const texts: string[] = []
  for (const path of [
    'account',
    'api-keys',
    'webhooks',
    'domains',
    'members',
    'invitations',
    'sessions',
    'templates',
    'broadcasts',
    'contacts',
    'contacts/suppressions',
  ]) {
    texts.push((await world().call('GET', `/api/v1/${path}`, { token })).text)
  }
  for (const path of ['messages', 'verifications']) {
    texts.push((await world().call('GET', `/api/v1/${path}`, { key })).text)
  }
  return texts.join('\n')
}

it('covers every group of endpoints with ids', () => {
  expect(new Set(CASES.map(({ group }) => group))).toStrictEqual(new Set(Object.keys(ours.ids)))
})

it.each(CASES)(
  "$method $path with $credential: answers for another tenant's object as for an unknown id",
  async ({ group, method, path, credential }) => {
    const { account, key } = ours
    const as = credential === 'api_key' ? { key } : { token: account.token }
    const filled = (id: string) => path.replace(':channel/:address', id).replace(/:\w+/g, id)
    const request = {
      ...as,
      ...(method === 'PUT' && group === 'members' && { json: { role: 'viewer' } }),
      ...(/\/(?:owner|end-sessions)$/.test(path) && {
        json: { current_password: account.password },
      }),
      ...(path.endsWith('/:id/check') && { json: { code: '482913' } }),
      ...(path.endsWith('/recover') && { json: { since: '2026-05-04' } }),
      ...(path.endsWith('/reschedule') && { json: { scheduled_at: world().now().toISOString() } }),
    }
    const before = await seen(theirs)
    const foreign = await world().call(method, filled(theirs.ids[group] ?? ''), request)
    const never = await world().call(
      method,
      filled(group === 'suppressions' ? NEVER_SUPPRESSED : NEVER_WAS),
      request,
    )
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(never.text)
    expect(await seen(theirs)).toBe(before)
  },
)

it('lists show a tenant no data of another', async () => {
  const text = await seen(ours)
  const foreign = [
    theirs.account.id,
    theirs.account.email,
    ...Object.values(theirs.ids).map((id) => id.split('/').at(-1)),
  ]
  for (const id of foreign) expect(text).not.toContain(id)
  for (const id of Object.values(ours.ids)) expect(text).toContain(id.split('/').at(-1))
})

it('an Idempotency-Key of another workspace is a new one', async () => {
  const repeat = { 'idempotency-key': 'the same' }
  const first = await world().send(ours.key, {}, repeat)
  const second = await world().send(theirs.key, {}, repeat)
  expect(second.status).toBe(201)
  expect(second.body.data.message_id).not.toBe(first.body.data.message_id)
})

it('a cursor of another workspace leads to no data of it', async () => {
  await world().send(theirs.key)
  await world().send(theirs.key)
  const theirPage = await world().call('GET', '/api/v1/messages?limit=1', { key: theirs.key })
  const cursor = theirPage.body.data.next_cursor
  expect(cursor).toStrictEqual(expect.any(String))
  const { text } = await world().call('GET', `/api/v1/messages?cursor=${cursor}`, { key: ours.key })
  expect(text).not.toContain(theirs.account.id)
})
