import type { Mails } from '@svc/core'
import { api, type Endpoint } from '@svc/core/contract'
import type { CallOptions } from '../call.ts'
import type { Answer } from '../every-answer.ts'
import { type Dice, type Draft, draftsFrom, type Owner } from './command-drafts.ts'

/** One step: a request, a grant, or elapsed time. */
export type Command =
  | { do: 'request'; endpoint: string; method: string; path: string; options: CallOptions }
  | { do: 'grant'; workspace_id: string; credits: number }
  | { do: 'wait'; ms: number }

const ENDPOINTS: Record<string, Endpoint> = Object.fromEntries(
  Object.entries(api).flatMap(([group, endpoints]) =>
    Object.entries<Endpoint>(endpoints).map(([name, endpoint]) => [`${group}.${name}`, endpoint]),
  ),
)

/**
 * Sending domains have random key pairs, which make answers differ. A new owner has another password than the commands know.
 * No login has a link to an OIDC provider. The commands give no password for the end of sessions.
 */
const NOT_COMPARED =
  /^domains\.|^members\.(?:make_owner|end_sessions)$|^sessions\.(?:unlink|end_with_password)$/

/** The names of all endpoints whose answers are compared. */
export const ENDPOINT_NAMES = Object.keys(ENDPOINTS).filter((name) => !NOT_COMPARED.test(name))

/** The weights of the endpoints; the default is 1. */
const WEIGHTS: Record<string, number> = {
  'messages.send': 20,
  'messages.list': 12,
  'messages.get': 5,
  'bulks.send': 4,
  'webhooks.deliveries': 6,
  'webhooks.create': 3,
  'webhooks.list': 3,
  'api_keys.create': 8,
  'api_keys.list': 3,
  'workspaces.account': 3,
}
const LOTTERY = ENDPOINT_NAMES.flatMap((name) => Array<string>(WEIGHTS[name] ?? 1).fill(name))

/** The first steps for each of two owners, on which later steps depend. */
const OPENING = [
  'workspaces.signup',
  'workspaces.login',
  // Before keys exist, because it would revoke them.
  'workspaces.verify_email',
  'api_keys.create',
  'webhooks.create',
]

/** The steps that a final step needs before it. A name with two words is an endpoint and its draft of that name. */
const BEFORE: Record<string, readonly string[]> = {
  // An open invitation, two members, and a second session.
  'members.list': [
    'invitations.create',
    'invitations.create',
    'invitations.accept',
    'invitations.create',
    'invitations.accept',
    'workspaces.login',
  ],
  // A key that may not do what it is used for.
  'api_keys.list': ['api_keys.create reader', 'contacts.list reader'],
  // E-mails to several, one of whose recipients bounces, and a webhook that gets all events about them.
  'messages.timeline': [
    'webhooks.create',
    'suppressions.remove bounced',
    'messages.send cc',
    'messages.get newest',
    'messages.send bcc',
    'messages.get newest',
    'messages.timeline newest',
  ],
  'messages.cancel': ['bulks.send later'],
  'messages.reschedule': ['bulks.send later'],
  'bulks.get': ['bulks.send now'],
  'bulks.rejected': ['bulks.send now'],
  'bulks.pause': ['bulks.send later'],
  'bulks.resume': ['bulks.send later', 'bulks.pause'],
  // No message may be queued any more.
  'bulks.retry': ['workspaces.update_account without quiet hours', 'bulks.send now'],
  // A delivery whose data is not erased.
  'webhooks.retry': ['webhooks.test'],
  'templates.get': ['templates.create'],
  'templates.update': ['templates.create'],
  'templates.publish': ['templates.create'],
  'templates.push': ['templates.create'],
  'templates.preview': ['templates.create'],
  'templates.versions': ['templates.create', 'templates.publish'],
  'templates.version': ['templates.create', 'templates.publish'],
  'templates.delete': ['templates.create', 'templates.create', 'templates.publish'],
  'broadcasts.create': ['templates.create', 'templates.publish'],
  'broadcasts.preview': ['templates.create', 'templates.publish'],
  'broadcasts.get': ['templates.create', 'templates.publish', 'broadcasts.create'],
  'broadcasts.update': ['templates.create', 'templates.publish', 'broadcasts.create draft'],
  'broadcasts.pause': [
    'templates.create',
    'templates.publish',
    'broadcasts.create draft',
    'broadcasts.resume',
  ],
  'broadcasts.resume': ['templates.create', 'templates.publish', 'broadcasts.create draft'],
  'broadcasts.cancel': ['templates.create', 'templates.publish', 'broadcasts.create'],
  'verifications.check': ['verifications.start'],
  'verifications.check_address': ['verifications.start', 'verifications.check_address newest'],
  'verifications.resend': ['verifications.start'],
  'verifications.cancel': ['verifications.start'],
  'verifications.get': ['verifications.start'],
}

/** The most requests for an endpoint among the final steps. */
const FINAL_TRIES = 5

