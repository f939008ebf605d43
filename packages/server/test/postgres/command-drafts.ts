import type { MailKind } from '@svc/core'
import { notification } from '../notification.ts'

/** A workspace, as far as its owner knows it from answers. */
export interface Owner {
  id: string
  email: string
  password: string
  token: string
  /** The first is never deactivated. */
  keys: { id: string; key: string }[]
  /** The first is never deleted. */
  webhooks: string[]
  /** Webhooks without a delivery whose receiver does not exist. */
  closed: string[]
  /** Each delivery with its webhook. */
  deliveries: { webhook_id: string; id: string }[]
  messages: string[]
  /** Messages that are sent immediately. */
  bulks: string[]
  /** Bulks whose messages are queued until after the end of the test. */
  later_bulks: string[]
  /** Messages that are not due yet. */
  later: string[]
  /** The keys of checkouts. */
  sessions: string[]
  contacts: string[]
  /** Suppressions by channel and address. */
  suppressions: string[]
  verifications: string[]
  /** The names of templates. */
  templates: string[]
  broadcasts: string[]
  /** The number of each verification. */
  numbers: Record<string, string>
  cursors: string[]
  /** Members besides the owner. */
  members: string[]
  /** Open invitations. */
  invitations: { id: string; email: string }[]
  /** The ids of sessions in the list that made no later request. */
  listed: string[]
  /** The token of the owner's newest mail of a kind. */
  mailed(kind: MailKind, to?: string): string
}

/** The parts of a request before a fault is added. */
export interface Draft {
  id?: string | undefined
  delivery_id?: string | undefined
  query?: Record<string, string>
  json?: Record<string, unknown>
  headers?: Record<string, string>
  /** Another API key than the first. */
  key?: string | undefined
  /** The time until the message ends, when it does not end immediately. */
  late_ms?: number
}

/** Random choices that repeat with the seed. */
export interface Dice {
  below(n: number): number
  pick<T>(items: readonly T[]): T
  /** True once in `n`. */
  once(n: number): boolean
}

const TEXTS = [
  'Hello',
  'hello',
  'Żółw & Söhne 🐢',
  "100 %_'; drop table",
  'İstanbul ıI',
  'a"b\\c\n\td',
  '\u2028 \u00a0 e\u0301 é',
  'z'.repeat(1_500),
]
const NAMES = ['Main', 'main', 'Żółw & Söhne 🐢', 'İstanbul ıI']
/** Every second minute of the stream is quiet, in UTC and in East Africa. */
const QUIET_HOURS = Array.from({ length: 28 }, (_, i) => {
  const minute = (n: number) => `${i < 14 ? '09' : '12'}:${`${(i % 14) * 2 + n}`.padStart(2, '0')}`
  return { category: 'transactional', start: minute(0), end: minute(1), days: ['mon'] }
})
const PHONES = ['+255700000001', '+15005550001', '+15005550002', '+15005550007', '+15005550008']
/** Numbers of contacts, who may unsubscribe. The recipients that each bulk needs are not among them. */
const CONTACT_PHONES = PHONES.filter((phone) => phone !== '+15005550001')
/** Recipients whose messages do not end immediately. */
const SLOW = ['+15005550005', '+15005550009']
const ADDRESSES = ['asha@example.com', 'Asha@Example.com', 'bounced@sandbox.svc']
/** Addresses of an e-mail to several: all get it, one bounces later, one is invalid, or none gets it. */
const MORE = ['juma@example.com', 'neema@example.com', 'İ@example.com']
const SEVERAL = [
  MORE,
  ['juma@example.com', 'bounced@sandbox.svc', 'Neema@Example.com'],
  ['neema@example.com', 'invalid@sandbox.svc'],
  ['bounced@sandbox.svc', 'invalid@sandbox.svc'],
]
const METADATA: unknown[] = [
  {},
  { b: 1, a: { z: [1, 2.5, -0, 1e21], y: null }, 10: 'ten', 9: 'nine' },
  { ключ: 'значение', '': '', B: 1, a: 1 },
  JSON.parse('{"__proto__":{"polluted":1},"constructor":"c","n":0.1}'),
]
const TIMES = [
  '2026-05-04',
  '2026-05-04T09:00:30Z',
  '2026-05-04T12:01:01.005+03:00',
  '2026-05-04T09:02:00.007Z',
]
/**
 * The answers of a receiver, by URL. A receiver that answers 410 must not get two requests at the
 * same time.
 */
