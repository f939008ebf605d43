import { api, type Endpoint } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, bulk, sms } from './accounts.ts'
import type { CallOptions } from './call.ts'
import { notification } from './notification.ts'
import { expiredToken, forgedTokens } from './tokens.ts'
import { useWorld } from './world.ts'

/**
 * The access matrix, written by hand from the specification (interface: Authentication; contract: sections 1 to 3), not
 * derived from the code. Columns: no credential; a session; one that expired; a forged one; keys with one scope each
 * (send, read, contacts, webhooks); keys that are deactivated, malformed or mistyped, expired, and not allowed from
 * this address. Cells: `in`, or the refusal of that name below.
 */
const GOLDEN = `
                                     none  jwt   old   bad    send  read  cont  hook   off   odd   past  far
POST   /api/v1/auth/signup           in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/login            in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/logout           jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/auth/verify-email     in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/resend-verification in in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/forgot-password  in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/reset-password   in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/auth/change-password  jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
PUT    /api/v1/account               jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/account               jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/balance               any?  in    old   bad    -read in    -read -read  off   odd   odd   far
GET    /api/v1/events                any?  in    old   bad    -read in    -read -read  off   odd   odd   far
GET    /api/v1/audit                 jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET /api/v1/members jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
PUT /api/v1/members/:id jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/members/:id jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST /api/v1/members/:id/owner jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST /api/v1/members/:id/end-sessions jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET /api/v1/invitations jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST /api/v1/invitations jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/invitations/:id jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST /api/v1/invitations/accept in in in in in in in in in in in in
GET /api/v1/sessions jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/sessions/:id jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/sessions jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST /api/v1/sessions/end jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET /api/v1/sign-in-links jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/sign-in-links/:id jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/api-keys              jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/api-keys              jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/api-keys/:id          jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/domains                jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/domains                jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/domains/:id            jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/domains/:id/verify     jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/domains/:id/rotate     jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
DELETE /api/v1/domains/:id            jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
POST   /api/v1/messages/send         key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/messages              key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
GET    /api/v1/messages/received     key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
GET    /api/v1/messages/:id          key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
GET    /api/v1/messages/:id/timeline key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
DELETE /api/v1/messages/:id          key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/:id/redact   key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/:id/reschedule key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/:id/cancel   key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/messages/export       key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
POST   /api/v1/messages/estimate     key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/verifications key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/verifications any?  in    old   bad    -read in    -read -read  off   odd   odd   far
GET    /api/v1/verifications/stats any?  in    old   bad    -read in    -read -read  off   odd   odd   far
POST   /api/v1/verifications/check key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/verifications/:id any?  in    old   bad    -read in    -read -read  off   odd   odd   far
POST   /api/v1/verifications/:id/check key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/verifications/:id/resend key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/verifications/:id/cancel key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/bulk         key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/messages/bulk/:id     key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
GET    /api/v1/messages/bulk/:id/rejected key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
POST   /api/v1/messages/bulk/:id/pause key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/bulk/:id/resume key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/bulk/:id/cancel key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/messages/bulk/:id/retry key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
GET    /api/v1/bulks/:id     key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
GET    /api/v1/bulks/:id/rejected key?  key?  key?  key?   -read in    -read -read  off   odd   odd   far
POST   /api/v1/bulks/:id/pause key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/bulks/:id/resume key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/bulks/:id/cancel key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/bulks/:id/retry key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/templates any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
POST   /api/v1/templates/push any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
POST   /api/v1/templates/preview any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/templates any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/templates/:name any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
PUT    /api/v1/templates/:name any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
POST   /api/v1/templates/:name/publish any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/templates/:name/versions any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/templates/:name/versions/:version any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
DELETE /api/v1/templates/:name any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
POST   /api/v1/broadcasts key?  key?  key?  key?   -cont -send -send -send  off   odd   odd   far
POST   /api/v1/broadcasts/preview key?  key?  key?  key?   -cont -send -send -send  off   odd   odd   far
GET    /api/v1/broadcasts any?  in    old   bad    -read in    -read -read  off   odd   odd   far
GET    /api/v1/broadcasts/:id any?  in    old   bad    -read in    -read -read  off   odd   odd   far
PUT    /api/v1/broadcasts/:id key?  key?  key?  key?   -cont -send -send -send  off   odd   odd   far
POST   /api/v1/broadcasts/:id/pause key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/broadcasts/:id/resume key?  key?  key?  key?   -cont -send -send -send  off   odd   odd   far
POST   /api/v1/broadcasts/:id/cancel key?  key?  key?  key?   in    -send -send -send  off   odd   odd   far
POST   /api/v1/contacts              any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/contacts              any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
POST   /api/v1/contacts/import       any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/contacts/export       any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/contacts/:id          any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
PUT    /api/v1/contacts/:id          any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
DELETE /api/v1/contacts/:id          any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
GET    /api/v1/contacts/suppressions any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
POST   /api/v1/contacts/suppressions any?  in    old   bad    -cont -cont in    -cont  off   odd   odd   far
DELETE /api/v1/contacts/suppressions/:channel/:address any? in old bad -cont -cont in -cont off odd odd far
POST   /api/v1/webhooks              any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks              any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/events       any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/:id          any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
PUT    /api/v1/webhooks/:id          any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
DELETE /api/v1/webhooks/:id          any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
POST   /api/v1/webhooks/:id/rotate-secret any? in old  bad    -hook -hook -hook in     off   odd   odd   far
POST   /api/v1/webhooks/:id/enable   any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
POST   /api/v1/webhooks/:id/test     any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
POST   /api/v1/webhooks/:id/recover  any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/:id/health   any?  in    old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/:id/deliveries any? in   old   bad    -hook -hook -hook in     off   odd   odd   far
GET    /api/v1/webhooks/:id/deliveries/:delivery_id any? in old bad -hook -hook -hook in off odd odd far
POST   /api/v1/webhooks/:id/deliveries/:delivery_id/retry any? in old bad -hook -hook -hook in off odd odd far
GET    /api/v1/billing/packages      in    in    in    in     in    in    in    in     in    in    in    in
POST   /api/v1/billing/checkout      jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/billing/transactions  jwt?  in    old   bad    jwt?  jwt?  jwt?  jwt?   jwt?  jwt?  jwt?  jwt?
GET    /api/v1/billing/transactions/export jwt? in old bad jwt? jwt? jwt? jwt? jwt? jwt? jwt? jwt?
POST   /api/v1/billing/webhook       in    in    in    in     in    in    in    in     in    in    in    in
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
  '-cont': lacks('manage_contacts'),
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
  await world().verify(owner)
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

/** An address that got no code yet. An e-mail address has no country, so the guard against pumping does not count it. */
let addresses = 0
const newAddress = () => `code-${++addresses}@example.com`

/** A request that the owner's own credentials are admitted for, and its status. */
async function requestFor(endpoint: string): Promise<[path: string, json?: object]> {
  const path = endpoint.split(' ')[1] ?? ''
  const one = () => Math.random().toString(36).slice(2)
  const id = async () => {
    if (path.includes('/api-keys/')) return (await world().key(owner)).id
    if (path.includes('/contacts/')) return (await world().contact(owner)).id
    if (path.includes('/webhooks/')) return (await world().webhook(owner)).id
    if (path.includes('/domains/')) return domainFor(endpoint)
    if (path.includes('/members/')) return (await world().member(owner, 'developer')).id
    if (path.includes('/invitations/')) return (await world().invitation(owner)).id
    if (path.includes('/sessions/')) return world().otherSession(owner)
    if (path.includes('/sign-in-links/')) return linkOf(owner)
    const { key } = await world().key(owner)
    if (path.includes('/verifications/')) {
      const json = { to: newAddress(), channel: 'email' }
      const { body } = await world().call('POST', '/api/v1/verifications', { key, json })
      return body.data.verification_id
    }
    if (path.includes('/broadcasts/')) return broadcastFor(path)
    if (/\/bulks?\//.test(path)) return bulkFor(path, key)
    return (await world().send(key)).body.data.message_id
  }
  const filled = path.includes(':id') ? path.replace(':id', await id()) : path
  if (path.includes(':delivery_id')) {
    const { id: webhookId } = await world().webhook(owner)
    const made = await world().core.webhooks.test(owner.id, webhookId)
    return [path.replace(':id', webhookId).replace(':delivery_id', made.id)]
  }
  if (path.includes('/templates/:name')) {
    return [path.replace(':name', await world().template(owner)).replace(':version', '1')]
  }
  switch (endpoint) {
    case 'POST /api/v1/templates': {
      const variants = [{ channel: 'sms', locale: 'en', content: { text: 'Hi' } }]
      return [filled, { name: `t-${one()}`, variants }]
    }
    case 'POST /api/v1/templates/push': {
      const variants = [{ channel: 'sms', locale: 'en', content: { text: 'Hi' } }]
      return [filled, { templates: [{ name: `t-${one()}`, variants }] }]
    }
    case 'POST /api/v1/broadcasts':
    case 'POST /api/v1/broadcasts/preview': {
      const template = { name: await world().template(owner) }
      return [filled, { channel: 'sms', template, audience: { tags: ['vip'] }, draft: true }]
    }
    case 'PUT /api/v1/broadcasts/:id':
      return [filled, { name: 'Renamed' }]
    case 'POST /api/v1/templates/preview':
      return [filled, { name: await world().template(owner), channel: 'sms' }]
    case 'PUT /api/v1/webhooks/:id':
      return [filled, { description: 'Renamed' }]
    case 'POST /api/v1/webhooks/:id/recover':
      return [filled, { since: world().now().toISOString() }]
    case 'POST /api/v1/contacts':
      return [filled, { email: `${one()}@example.com` }]
    case 'POST /api/v1/contacts/import':
      return [filled, { contacts: [{ email: `${one()}@example.com` }] }]
    case 'PUT /api/v1/contacts/:id':
      return [filled, { name: 'Renamed' }]
    case 'POST /api/v1/contacts/suppressions':
      return [filled, { channel: 'email', address: `${one()}@example.com` }]
    case 'DELETE /api/v1/contacts/suppressions/:channel/:address':
      return [path.replace(':channel/:address', await world().suppression(owner))]
    case 'POST /api/v1/auth/signup':
      return [
        filled,
        { email: `${one()}@example.com`, password: 'long enough', company_name: 'New' },
      ]
    case 'POST /api/v1/auth/login':
      return [filled, { email: owner.email, password: owner.password }]
    case 'POST /api/v1/auth/verify-email': {
      const { email } = await world().signup()
      return [filled, { token: await world().mailed(email, 'verify_email') }]
    }
    case 'POST /api/v1/auth/resend-verification':
    case 'POST /api/v1/auth/forgot-password':
      return [filled, { email: owner.email }]
    case 'POST /api/v1/auth/reset-password': {
      const { email } = await world().signup()
      await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
      const token = await world().mailed(email, 'reset_password')
      return [filled, { token, password: 'long enough' }]
    }
    case 'POST /api/v1/auth/change-password':
      return [filled, { current_password: owner.password, new_password: owner.password }]
    case 'PUT /api/v1/members/:id':
      return [filled, { role: 'viewer' }]
    case 'POST /api/v1/members/:id/owner':
      return [filled, { current_password: 'not the password' }]
    case 'POST /api/v1/members/:id/end-sessions':
      return [filled, { current_password: owner.password }]
    case 'POST /api/v1/sessions/end':
      return [filled, { current_password: owner.password, id: await world().otherSession(owner) }]
    case 'POST /api/v1/invitations':
      return [filled, { email: `${one()}@example.com`, role: 'viewer' }]
    case 'POST /api/v1/invitations/accept': {
      const { email } = await world().invitation(owner)
      return [filled, { token: await world().mailed(email, 'invitation'), password: 'long enough' }]
    }
    case 'PUT /api/v1/account':
      return [filled, { name: 'Renamed' }]
    case 'POST /api/v1/api-keys':
      return [filled, { name: 'New' }]
    case 'POST /api/v1/messages/:id/reschedule':
      return [filled, { scheduled_at: new Date(world().now().getTime() + 60_000).toISOString() }]
    case 'POST /api/v1/messages/send':
    case 'POST /api/v1/messages/estimate':
      return [filled, sms]
    case 'POST /api/v1/verifications':
      return [filled, { to: newAddress(), channel: 'email' }]
    case 'POST /api/v1/verifications/check': {
      const { key } = await world().key(owner)
      const to = newAddress()
      await world().call('POST', '/api/v1/verifications', { key, json: { to, channel: 'email' } })
      return [filled, { to, code: '482913' }]
    }
    case 'POST /api/v1/verifications/:id/check':
      return [filled, { code: '482913' }]
    case 'POST /api/v1/messages/bulk':
      return [filled, bulk]
    case 'POST /api/v1/webhooks':
      return [filled, { url: 'https://receiver.example/' }]
    case 'POST /api/v1/domains':
      return [filled, { domain: `${one()}.example` }]
    case 'POST /api/v1/billing/checkout':
      return [filled, { package_id: 'starter' }]
    default:
      return [filled]
  }
}

const refused = new Map<string, ReturnType<typeof requestFor>>()

/** A request as by `requestFor`, for credentials that are refused. It changes nothing, so one is enough for all of them. */
function refusedRequestFor(endpoint: string): ReturnType<typeof requestFor> {
  const request = refused.get(endpoint) ?? requestFor(endpoint)
  refused.set(endpoint, request)
  return request
}

/** A new link of the account to an OIDC subject. */
async function linkOf({ email, token }: Account): Promise<string> {
  const subject = crypto.randomUUID()
  const person = { issuer: 'https://id.example', subject, verified_email: email, name: null }
  await world().core.members.signIn({ ...person, assigned: null })
  const { body } = await world().call('GET', '/api/v1/sign-in-links', { token })
  return body.data.links.at(-1).id
}

/** A bulk in a state that the request ends. */
async function bulkFor(path: string, key: string): Promise<string> {
  const id = (await world().bulk(key)).body.data.bulk_id
  if (path.endsWith('/resume')) await world().call('POST', `/api/v1/bulks/${id}/pause`, { key })
  return id
}

/** A broadcast in a state that the request ends. */
async function broadcastFor(path: string): Promise<string> {
  const id = await world().broadcast(owner)
  if (!path.endsWith('/pause')) return id
  const { key } = await world().key(owner)
  await world().call('POST', `/api/v1/broadcasts/${id}/resume`, { key })
  return id
}

let lasting: Promise<{ id: string }> | undefined

/** One domain for all requests that do not remove it, because a key pair takes a tenth of a second. */
async function domainFor(endpoint: string): Promise<string> {
  if (endpoint.startsWith('DELETE')) return (await world().domain(owner)).id
  lasting ??= world().domain(owner)
  return (await lasting).id
}

/** A changed password and a logout end the session. */
async function logInAgain(): Promise<void> {
  const { email, password } = owner
  const login = await world().call('POST', '/api/v1/auth/login', { json: { email, password } })
  owner.token = login.body.data.token
  credentials.jwt = { token: owner.token }
}

const ENDPOINTS: Endpoint[] = Object.values(api).flatMap((group) => Object.values(group))

it('lists every endpoint once', () => {
  const served = ENDPOINTS.flatMap(({ method, path, also_at }) =>
    [path, ...(also_at ? [also_at] : [])].map((each) => `${method} ${each}`),
  )
  expect(rows.map(([method, path]) => `${method} ${path}`).sort()).toStrictEqual(served.sort())
})

it.each(CELLS)('$endpoint with $column: $cell', async ({ endpoint, column, cell }) => {
  const method = endpoint.split(' ')[0] ?? ''
  const credential = credentials[column] ?? {}
  const [path, json] = await (cell === 'in' ? requestFor : refusedRequestFor)(endpoint)
  const signed = path.endsWith('/billing/webhook') ? notification(world().now()) : {}
  const { status, body } = await world().call(method, path, { ...credential, json, ...signed })
  if (cell === 'in') {
    const isMade =
      method === 'POST' &&
      !/\/auth\/(?!signup)|\/billing\/webhook|\/contacts\/import|\/(?:rotate-secret|enable|retry|recover|estimate|cancel|check|reschedule|verify|accept|end|end-sessions|push|preview|pause|resume)$|\/owner$/.test(
        path,
      )
    // No message of the bulk has failed; this answer shows that the request was admitted.
    // The same is true of a domain that is not verified, and of a message that is still queued.
    // A wrong password does not change the owner.
    const isIdle =
      /bulks?\/:id\/retry$|\/owner$|\/(?:rotate|redact)$|DELETE .*\/messages\/:id$/.test(endpoint)
    expect(status).toBe(isIdle ? 400 : isMade ? 201 : 200)
    if (/\/(?:change-password|logout|sessions)$/.test(path) && method !== 'GET') await logInAgain()
    return
  }
  const [expected, error, message] = REFUSALS[cell] ?? []
  expect(status).toBe(expected)
  expect(body).toStrictEqual({ success: false, error, message })
})

describe('a refusal reveals nothing of the schema of a request', () => {
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
