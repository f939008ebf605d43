import { describe, expect, it } from 'vitest'
import { expectStatus } from './call.ts'
import { useWorld } from './world.ts'

const world = useWorld({ payments: null })

const AUDIT = '/api/v1/audit'
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
const TIME = expect.stringMatching(/^2026-05-04T/)

const entriesOf = async (token: string, query = '') => {
  const { body } = expectStatus(200, await world().call('GET', `${AUDIT}${query}`, { token }))
  return body.data.audit_entries as { action: string; [field: string]: unknown }[]
}

describe(`GET ${AUDIT}`, () => {
  it('shows actor, change and client address, newest first', async () => {
    const { signup, key, webhook, call } = world()
    const owner = await signup()
    const made = await key(owner, { scopes: ['manage_webhooks'] })
    const hook = await webhook(owner, { headers: { Authorization: 'Bearer of the receiver' } })
    const from = '192.0.2.77'
    const change = { url: 'https://other.example/hook?token=in-the-url', description: 'Orders' }
    const changed = await call('PUT', `/api/v1/webhooks/${hook.id}`, {
      key: made.key,
      json: change,
      from,
    })
    expectStatus(200, changed)
    await call('POST', `/api/v1/webhooks/${hook.id}/rotate-secret`, { token: owner.token })
    await call('DELETE', `/api/v1/webhooks/${hook.id}`, { token: owner.token })
    await call('DELETE', `/api/v1/api-keys/${made.id}`, { token: owner.token })
    await call('PUT', '/api/v1/account', { token: owner.token, json: { phone: '+14155552671' } })
    const password = 'another password of the owner'
    const json = { current_password: owner.password, new_password: password }
    await call('POST', '/api/v1/auth/change-password', { token: owner.token, json })
    const login = await call('POST', '/api/v1/auth/login', {
      json: { email: owner.email, password },
    })
    const { token } = expectStatus(200, login).body.data

    const entries = await entriesOf(token)
    expect(entries.map(({ action }) => action)).toEqual([
      'session.created',
      'password.changed',
      'account.updated',
      'api_key.deactivated',
      'webhook.deleted',
      'webhook.secret_rotated',
      'webhook.updated',
      'webhook.created',
      'api_key.created',
      'session.created',
      'workspace.created',
    ])
    expect(entries[6]).toEqual({
      id: UUID,
      action: 'webhook.updated',
      actor: { kind: 'api_key', id: made.id, name: 'test key' },
      address: from,
      target: { type: 'webhook', id: hook.id },
      details: { changed: ['url', 'description'] },
      request_id: changed.headers['x-request-id'],
      created_at: TIME,
    })
    // A sign-in is the act of its login.
    expect(entries[0]).toMatchObject({ actor: { kind: 'session', id: null, name: owner.email } })
    expect(entries[10]).toMatchObject({
      actor: { kind: 'client', id: null, name: null },
      target: null,
    })
    const text = JSON.stringify(entries)
    const secrets = [made.key, hook.secret, owner.password, password, 'Bearer of', 'in-the-url']
    for (const secret of [...secrets, '+14155552671']) expect(text).not.toContain(secret)
  })

  it('shows actions with the tokens of e-mails', async () => {
    const { signup, mailed, call } = world()
    const { email } = await signup()
    const verify = { token: await mailed(email, 'verify_email') }
    expectStatus(200, await call('POST', '/api/v1/auth/verify-email', { json: verify }))
    await call('POST', '/api/v1/auth/forgot-password', { json: { email } })
    const password = 'a password after the reset'
    const reset = { token: await mailed(email, 'reset_password'), password }
    expectStatus(200, await call('POST', '/api/v1/auth/reset-password', { json: reset }))
    const login = await call('POST', '/api/v1/auth/login', { json: { email, password } })
    const entries = await entriesOf(expectStatus(200, login).body.data.token)
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['password.reset', 'email.verified']),
    )
  })

  it('shows actions of an operator, and none of another workspace or of the service', async () => {
    const { signup, grant, core } = world()
    const [owner, other] = [await signup(), await signup()]
    await grant(owner, 5)
    const operator = { kind: 'operator', id: 'asha', address: null, request_id: null } as const
    await core.credits.setTerms(owner.id, { status: 'frozen', reason: 'unpaid' }, operator)
    await core.credits.setTerms(owner.id, { status: 'active' }, operator)
    await core.dispatch.stop({ reason: 'moving' }, operator)
    await core.dispatch.resume(null, operator)
    await core.recipients.erase('+14155552679', {}, operator)
    const entries = await entriesOf(owner.token)
    expect(entries.slice(0, 3)).toMatchObject([
      { action: 'workspace.unfrozen', actor: { kind: 'operator', id: 'asha' }, address: null },
      { action: 'workspace.frozen', details: { reason: 'unpaid' } },
      { action: 'credits.granted', details: { credits: '5' }, target: { type: 'transaction' } },
    ])
    const others = await entriesOf(other.token)
    expect(others.map(({ action }) => action)).toEqual(['session.created', 'workspace.created'])
    const all = await core.audit.ofAll({}, { limit: 3, offset: 0 })
    expect(all).toMatchObject([
      { action: 'recipient.erased', workspace_id: null },
      { action: 'dispatch.resumed', workspace_id: null },
      { action: 'dispatch.paused', workspace_id: null, details: { reason: 'moving' } },
    ])
    expect(JSON.stringify(all)).not.toContain('4155552679')
  })

  it('filters by action and time, in pages', async () => {
    const { signup, key, advance } = world()
    const owner = await signup()
    await key(owner)
    const created = await entriesOf(owner.token, '?action=api_key.created')
    expect(created.map(({ action }) => action)).toEqual(['api_key.created'])
    const second = await entriesOf(owner.token, '?limit=1&page=2')
    expect(second.map(({ action }) => action)).toEqual(['session.created'])
    advance(60_000)
    const since = new Date(Date.parse(String(created[0]?.created_at)) + 1).toISOString()
    expect(await entriesOf(owner.token, `?startDate=${since}`)).toEqual([])
  })

  it('accepts only a session', async () => {
    const { signup, key, call } = world()
    const made = await key(await signup())
    expectStatus(401, await call('GET', AUDIT, { key: made.key }))
    expectStatus(401, await call('GET', AUDIT))
  })

  it('refuses an unknown action', async () => {
    const { signup, call } = world()
    const { token } = await signup()
    const answer = await call('GET', `${AUDIT}?action=flew`, { token })
    expect(expectStatus(400, answer).body.details[0].path).toBe('action')
  })
})
