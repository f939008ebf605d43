import { once } from 'node:events'
import { connect } from 'node:net'
import type { Actor, Core } from '@svc/core'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { expectStatus } from './call.ts'
import { requestText } from './raw-http.ts'
import { useWorld } from './world.ts'

/** How often a credential was found valid. */
let found = 0

function counting(core: Core): Core {
  const { members, apiKeys } = core
  return {
    ...core,
    members: {
      ...members,
      async roleOf(session) {
        const role = await members.roleOf(session)
        found += 1
        return role
      },
    },
    apiKeys: {
      ...apiKeys,
      async authenticate(text, address) {
        const identity = await apiKeys.authenticate(text, address)
        found += 1
        return identity
      },
    },
  }
}

const world = useWorld({ listen: true, alter: counting })

const url = 'https://receiver.example/hook'

let owner: Account
let key: { id: string; key: string }
beforeEach(async () => {
  owner = await world().signup({ credits: 10 })
  await world().verify(owner)
  key = await world().key(owner)
})

/** An admitted request whose body stalls; `finish` sends the rest and returns the status. */
async function stall(
  line: string,
  { credential, json }: { credential: string; json: unknown },
): Promise<() => Promise<number>> {
  const before = found
  const body = JSON.stringify(json)
  const socket = connect(Number(new URL(world().url).port), '127.0.0.1')
  await once(socket, 'connect')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  const closed = once(socket, 'close')
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  const headers = ['Content-Type: application/json', credential, length]
  socket.write(requestText(`${line} HTTP/1.1`, headers, body.slice(0, 1)))
  await expect.poll(() => found, { timeout: 5_000 }).toBeGreaterThan(before)
  return async () => {
    socket.write(body.slice(1))
    await closed
    return Number(answer.split(' ')[1])
  }
}

async function reset(): Promise<void> {
  const { email } = owner
  await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
  const token = await world().mailed(email, 'reset_password')
  const json = { token, password: 'another battery staple', revoke_api_keys: true }
  expectStatus(200, await world().call('POST', '/api/v1/auth/reset-password', { json }))
}

describe('a body that arrives after its credential ended changes nothing', () => {
  it.each([
    ['POST /api/v1/api-keys', { name: 'for later' }],
    ['POST /api/v1/webhooks', { url, events: ['*'] }],
    ['PUT /api/v1/account', { sender_name: 'Not the owner' }],
    ['POST /api/v1/contacts', { phone: '+14155552671' }],
  ])('with a session that a reset ended: %s', async (line, json) => {
    const finish = await stall(line, { credential: `Authorization: Bearer ${owner.token}`, json })
    await reset()
    expect(await finish()).toBe(401)
  })

  it('with a session that was logged out', async () => {
    const credential = `Authorization: Bearer ${owner.token}`
    const finish = await stall('POST /api/v1/api-keys', { credential, json: { name: 'for later' } })
    const { token } = owner
    expectStatus(200, await world().call('POST', '/api/v1/auth/logout', { token }))
    expect(await finish()).toBe(401)
  })

  it.each([
    ['POST /api/v1/messages/send', sms],
    ['POST /api/v1/webhooks', { url, events: ['*'] }],
  ])('with a key that was deactivated: %s', async (line, json) => {
    const finish = await stall(line, { credential: `X-API-Key: ${key.key}`, json })
    const { token } = owner
    expectStatus(200, await world().call('DELETE', `/api/v1/api-keys/${key.id}`, { token }))
    expect(await finish()).toBe(401)
  })

  it('a body with a credential that stays valid is read', async () => {
    const finish = await stall('POST /api/v1/messages/send', {
      credential: `X-API-Key: ${key.key}`,
      json: sms,
    })
    expect(await finish()).toBe(201)
  })
})

// The lookup of a host name takes any time, after the body has arrived.
describe('work that takes longer than its credential is valid is refused in its own transaction', () => {
  const byKey = (): Actor => ({ kind: 'api_key', id: key.id, address: null, request_id: null })
  const bySession = (): Actor => ({
    kind: 'session',
    id: null,
    address: null,
    request_id: null,
    session: { session_hash: 'of a token', token_version: 1 },
  })
  const revoked = { status: 401, message: 'API key has been deactivated' }
  const ended = { status: 401, message: 'Invalid or expired token' }

  it('for a deactivated key', async () => {
    const { webhooks, apiKeys } = world().core
    const hook = await webhooks.create(owner.id, { url, events: ['*'] }, byKey())
    await apiKeys.deactivate(owner.id, key.id)
    const made = webhooks.create(owner.id, { url, events: ['*'] }, byKey())
    await expect(made).rejects.toMatchObject(revoked)
    const moved = webhooks.update(owner.id, hook.id, { url: `${url}/2` }, byKey())
    await expect(moved).rejects.toMatchObject(revoked)
    await expect(webhooks.enable(owner.id, hook.id, byKey())).rejects.toMatchObject(revoked)
    await expect(webhooks.rotateSecret(owner.id, hook.id, byKey())).rejects.toMatchObject(revoked)
  })

  it('for a session from before a reset', async () => {
    const { webhooks, apiKeys } = world().core
    const session = bySession()
    const named = { name: 'made in time', mode: 'live' } as const
    expect(await apiKeys.create(owner.id, named, session)).toMatchObject({ name: 'made in time' })
    await reset()
    await expect(apiKeys.create(owner.id, named, session)).rejects.toMatchObject(ended)
    const made = webhooks.create(owner.id, { url, events: ['*'] }, session)
    await expect(made).rejects.toMatchObject(ended)
  })
})
