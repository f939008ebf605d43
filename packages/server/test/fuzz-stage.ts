import type { Scope } from '@svc/core/contract'
import { signNotification } from '@svc/core/operate'
import type { Account } from './accounts.ts'
import type { CallOptions } from './call.ts'
import type { Operation } from './fuzz-operations.ts'
import type { Caller, FuzzedRequest } from './fuzz-requests.ts'
import { notification } from './notification.ts'
import { expiredToken, tokenOfAnotherLogin } from './tokens.ts'
import { PAYMENT_SECRET, type World } from './world.ts'

/** The callers with a valid session. */
const SESSIONS = new Set<Caller>(['owner', 'poor', 'viewer', 'billing'])

/** Ids of one kind: one that no request deletes, and the newest. */
interface Ids {
  lasting: string
  newest: string
}

export interface Stage {
  /** Ids that exist. */
  ids: string[]
  /** Bodies that the document does not describe, by operation. */
  bodies: Record<string, object>
  /** The request with its credentials and the ids in its path. */
  callOf(operation: Operation, request: FuzzedRequest): { path: string; options: CallOptions }
  /** Records the new object. */
  remember(operation: Operation, data: Record<string, unknown>): void
}

/** All callers and all objects of their calls. No write follows after a request has ended. */
export async function setStage(world: World): Promise<Stage> {
  const owner = await world.signup({ credits: 1_000_000 })
  await world.verify(owner)
  const callers = await callersOf(world, owner)
  const ids = await idsOf(world, owner)
  const delivery_id = (await world.core.webhooks.test(owner.id, ids.webhooks?.lasting ?? '')).id
  // The service records the first use of a key after a delay.
  for (const { key } of Object.values(callers)) await world.call('GET', '/api/v1/messages', { key })
  await world.core.apiKeys.flush()
  // The first request for events starts the log of all events.
  await world.call('GET', '/api/v1/events', { key: callers.owner?.key })
  return {
    ids: Object.values(ids).map(({ lasting }) => lasting),
    bodies: {
      'billing.notify': await notificationFor(world, owner),
      // An address must be of its channel.
      'verifications.start': { to: 'code@example.com', channel: 'email' },
      'templates.create': {
        name: 'fuzz-created',
        variants: [{ channel: 'sms', locale: 'en', content: { text: 'Hello {{name|there}}' } }],
      },
      'templates.push': {
        templates: [
          {
            name: 'fuzz-pushed',
            variants: [{ channel: 'sms', locale: 'en', content: { text: 'Hello {{name|there}}' } }],
          },
        ],
      },
      'broadcasts.create': {
        channel: 'sms',
        template: { name: ids.templates?.lasting },
        audience: { tags: ['unused'] },
      },
      'broadcasts.update': {
        channel: 'sms',
        template: { name: ids.templates?.lasting },
        audience: { tags: ['unused'] },
      },
      'broadcasts.preview': {
        channel: 'sms',
        template: { name: ids.templates?.lasting },
        audience: {},
      },
      'templates.preview': { name: ids.templates?.lasting, channel: 'sms' },
      'verifications.resend': { channel: 'email' },
      'verifications.check_address': { to: 'code-2@example.com', code: '482913' },
    },
    callOf(operation, { caller, id, choice, query, body, headers }) {
      const real = (name: string) => {
        if (name === 'channel') return 'sms'
        if (name === 'delivery_id') return delivery_id
        if (name === 'version') return '1'
        return id ?? ids[groupOf(operation)]?.[ageFor(operation, choice % 2)] ?? ''
      }
      const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => real(name))
      const search = query.map(([name, value]) => `${name}=${value}`).join('&')
      const credential = credentialFor(operation, callers[caller], choice >> 1)
      const isLogout = operation.id === 'workspaces.logout' && SESSIONS.has(caller)
      // It ends a session that no other request needs.
      if (operation.id === 'sessions.end_all') delete credential.token
      if (isLogout) credential.token = tokenOfAnotherLogin(callers[caller].token ?? '')
      return {
        path: search ? `${path}?${search}` : path,
        options: {
          ...credential,
          headers: caller === 'owner' ? signed(operation, headers, body, world.now()) : headers,
          raw: body,
        },
      }
    },
    remember(operation, data) {
      const known = ids[groupOf(operation)]
      const made = (data[groupOf(operation).slice(0, -1)] ?? data) as Record<string, unknown>
      const id =
        (groupOf(operation) === 'templates' ? made.name : made.id) ??
        made.address ??
        made.verification_id ??
        made.message_id ??
        made.bulk_id
      if (known && typeof id === 'string') known.newest = encodeURIComponent(id)
    },
  }
}