const NASTY = [null, true, -1, 1.5, '', ' ', '\0', '\ud800', [], {}, 'x'.repeat(400), '2026-02-30']
const UNKNOWN_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Commands that depend only on the seed and on earlier answers. */
export function commandStream(
  seed: number,
  world: { receiver: string; now: () => Date; mails: Mails },
) {
  const dice = diceFrom(seed)
  const { below, pick, once } = dice
  const drafts = draftsFrom(dice, world)
  const owners: Owner[] = []
  const opening = [...OPENING, ...OPENING]
  /** Owners whose sessions have ended. */
  const loggedOut = new Set<Owner>()
  let lateMs = 0
  const served = new Set<string>()
  let latest = { endpoint: '', owner: newOwner('', {}, world.mails) }

  function credentialOf({ keys, token }: Owner, { auth }: Endpoint, isSafe: boolean): CallOptions {
    if (auth === 'none') return {}
    if (auth === 'jwt' || (auth === 'jwt_or_api_key' && (isSafe || !once(4)))) return { token }
    return { key: (!isSafe && once(3) ? pick(keys) : keys[0])?.key }
  }

  /** Adds one fault to a request. */
  function spoil(draft: Draft, credential: CallOptions): CallOptions {
    const { json, query = {} } = draft
    const how = pick(['anonymous', 'forged', 'stranger', 'id', 'query', 'body'])
    if (how === 'anonymous') return {}
    if (how === 'forged') return { key: `${keyOf()}x`, token: `${pick(owners).token}x` }
    if (how === 'stranger') return { key: keyOf(), token: pick(owners).token }
    if (how === 'id') draft.id = pick([UNKNOWN_ID, 'none', ...pick(owners).messages])
    if (how === 'query') {
      draft.query = { ...query, [pick(['page', 'limit', 'status'])]: `${pick(NASTY)}` }
    }
    if (how === 'body' && json) {
      draft.json = { ...json, [pick([...Object.keys(json), 'x'])]: pick(NASTY) }
    }
    return credential
  }

  function loginAgain(): Command | null {
    const [owner] = loggedOut
    if (owner) loggedOut.delete(owner)
    return owner ? request('workspaces.login', owner, true) : null
  }

  const keyOf = () => pick(pick(owners).keys).key

  function request(step: string, owner: Owner, isSafe = false): Command {
    const [name = ''] = step.split(' ')
    const endpoint = ENDPOINTS[name] as Endpoint
    const draft = drafts[step]?.(owner) ?? {}
    const good = credentialOf(owner, endpoint, isSafe)
    const given = draft.key === undefined ? good : { key: draft.key }
    const credential = !isSafe && once(5) ? spoil(draft, given) : given
    const { id = UNKNOWN_ID, query = {}, json, headers } = draft
    lateMs = draft.late_ms ?? 0
    if (isSafe && step === 'api_keys.create') Object.assign(json ?? {}, FULL_KEY)
    if (isSafe && name === 'webhooks.create') {
      Object.assign(json ?? {}, { url: world.receiver, ...FULL_WEBHOOK })
    }
    const search = Object.entries(query).map(
      ([field, value]) => `${field}=${encodeURIComponent(value.toWellFormed())}`,
    )
    latest = { endpoint: name, owner }
    return {
      do: 'request',
      endpoint: name,
      method: endpoint.method,
      path: [
        endpoint.path
          .replace(':id', id)
          .replace(':name', id)
          .replace(':version', '1')
          .replace(':delivery_id', draft.delivery_id ?? UNKNOWN_ID)
          .replace(':channel/:address', id),
        ...search,
      ]
        .join('&')
        .replace('&', '?'),
      options: { ...credential, headers, ...(json && { json }) },
    }
  }

  const closing: (() => Command | null)[] = [
    () => ({ do: 'grant', workspace_id: owners[0]?.id ?? '', credits: 100 }),
    ...ENDPOINT_NAMES.flatMap((name) => [...(BEFORE[name] ?? []), name]).flatMap((step) =>
      finalSteps(step, FINAL_TRIES),
    ),
  ]

  /** Makes a request, and again while its endpoint was never served: its draft may name a thing that is gone. */
  function finalSteps(step: string, tries: number): (() => Command | null)[] {
    return [
      () => ({ do: 'wait', ms: 10_000 }),
      () => request(step, owners[0] ?? latest.owner, true),
      () => {
        const isServed = served.has(step.split(' ')[0] ?? '')
        if (!isServed && tries > 1) closing.unshift(...finalSteps(step, tries - 1))
        return closing.shift()?.() ?? null
      },
    ]
  }

  return {
    next(): Command {
      // One late message at a time: the engine decides the order of two that fall due together.
      const ms = lateMs
      lateMs = 0
      if (ms > 0) return { do: 'wait', ms }
      const login = loginAgain()
      if (login) return login
      const first = opening.shift()
      if (first) return request(first, owners.at(-1) ?? latest.owner, true)
      if (once(16)) return { do: 'wait', ms: pick([500, 2_000, 6_000, 40_000]) }
      if (once(60)) return { do: 'grant', workspace_id: pick(owners).id, credits: 1 + below(3) }
      return request(pick(LOTTERY), pick(owners))
    },
    /** The final steps: each endpoint once, below every rate limit; null at the end. */
    last: () => loginAgain() ?? closing.shift()?.() ?? null,
    /** The answer to the last request. */
    learn({ status, body }: Answer, { options }: { options: CallOptions }): void {
      if (status >= 300) return
      const { endpoint, owner } = latest
      served.add(endpoint)
      const { data } = body
      if (endpoint === 'workspaces.signup') {
        // An owner who signs up later makes no more requests.
        if (owners.length < 2) owners.push(newOwner(data.workspace.id, options.json, world.mails))
      } else if (endpoint === 'workspaces.login') owner.token = data.token
      else if (/(?:reset|change)_password$/.test(endpoint)) {
        const { password, new_password = password } = options.json as Record<string, string>
        owner.password = new_password ?? owner.password
        loggedOut.add(owner)
      } else if (endpoint === 'sessions.end_all') {
        for (const one of owners) if (one.token === options.token) loggedOut.add(one)
      } else if (endpoint === 'sessions.list') {
        const sessions: { id: string; is_current: boolean }[] = data.sessions
        owner.listed = sessions.filter((one) => !one.is_current).map(({ id }) => id)
      } else if (endpoint === 'members.list') {
        const members: { id: string; role: string }[] = data.members
        owner.members = members.filter(({ role }) => role !== 'owner').map(({ id }) => id)
      } else if (endpoint === 'invitations.create') owner.invitations.push(data.invitation)
      else if (endpoint === 'invitations.accept') owner.invitations.pop()
      else if (endpoint === 'workspaces.logout') {
        for (const one of owners) if (one.token === options.token) loggedOut.add(one)
      } else if (endpoint === 'api_keys.create') owner.keys.push(data)
      else if (endpoint === 'contacts.create') owner.contacts.push(data.contact.id)
      else if (endpoint === 'templates.create') owner.templates.push(data.template.name)
      else if (endpoint === 'broadcasts.create') owner.broadcasts.push(data.broadcast.id)
      else if (endpoint === 'suppressions.add') {
        const { channel, address } = data.suppression
        owner.suppressions.push(`${channel}/${encodeURIComponent(address)}`)
      } else if (endpoint === 'webhooks.create') {
        const { id, url } = data.webhook
        if (url.endsWith('/closed')) owner.closed.push(id)
        else owner.webhooks.push(id)
      } else if (endpoint === 'webhooks.test') owner.deliveries.push(data.delivery)
      else if (endpoint === 'webhooks.deliveries') owner.deliveries.push(...data.deliveries)
      else if (endpoint === 'verifications.start') {
        owner.verifications.push(data.verification_id)
        owner.numbers[data.verification_id] = data.to
      } else if (endpoint === 'messages.send') owner.messages.push(data.message_id)
      else if (endpoint === 'bulks.send') {
        const { scheduled_at } = options.json as { scheduled_at?: string }
        const made: { message_id: string }[] = data.messages
        if (scheduled_at) {
          owner.later.push(...made.map(({ message_id }) => message_id))
          owner.later_bulks.push(data.bulk_id)
        } else owner.bulks.push(data.bulk_id)
      } else if (endpoint === 'billing.checkout') owner.sessions.push(data.session_id)
      else if (endpoint === 'messages.list') owner.cursors.push(data.next_cursor ?? UNKNOWN_ID)
    },
  }
}