const RECEIVERS = [
  ['200', ['*']],
  ['200', ['message.sent', 'message.failed']],
  ['400', ['message.delivered']],
  ['404', ['*']],
  ['flaky', ['*']],
  ['410', ['message.delivered']],
] as const

/** For each endpoint, a valid request; an endpoint without an entry needs only its credential. */
export function draftsFrom(
  { below, pick, once }: Dice,
  { receiver, now }: { receiver: string; now: () => Date },
) {
  let count = 0

  function page(): Record<string, string> {
    return {
      ...(once(2) && { limit: pick(['1', '2', '3', '100']) }),
      ...(once(3) && { page: pick(['1', '2', '3', '9']) }),
    }
  }

  function content(channel: string): object {
    if (channel !== 'email') return { text: pick(TEXTS) }
    return { subject: pick(['Hello', 'İ é']), html: pick(TEXTS), ...(once(2) && { text: 'plain' }) }
  }

  /** The recipients and the content of an e-mail; of two to several, one repeats an address. */
  function mail() {
    if (once(2)) return { to: pick(ADDRESSES), content: content('email') }
    const [first = '', ...others] = pick(SEVERAL)
    return {
      to: once(2) ? first : [first, pick([...ADDRESSES, ...MORE])],
      content: {
        ...content('email'),
        ...(once(2) ? { cc: others } : { bcc: others, tags: [{ name: 'campaign', value: 'may' }] }),
      },
    }
  }

  function send(): Draft {
    const channel = pick(['sms', 'sms', 'sms', 'email', 'email', 'whatsapp'])
    const json = {
      channel,
      ...(channel === 'email' ? mail() : { to: pick(PHONES), content: content(channel) }),
      ...(once(2) && { metadata: pick(METADATA) }),
      ...(once(8) && { expires_in: 1 + below(90) }),
    }
    const draft = {
      json,
      ...(once(3) && { headers: { 'idempotency-key': `key ${below(6)}` } }),
    }
    if (!once(10)) return draft
    const scheduled_at = new Date(now().getTime() + below(9_000)).toISOString()
    return {
      ...draft,
      json: { ...json, ...(channel === 'sms' && { to: pick(SLOW) }), scheduled_at },
      late_ms: 40_000,
    }
  }

  /** A bulk in which one message always fails, so that a retry has work, and the last one is always accepted. */
  function bulk(isLater: boolean): Record<string, unknown> {
    return {
      channel: 'sms',
      content: { text: pick(['Hi {{name|you}}', '{{ a }} é', 'plain']) },
      recipients: [
        '+15005550001',
        { to: pick(PHONES), name: pick(NAMES), variables: { a: pick(TEXTS).slice(0, 40) } },
        { to: pick(PHONES), metadata: { row: below(9) } },
        '+255700000002',
        ...(once(4) ? ['unknown'] : []),
      ],
      defaults: { a: 'default' },
      validation: 'permissive',
      ...(once(2) && { metadata: pick(METADATA) }),
      // A time after the end of the test: the message is canceled, or never sent.
      ...(isLater && {
        scheduled_at: new Date(now().getTime() + 30 * 86_400_000).toISOString(),
      }),
    }
  }

  const newest = ({ messages }: Owner): Draft => ({ id: messages.at(-1) })
  const mailTo = (others: object) => ({
    channel: 'email',
    to: 'juma@example.com',
    content: { ...content('email'), ...others },
  })

  const drafts: Record<string, (owner: Owner) => Draft> = {
    ...contactDrafts({ below, pick, once }, page),
    'workspaces.signup'({ email }) {
      const taken = count > 1 && once(2)
      count += 1
      const fresh = `Owner${count}@Example.com`
      return {
        json: {
          email: taken ? email.toUpperCase() : fresh,
          password: `password ${count}`,
          company_name: pick(NAMES),
          ...(once(2) && { phone: '+255700000001', country: 'TZ' }),
        },
      }
    },
    'workspaces.login': ({ email, password }) => ({
      json: { email: email.toLowerCase(), password },
    }),
    'workspaces.verify_email': ({ mailed }) => ({ json: { token: mailed('verify_email') } }),
    'workspaces.resend_verification': ({ email }) => ({ json: { email } }),
    'workspaces.forgot_password': ({ email }) => ({ json: { email } }),
    'workspaces.reset_password': ({ mailed, password }) => ({
      json: { token: mailed('reset_password'), password },
    }),
    'workspaces.change_password': ({ password }) => ({
      json: { current_password: password, new_password: password },
    }),
    'workspaces.update_account': () => ({
      json: {
        ...(once(2) && { name: pick(NAMES) }),
        ...(once(2) && { sender_name: pick(['Żółw', null]) }),
        ...(once(2) && { phone: pick(['+255700000002', null]), country: pick(['KE', null]) }),
        // Below every balance: otherwise the notification would take its ids in another order.
        ...(once(2) && { low_balance: pick([999_999_999, null]) }),
        ...(once(2) && { quiet_hours: pick([QUIET_HOURS, QUIET_HOURS, null]) }),
        ...(once(3) && { postal_address: pick(['Main Street 1\nŻary', null]) }),
        ...(once(3) && { sms_opt_out_text: pick(['STOP to end', null]) }),
        ...(once(3) && { webhook_mails: pick([true, false]) }),
        ...(once(3) && { time_zone: pick(['Asia/Kathmandu', 'Berlin', null]) }),
      },
    }),
    'workspaces.update_account without quiet hours': () => ({ json: { quiet_hours: null } }),
    'members.update': ({ members }) => ({
      id: members.at(-1),
      json: { role: pick(['admin', 'viewer', 'billing']) },
    }),
    'members.remove': ({ members }) => ({ id: members.length > 1 ? members.shift() : undefined }),
    'invitations.create'() {
      count += 1
      return { json: { email: `Member${count}@Example.com`, role: pick(['developer', 'viewer']) } }
    },
    'invitations.delete': ({ invitations }) => ({
      id: invitations.length > 1 ? invitations.shift()?.id : undefined,
    }),
    'invitations.accept'({ invitations, mailed }) {
      const email = invitations.at(-1)?.email
      return {
        json: { token: mailed('invitation', email), password: 'a long password', name: 'Ż' },
      }
    },
    'sessions.end': ({ listed }) => ({ id: listed.pop() }),
    'api_keys.create': () => ({
      json: {
        name: pick(NAMES),
        ...(once(3) && { scopes: pick([['read_messages'], ['manage_webhooks']]) }),
        ...(once(3) && { mode: pick(['test', 'live']) }),
        ...(once(4) && { expires_at: '2026-05-04T09:03:00Z' }),
        ...(once(4) && { allowed_ips: ['127.0.0.1', '::1/128', '10.0.0.0/8'] }),
        ...(once(4) && { daily_credit_limit: pick([0.1, 2.5, 999_999_999]) }),
      },
    }),
    'api_keys.create reader': () => ({ json: { name: 'Reader', scopes: ['read_messages'] } }),
    'contacts.list reader': ({ keys }) => ({ key: keys.at(-1)?.key }),
    'api_keys.list': () => ({ query: page() }),
    'api_keys.deactivate': ({ keys }) => ({ id: keys.length > 1 ? keys.at(-1)?.id : undefined }),
    'webhooks.create'() {
      const [answer, events] = pick(RECEIVERS)
      const isClosed = once(6)
      return {
        json: {
          url: isClosed ? 'http://127.0.0.1:9/closed' : receiver,
          // It gets one delivery, of a test: the engine decides which one of several probes a receiver that counts as down.
          events: isClosed ? ['message.read'] : events,
          headers: { 'X-Answer': answer, 'X-B': 'b', 'X-A': 'a' },
          ...(once(2) && { description: pick(TEXTS) }),
        },
      }
    },
    'webhooks.list': () => ({ query: page() }),
    'webhooks.get': ({ webhooks }) => ({ id: pick(webhooks) }),
    'webhooks.health': ({ webhooks }) => ({
      id: pick(webhooks),
      query: { period: pick(['24h', '7d', '30d']) },
    }),
    'webhooks.delete': ({ webhooks }) => ({
      id: webhooks.length > 1 ? webhooks.pop() : undefined,
    }),
    ...webhookDrafts({ below, pick, once }, page, now),
    ...broadcastDrafts({ pick, once }, page, now),
    'billing.checkout': () => ({
      json: {
        package_id: pick(['starter', 'large']),
        ...(once(2) && { success_url: 'https://a.example/?é={CHECKOUT_SESSION_ID}' }),
      },
      ...(once(2) && { headers: { 'idempotency-key': `key ${below(6)}` } }),
    }),
    'billing.transactions': () => ({ query: page() }),
    'billing.export': () => ({ query: { limit: String(1 + below(9)) } }),
    'billing.notify': ({ sessions }) => notification(now(), pick(sessions)),
    'messages.send': send,
    'messages.send cc': () => ({ json: mailTo({ cc: ['neema@example.com'] }) }),
    'messages.send bcc': () => ({
      json: mailTo({
        bcc: ['bounced@sandbox.svc', 'neema@example.com'],
        tags: [{ name: 'campaign', value: 'may' }],
      }),
    }),
    'messages.estimate': ({ later }) =>
      once(2) ? { json: bulk(later.length === 0) } : { json: send().json ?? {} },
    'messages.timeline': ({ messages }) => ({ id: pick(messages) }),
    'messages.timeline newest': newest,
    'messages.get newest': newest,
    'messages.erase': ({ messages }) => ({ id: messages[1] }),
    'messages.redact': ({ messages }) => ({ id: messages[2] }),
    'messages.reschedule': ({ later }) => ({
      id: later.at(-1),
      json: { scheduled_at: new Date(now().getTime() + 31 * 86_400_000).toISOString() },
    }),
    'messages.cancel': ({ later, messages }) => ({ id: later.pop() ?? messages.at(-1) }),
    'bulks.send now': () => ({ json: bulk(false) }),
    'bulks.send later': () => ({ json: bulk(true) }),
    'bulks.send': ({ later }) => ({
      json: bulk(later.length === 0),
      ...(once(3) && { headers: { 'idempotency-key': `bulk ${below(3)}` } }),
    }),
    'bulks.get': ({ bulks }) => ({ id: once(4) ? pick(bulks) : bulks.at(-1) }),
    'bulks.rejected': ({ bulks }) => ({ id: bulks.at(-1), query: { limit: '1' } }),
    'bulks.pause': ({ later_bulks }) => ({ id: later_bulks.at(-1) }),
    'bulks.resume': ({ later_bulks }) => ({ id: later_bulks.at(-1) }),
    'bulks.cancel': ({ bulks }) => ({ id: bulks.at(-1) }),
    'bulks.retry': ({ bulks }) => ({ id: bulks.at(-1) }),
    'messages.get': ({ messages }) => ({ id: once(2) ? pick(messages) : messages.at(-1) }),
    'received.list': () => ({
      query: {
        ...page(),
        ...(once(4) && { channel: pick(['sms', 'email', 'whatsapp']) }),
        ...(once(3) && { sender: pick([...PHONES, '%']) }),
        ...(once(4) && { startDate: pick(TIMES) }),
        ...(once(4) && { endDate: pick(TIMES) }),
      },
    }),
    'messages.export': () => ({
      query: { ...(once(3) && { status: pick(['queued', 'failed']) }) },
    }),
    'messages.list': ({ cursors }) => ({
      query: {
        ...page(),
        ...(once(4) && { channel: pick(['sms', 'email', 'whatsapp']) }),
        ...(once(3) && { status: pick(['queued', 'sent', 'delivered', 'failed']) }),
        ...(once(4) && { startDate: pick(TIMES) }),
        ...(once(4) && { endDate: pick(TIMES) }),
        ...(once(4) && {
          recipient: pick([...PHONES, ...SLOW, ...ADDRESSES, 'ASHA@example.com', '%']),
        }),
        ...(once(4) && cursors.length > 0 && { cursor: pick(cursors) }),
      },
    }),
  }
  return drafts
}