function groupOf({ id }: Operation): string {
  return id.split('.', 1)[0] ?? ''
}

/** They end their object for good: no later request could resend its code, or change it. */
const ENDING = ['verifications.cancel', 'verifications.check', 'broadcasts.cancel']

/** Requests that delete or end take objects that other requests do not need; a delivery belongs to the lasting webhook. */
function ageFor({ id, method, path }: Operation, chance: number): keyof Ids {
  if (method === 'DELETE' || ENDING.includes(id)) return 'newest'
  return chance % 2 === 0 || path.includes('{delivery_id}') ? 'lasting' : 'newest'
}

/** Operations that take either credential alternate between them. */
function credentialFor(
  { security }: Operation,
  { key, token }: CallOptions,
  chance: number,
): CallOptions {
  if (security.length === 0) return {}
  const takesKey = security.includes('api_key')
  const isByKey = takesKey && (!security.includes('jwt') || token === undefined || chance % 2 === 0)
  return isByKey ? { key } : { token }
}

/** A signed notification of a payment provider is processed, with any text. */
function signed(
  { parameters }: Operation,
  headers: FuzzedRequest['headers'],
  body: FuzzedRequest['body'] = '',
  at: Date,
): FuzzedRequest['headers'] {
  const name = 'stripe-signature'
  if (!parameters.some((parameter) => parameter.name.toLowerCase() === name)) return headers
  return { ...headers, [name]: signNotification(PAYMENT_SECRET, body, at) }
}

async function notificationFor(world: World, { token }: Account): Promise<object> {
  const json = { package_id: 'starter' }
  const made = await world.call('POST', '/api/v1/billing/checkout', { token, json })
  return notification(world.now(), made.body.data.session_id).json
}

async function callersOf(world: World, owner: Account): Promise<Record<Caller, CallOptions>> {
  const poor = await world.signup()
  const keyOf = async (account: Account, scopes?: Scope[]) =>
    (await world.key(account, scopes && { scopes })).key
  const key = await keyOf(owner)
  return {
    owner: { key, token: owner.token },
    contacts_only: { key: await keyOf(owner, ['manage_contacts']) },
    webhooks_only: { key: await keyOf(owner, ['manage_webhooks']) },
    viewer: { key, token: (await world.member(owner, 'viewer')).token },
    billing: { key, token: (await world.member(owner, 'billing')).token },
    poor: { key: await keyOf(poor), token: poor.token },
    none: {},
    swapped: { key: owner.token, token: key },
    old: { key: 'svc_old', token: expiredToken(owner.id) },
    junk: { key: 'junk', token: 'junk' },
  }
}

/** Two objects of every kind with ids, by the group of operations. */
async function idsOf(world: World, owner: Account): Promise<Record<string, Ids>> {
  const { key } = await world.key(owner)
  let addresses = 0
  const makers: Record<string, () => Promise<string>> = {
    api_keys: async () => (await world.key(owner)).id,
    verifications: async () => {
      const json = { to: `code-${++addresses}@example.com`, channel: 'email' }
      const { body } = await world.call('POST', '/api/v1/verifications', { key, json })
      return body.data.verification_id
    },
    messages: async () => (await world.send(key)).body.data.message_id,
    bulks: async () => (await world.bulk(key)).body.data.bulk_id,
    templates: () => world.template(owner),
    broadcasts: () => world.broadcast(owner),
    contacts: async () => (await world.contact(owner)).id,
    suppressions: async () => (await world.suppression(owner)).replace('sms/', ''),
    webhooks: async () => (await world.webhook(owner)).id,
    domains: async () => (await world.domain(owner)).id,
    members: async () => (await world.member(owner, 'developer')).id,
    invitations: async () => (await world.invitation(owner)).id,
    sessions: () => world.otherSession(owner),
  }
  const ids: Record<string, Ids> = {}
  for (const [group, make] of Object.entries(makers)) {
    ids[group] = { lasting: await make(), newest: await make() }
  }
  return ids
}