/** The key that other steps need: all scopes, no limit of its own, never deactivated. */
const FULL_KEY = {
  scopes: undefined,
  mode: 'live',
  expires_at: undefined,
  allowed_ips: undefined,
  daily_credit_limit: undefined,
}

/** A webhook for all events that acknowledges them: the other webhooks may be deleted, or refuse. */
const FULL_WEBHOOK = { events: ['*'], headers: { 'X-Answer': '200', 'X-B': 'b', 'X-A': 'a' } }

function newOwner(id: string, signup: unknown, mails: Mails): Owner {
  const { email = '', password = '' } = signup as Partial<Owner>
  // The token, from the owner's mail.
  const mailed: Owner['mailed'] = (kind, address = email) => {
    const to = address.replace(/@.*/, (domain) => domain.toLowerCase())
    const { link = 'none:' } =
      mails.list().find((mail) => mail.to === to && mail.kind === kind) ?? {}
    return new URL(link).searchParams.get('token') ?? 'none'
  }
  const none = {
    keys: [],
    webhooks: [],
    closed: [],
    deliveries: [],
    messages: [UNKNOWN_ID],
    bulks: [UNKNOWN_ID],
    later_bulks: [UNKNOWN_ID],
    later: [],
    sessions: [UNKNOWN_ID],
    contacts: [UNKNOWN_ID],
    suppressions: [],
    verifications: [UNKNOWN_ID],
    templates: ['unknown'],
    broadcasts: [UNKNOWN_ID],
    numbers: {},
    cursors: [],
    members: [],
    invitations: [],
    listed: [],
  }
  return { id, email, password, token: '', ...none, mailed }
}

/** Mulberry32: random numbers that repeat with the seed. */
function diceFrom(seed: number): Dice {
  let state = seed >>> 0
  function below(n: number): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * n)
  }
  return {
    below,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
    once: (n) => below(n) === 0,
  }
}
