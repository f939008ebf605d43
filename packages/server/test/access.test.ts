import { api, type Endpoint } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import type { CallOptions } from './call.ts'
import { expiredToken, forgedTokens } from './tokens.ts'
import { useWorld } from './world.ts'

/**
 * Who may do what: written by hand from the specification (interface: Authentication; contract: sections 1 to 3),
 * not read off the code. Columns: no credential; a session; one that expired; a forged one; keys with one scope each
 * (send, read, contacts, webhooks); keys that are deactivated, malformed or mistyped, expired, and not allowed from
 * this address. Cells: `in`, or the refusal of that name below.
 */
const GOLDEN = `
                                     none  jwt   old   bad    send  read  cont  hook   off   odd   past  far
POST   /api/v1/auth/signup           in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/login            in    in    in    in     in    in    in    in     in    in    in    in
GET    /api/v1/account               jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/api-keys              jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/api-keys              jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/api-keys/:id          jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/messages/send         key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/messages              key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
GET    /api/v1/messages/:id          key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
POST   /api/v1/webhooks              any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks              any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/events       any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/:id          any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
DELETE /api/v1/webhooks/:id          any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/:id/deliveries any? in   old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /health                       in    in    in    in     in    in    in    in     in    in    in    in
GET    /health/live                  in    in    in    in     in    in    in    in     in    in    in    in
GET    /health/ready                 in    in    in    in     in    in    in    in     in    in    in    in
`

const lacks = (scope: string) =>
  [403, 'forbidden', `API key does not have required scope: ${scope}`] as const

const REFUSALS: Record<string, readonly [status: number, error: string, message: string]> = {
  'key?': [401, 'unauthorized', 'Missing X-API-Key header'],
  'jwt?': [401, 'unauthorized', 'Missing Authorization header'],
  'any?': [401, 'unauthorized', 'Missing Authorization or X-API-Key header'],
  old: [401, 'token_expired', 'Your session has expired. Please login again.'],
  bad: [401, 'token_expired', 'Invalid or expired token'],
  off: [401, 'unauthorized', 'API key has been deactivated'],
  odd: [401, 'unauthorized', 'Invalid API key'],
  far: [403, 'forbidden', 'This API key may not be used from this address'],
  '-send': lacks('send_messages'),
  '-read': lacks('read_messages'),
  '-hook': lacks('manage_webhooks'),
}

const [header = [], ...rows] = GOLDEN.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))
const CELLS = rows.flatMap(([method = '', path = '', ...cells]) =>
  cells.map((cell, i) => ({ endpoint: `${method} ${path}`, column: header[i] ?? '', cell })),
)

const world = useWorld()
let owner: Account
let credentials: Record<string, CallOptions>

beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  const keyWith = async (request: Record<string, unknown>) => ({
    key: (await world().key(owner, request)).key,
  })
  const off = await world().key(owner)
  await world().call('DELETE', `/api/v1/api-keys/${off.id}`, { token: owner.token })
  const past = await keyWith({ expires_at: '2026-05-04T10:00:00Z' })
  await world().advance(60 * 60_000)
  credentials = {
    none: {},
    jwt: { token: owner.token },
    old: { token: expiredToken(owner.id) },
    bad: { token: forgedTokens(owner.id)['another secret'] },
    send: await keyWith({ scopes: ['send_messages'] }),
    read: await keyWith({ scopes: ['read_messages'] }),
    cont: await keyWith({ scopes: ['manage_contacts'] }),
    hook: await keyWith({ scopes: ['manage_webhooks'] }),
    off: { key: off.key },
    odd: { key: 'svc_0000000000000000000000000000000000000' },
    past,
    far: await keyWith({ allowed_ips: ['192.0.2.0/24', '2001:db8::/32'] }),
  }
})

/** A request that the owner's own credentials would get through, and the status of that. */
async function requestFor(endpoint: string): Promise<[path: string, json?: object]> {
  const path = endpoint.split(' ')[1] ?? ''
  const one = () => Math.random().toString(36).slice(2)
  const id = async () => {
    if (path.includes('/api-keys/')) return (await world().key(owner)).id
    if (path.includes('/webhooks/')) return (await world().webhook(owner)).id
    const { key } = await world().key(owner)
    return (await world().send(key)).body.data.message_id
  }
  const filled = path.includes(':id') ? path.replace(':id', await id()) : path
  switch (endpoint) {
    case 'POST /api/v1/auth/signup':
      return [
        filled,
        { email: `${one()}@example.com`, password: 'long enough', company_name: 'New' },
      ]
    case 'POST /api/v1/auth/login':
      return [filled, { email: owner.email, password: owner.password }]
    case 'POST /api/v1/api-keys':
      return [filled, { name: 'New' }]
    case 'POST /api/v1/messages/send':
      return [filled, sms]
    case 'POST /api/v1/webhooks':
      return [filled, { url: 'https://receiver.example/' }]
    default:
      return [filled]
  }
}

const ENDPOINTS: Endpoint[] = Object.values(api).flatMap((group) => Object.values(group))

it('names every endpoint there is, once', () => {
  const served = ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
  expect(rows.map(([method, path]) => `${method} ${path}`).sort()).toStrictEqual(served.sort())
})

it.each(CELLS)('$endpoint with $column: $cell', async ({ endpoint, column, cell }) => {
  const method = endpoint.split(' ')[0] ?? ''
  const credential = credentials[column] ?? {}
  const [path, json] = await requestFor(endpoint)
  const { status, body } = await world().call(method, path, { ...credential, json })
  if (cell === 'in') {
    const isMade = method === 'POST' && !path.endsWith('/login')
    expect(status).toBe(isMade ? 201 : 200)
    return
  }
  const [expected, error, message] = REFUSALS[cell] ?? []
  expect(status).toBe(expected)
  expect(body).toStrictEqual({ success: false, error, message })
})

describe('a refused caller learns nothing of what a request looks like', () => {
  it.each(CELLS.filter(({ cell }) => cell !== 'in'))(
    '$endpoint with $column',
    async ({ endpoint, column, cell }) => {
      const [method = '', path = ''] = endpoint.split(' ')
      const request = { ...credentials[column], raw: '{"broken', headers: {} }
      const { status, body } = await world().call(method, `${path}?limit=0`, request)
      const [expected, error, message] = REFUSALS[cell] ?? []
      expect([status, body]).toStrictEqual([expected, { success: false, error, message }])
    },
  )
})