/** Steps on webhooks and their deliveries. */
function webhookDrafts(
  { pick, once }: Dice,
  page: () => Record<string, string>,
  now: () => Date,
): Record<string, (owner: Owner) => Draft> {
  const first = ({ webhooks }: Owner) => ({ id: webhooks[0] })
  const delivery = ({ deliveries, webhooks }: Owner) => {
    const of = deliveries.findLast(({ webhook_id }) => webhook_id === webhooks[0])
    return { id: of?.webhook_id, delivery_id: of?.id }
  }
  return {
    'webhooks.update': ({ webhooks }) => ({
      id: pick(webhooks),
      json: {
        ...(once(2) && { description: pick(['Żółw & Söhne 🐢', null]) }),
        // One event kind: a receiver that answers 410 must not get two requests at the same time.
        ...(once(3) && { events: pick([['message.delivered'], ['message.failed']]) }),
        ...(once(3) && { headers: ['X-Answer', 'X-A'] }),
        ...(once(4) && { is_active: pick([true, false]) }),
      },
    }),
    'webhooks.rotate_secret': first,
    'webhooks.enable': first,
    'webhooks.test': ({ closed, webhooks }) => ({ id: closed.pop() ?? webhooks[0] }),
    'webhooks.deliveries': ({ deliveries, webhooks }) => ({
      id: once(4) ? (deliveries.at(-1)?.webhook_id ?? webhooks[0]) : pick(webhooks),
      query: {
        ...page(),
        ...(once(3) && { status: pick(['pending', 'delivered', 'failed', 'discarded']) }),
        ...(once(3) && { event: pick(['message.sent', 'webhook.test']) }),
      },
    }),
    'webhooks.delivery': delivery,
    'webhooks.retry': delivery,
    // The engine decides the order of simultaneous events, so this window contains none.
    'webhooks.recover': (owner) => ({
      ...first(owner),
      json: { since: now().toISOString(), until: now().toISOString() },
    }),
  }
}

/** Broadcasts that send nothing: their steps come with a timer. */
function broadcastDrafts(
  { pick, once }: Pick<Dice, 'pick' | 'once'>,
  page: () => Record<string, string>,
  now: () => Date,
): Record<string, (owner: Owner) => Draft> {
  return {
    'broadcasts.create': ({ templates }) => ({
      json: {
        channel: pick(['sms', 'email']),
        template: { name: templates.at(-1), variables: { name: 'Asha' } },
        audience: { tags: ['unused'] },
        draft: once(2),
        ...(once(3) && { rate: 60, name: pick(NAMES) }),
      },
    }),
    'broadcasts.create draft': ({ templates }) => ({
      json: {
        channel: 'sms',
        template: { name: templates.at(-1) },
        audience: { tags: ['unused'] },
        draft: true,
        scheduled_at: new Date(now().getTime() + 3_600_000).toISOString(),
      },
    }),
    'broadcasts.preview': ({ templates }) => ({
      json: {
        channel: pick(['sms', 'email']),
        template: { name: templates.at(-1) },
        audience: pick([
          {},
          { tags: ['vip'], attributes: { city: 'Berlin' } },
          { exclude_attributes: { city: 'Berlin' } },
        ]),
      },
    }),
    'broadcasts.list': () => ({ query: page() }),
    'broadcasts.get': ({ broadcasts }) => ({ id: broadcasts.at(-1) }),
    'broadcasts.update': ({ broadcasts }) => ({
      id: broadcasts.at(-1),
      json: {
        audience: {
          ...{ tags: ['unused'], exclude_tags: ['vip'] },
          exclude_attributes: { city: 'Berlin' },
        },
        ...{ rate: 60, draft: true },
      },
    }),
    'broadcasts.pause': ({ broadcasts }) => ({ id: broadcasts.at(-1) }),
    'broadcasts.resume': ({ broadcasts }) => ({ id: broadcasts.at(-1) }),
    'broadcasts.cancel': ({ broadcasts }) => ({ id: broadcasts.at(-1) }),
  }
}

/** Contacts that collide in imports, while requests about a single contact always succeed. */
function contactDrafts(
  { below, pick, once }: Dice,
  page: () => Record<string, string>,
): Record<string, (owner: Owner) => Draft> {
  let count = 0
  const traits = () => ({
    ...(once(2) && { name: pick(NAMES) }),
    ...(once(2) && { tags: pick([['vip'], ['vip', 'Żółw'], []]) }),
    ...(once(2) && { attributes: pick([...METADATA, { time_zone: 'Africa/Nairobi' }]) }),
    // Rare, so that recipients remain.
    ...(once(8) && {
      subscriptions: pick([{ sms: 'unsubscribed' }, { email: 'unsubscribed', sms: 'subscribed' }]),
    }),
  })
  const contact = () => ({
    ...traits(),
    ...(once(2) && { phone: pick(CONTACT_PHONES) }),
    ...(once(2) && { email: pick(ADDRESSES) }),
    ...(once(2) && { external_id: `crm ${below(9)}` }),
  })
  const filter = () => ({
    ...(once(3) && { search: pick(['żółw', 'SÖHNE', '%', '_', '+255', 'CRM', 'istanbul']) }),
    ...(once(3) && { tag: pick(['vip', 'Żółw', 'none']) }),
  })
  return {
    'contacts.create': () => ({ json: { ...traits(), email: `Contact${++count}@Example.com` } }),
    'contacts.list': () => ({ query: { ...page(), ...filter() } }),
    'contacts.import': () => ({
      json: { contacts: Array.from({ length: 1 + below(9) }, contact) },
    }),
    'contacts.export': () => ({ query: filter() }),
    'contacts.get': ({ contacts }) => ({ id: once(4) ? pick(contacts) : contacts.at(-1) }),
    'contacts.update': ({ contacts }) => ({
      id: contacts.at(-1),
      json: { ...traits(), ...(once(2) && { email: `Moved${++count}@Example.com` }) },
    }),
    'contacts.delete': ({ contacts }) => ({ id: contacts.length > 1 ? contacts.pop() : undefined }),
    'templates.create': () => ({
      json: {
        name: `note-${++count}`,
        variables: [{ name: 'name', type: 'text', fallback: 'there' }],
        variants: [
          { channel: 'sms', locale: 'en', content: { text: `Hi {{name}} ${count}` } },
          { channel: 'email', locale: 'en', content: { subject: 'Hi', html: '<p>{{name}}</p>' } },
        ],
      },
    }),
    'templates.push': ({ templates }) => ({
      json: {
        templates: [
          {
            name: once(2) ? (templates.at(-1) ?? 'unknown') : `pushed-${++count}`,
            variants: [
              { channel: 'sms', locale: 'de', content: { text: 'Hallo {{name|Sie}}' } },
              { channel: 'sms', locale: 'en', content: { text: `Pushed ${below(3)}` } },
            ],
            default_locale: 'en',
          },
        ],
        publish: once(2),
        dry_run: once(3),
      },
    }),
    'templates.preview': ({ templates }) => ({
      json: {
        name: templates.at(-1),
        channel: pick(['sms', 'email']),
        variables: { name: 'Asha' },
      },
    }),
    'templates.list': () => ({ query: page() }),
    'templates.get': ({ templates }) => ({ id: templates.at(-1) }),
    'templates.update': ({ templates }) => ({
      id: templates.at(-1),
      json: { description: `Changed ${++count}` },
    }),
    'templates.publish': ({ templates }) => ({ id: templates.at(-1), json: {} }),
    'templates.versions': ({ templates }) => ({ id: templates.at(-1), query: page() }),
    'templates.version': ({ templates }) => ({ id: templates.at(-1) }),
    'templates.delete': ({ templates }) => ({
      id: templates.length > 1 ? templates.pop() : undefined,
    }),
    'verifications.start': () => ({
      json: {
        to: `+25573000${1000 + below(9000)}`,
        channel: pick(['sms', 'whatsapp']),
        ...(once(3) && { code_length: 4 + below(7) }),
        ...(once(3) && {
          fallback: [{ channel: 'voice' }, { channel: 'email', to: 'asha@example.com' }],
          fallback_after: 10 + below(60),
        }),
      },
    }),
    'verifications.check': ({ verifications }) => ({
      id: verifications.at(-1),
      json: { code: '123456' },
    }),
    'verifications.check_address': () => ({
      json: { to: `+25573000${1000 + below(9000)}`, code: '123456' },
    }),
    'verifications.check_address newest': ({ verifications, numbers }) => ({
      json: { to: numbers[verifications.at(-1) ?? ''] ?? '+255730001000', code: '123456' },
    }),
    'verifications.resend': ({ verifications }) => ({ id: verifications.at(-1), json: {} }),
    'verifications.cancel': ({ verifications }) => ({ id: verifications.at(-1) }),
    'verifications.get': ({ verifications }) => ({ id: verifications.at(-1) }),
    'suppressions.list': () => ({
      query: { ...page(), ...(once(3) && { search: pick(['255', 'EXAMPLE', '_']) }) },
    }),
    'suppressions.add': () => ({
      json: {
        ...(once(2)
          ? { channel: pick(['sms', 'voice']), address: `+2557000000${10 + below(9)}` }
          : { channel: 'email', address: `Gone${below(9)}@Example.com` }),
        ...(once(2) && { reason: pick(['bounce', 'complaint']) }),
      },
    }),
    'suppressions.remove bounced': () => ({ id: 'email/bounced%40sandbox.svc' }),
    'suppressions.remove': ({ suppressions }) => ({ id: suppressions.pop() ?? 'sms/none' }),
  }
}
