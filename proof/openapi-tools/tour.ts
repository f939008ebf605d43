import type { WholeService } from './service.ts'

/** Sends a request of an operation through Prism; returns the data of the answer. @throws Error unless it is a 2xx. */
export type Send = (
  operation: string,
  request?: {
    params?: Record<string, string>
    query?: Record<string, string>
    body?: unknown
    headers?: Record<string, string>
    token?: string
  },
) => Promise<Record<string, unknown>>

/** What the tour leaves behind: credentials, and objects that exist. */
export interface Toured {
  token: string
  key: string
  /** The parameters of the paths, by the group of the operation. */
  params: Record<string, Record<string, string>>
}

const EMAIL = 'owner@example.com'
const SMS = { channel: 'sms', content: { text: 'Your code is 123456' } }
const LATER_MS = 60 * 60_000

/** One request with success of each operation, in an order in which each finds what it needs. */
export async function tour(
  service: WholeService,
  { send, use }: { send: Send; use(credentials: { token?: string; key?: string }): void },
): Promise<Toured> {
  const text = (value: unknown) => String(value)
  const login = async (password: string) => {
    const token = text((await send('workspaces.login', { body: { email: EMAIL, password } })).token)
    use({ token })
    return token
  }
  await tourAccount(service, send, login)
  const key = text((await send('api_keys.create', { body: { name: 'Tour' } })).key)
  use({ key })
  const spare = await send('api_keys.create', { body: { name: 'Spare' } })
  await send('api_keys.list')
  await send('api_keys.deactivate', { params: { id: text(spare.id) } })
  const params = {
    api_keys: { id: text(spare.id) },
    ...(await tourMessages(service, send)),
    verifications: await tourVerifications(send),
    templates: await tourTemplates(send),
    ...(await tourContacts(send)),
    broadcasts: await tourBroadcasts(send),
    webhooks: await tourWebhooks(service, send),
    domains: await tourDomains(service, send),
    ...(await tourMembers(service, send)),
  }
  await tourOwner(service, send)
  await tourBilling(service, send)
  for (const operation of ['audit.list', 'health.check', 'health.live', 'health.ready']) {
    await send(operation)
  }
  const token = await login(PASSWORDS.last)
  const ending = await login(PASSWORDS.last)
  await send('workspaces.logout', { token: ending })
  use({ token })
  return { token, key, params }
}

const PASSWORDS = {
  first: 'a first and long password',
  second: 'a second and long password',
  last: 'a last and long password',
}

async function tourAccount(
  { tokenOf }: WholeService,
  send: Send,
  login: (password: string) => Promise<string>,
): Promise<void> {
  const { first, second, last } = PASSWORDS
  await send('workspaces.signup', {
    body: { email: EMAIL, password: first, company_name: 'Example Ltd' },
  })
  await send('workspaces.resend_verification', { body: { email: EMAIL } })
  await send('workspaces.verify_email', { body: { token: await tokenOf('verify_email') } })
  await send('workspaces.forgot_password', { body: { email: EMAIL } })
  const token = await tokenOf('reset_password')
  await send('workspaces.reset_password', { body: { token, password: second } })
  await login(second)
  await send('workspaces.change_password', {
    body: { current_password: second, new_password: last },
  })
  await login(last)
  await send('workspaces.account')
  await send('workspaces.balance')
  await send('workspaces.update_account', { body: { name: 'Example', low_balance: 50 } })
}

async function tourMessages({ idle }: WholeService, send: Send) {
  const at = (ms: number) => new Date(Date.now() + ms).toISOString()
  const scheduled_at = at(LATER_MS)
  const body = { ...SMS, to: '+15005550006' }
  const sent = await send('messages.send', { body })
  await idle()
  const messages = { id: String(sent.message_id) }
  await send('messages.get', { params: messages })
  await send('messages.timeline', { params: messages })
  const later = await send('messages.send', { body: { ...body, scheduled_at } })
  const params = { id: String(later.message_id) }
  await send('messages.reschedule', { params, body: { scheduled_at: at(2 * LATER_MS) } })
  await send('messages.cancel', { params })
  await send('messages.estimate', { body })
  const spare = await send('messages.send', { body })
  await idle()
  await send('messages.redact', { params: { id: String(spare.message_id) } })
  await send('messages.erase', { params: { id: String(spare.message_id) } })
  await send('messages.list', { query: { limit: '5', status: 'delivered' } })
  await send('messages.export', { query: { limit: '5', format: 'json' } })
  const { next_after } = await send('events.list')
  await send('events.list', { query: { after: String(next_after) } })
  // The first recipient fails, so that the bulk can be sent again.
  const recipients = ['+15005550001', '+15005550006']
  const bulks = { id: String((await send('bulks.send', { body: { ...SMS, recipients } })).bulk_id) }
  await idle()
  await send('bulks.get', { params: bulks })
  await send('bulks.rejected', { params: bulks })
  await send('bulks.retry', { params: bulks })
  const waiting = await send('bulks.send', { body: { ...SMS, recipients, scheduled_at } })
  const paused = { params: { id: String(waiting.bulk_id) } }
  await send('bulks.pause', paused)
  await send('bulks.resume', paused)
  await send('bulks.cancel', paused)
  await send('messages.send', { body: { ...body, to: '+15005550008' } })
  await idle()
  await send('received.list')
  return { messages, bulks }
}

async function tourVerifications(send: Send) {
  const to = '+15005550006'
  const started = await send('verifications.start', { body: { to, channel: 'sms' } })
  const params = { id: String(started.verification_id) }
  await send('verifications.get', { params })
  await send('verifications.list', { query: { status: 'pending' } })
  await send('verifications.resend', { params, body: { channel: 'sms' } })
  await send('verifications.check', { params, body: { code: '1234567890' } })
  await send('verifications.check_address', { body: { to, code: '1234567890' } })
  await send('verifications.cancel', { params })
  await send('verifications.stats')
  return params
}

async function tourTemplates(send: Send) {
  const variants = [{ channel: 'sms', locale: 'en', content: { text: 'Hello {{name|there}}' } }]
  const params = { name: 'greeting' }
  await send('templates.create', { body: { ...params, variants } })
  await send('templates.update', { params, body: { variants } })
  await send('templates.publish', { params, body: {} })
  await send('templates.get', { params })
  await send('templates.list')
  await send('templates.versions', { params })
  await send('templates.version', { params: { ...params, version: '1' } })
  await send('templates.preview', {
    body: { ...params, channel: 'sms', variables: { name: 'Asha' } },
  })
  await send('templates.push', { body: { templates: [{ ...params, variants }], dry_run: true } })
  await send('templates.create', { body: { name: 'spare', variants } })
  await send('templates.delete', { params: { name: 'spare' } })
  return params
}

async function tourBroadcasts(send: Send) {
  const body = {
    channel: 'sms',
    template: { name: 'greeting' },
    audience: { tags: ['unused'], attributes: { city: 'Moshi' } },
    // It must not begin before it is paused: without contacts it is finished at once.
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
    draft: true,
  }
  const { broadcast } = await send('broadcasts.create', { body })
  const params = { id: String((broadcast as { id?: unknown }).id) }
  await send('broadcasts.preview', { body })
  await send('broadcasts.get', { params })
  await send('broadcasts.list', { query: { status: 'draft' } })
  await send('broadcasts.update', { params, body: { name: 'News' } })
  await send('broadcasts.resume', { params })
  await send('broadcasts.pause', { params })
  await send('broadcasts.cancel', { params })
  return params
}

async function tourContacts(send: Send) {
  const contact = { name: 'Asha', phone: '+255712345678', tags: ['vip'] }
  const idOf = (made: Record<string, unknown>) =>
    String(((made.contact ?? made) as { id?: unknown }).id)
  const contacts = { id: idOf(await send('contacts.create', { body: contact })) }
  await send('contacts.get', { params: contacts })
  await send('contacts.update', { params: contacts, body: { name: 'Asha M.' } })
  await send('contacts.list', { query: { tag: 'vip' } })
  await send('contacts.export')
  const imported = { contacts: [{ name: 'Juma', phone: '+255712345679' }, { name: 'No address' }] }
  await send('contacts.import', { body: imported })
  const spare = await send('contacts.create', { body: { name: 'Spare', phone: '+255712345670' } })
  await send('contacts.delete', { params: { id: idOf(spare) } })
  const address = '+14155550123'
  const suppressions = { channel: 'sms', address }
  await send('suppressions.add', { body: suppressions })
  await send('suppressions.list')
  await send('suppressions.remove', { params: suppressions })
  await send('suppressions.add', { body: suppressions })
  return { contacts, suppressions }
}

async function tourWebhooks({ idle }: WholeService, send: Send) {
  const idOf = (made: Record<string, unknown>) =>
    String(((made.webhook ?? made.delivery ?? made) as { id?: unknown }).id)
  // No receiver listens there: each attempt fails at once.
  const body = { url: 'http://127.0.0.1:9/hook', events: ['*'] }
  const webhook = { id: idOf(await send('webhooks.create', { body })) }
  await send('webhooks.list')
  await send('webhooks.events')
  await send('webhooks.get', { params: webhook })
  await send('webhooks.update', { params: webhook, body: { events: ['message.delivered'] } })
  await send('webhooks.rotate_secret', { params: webhook })
  const tested = await send('webhooks.test', { params: webhook })
  await idle()
  const params = { ...webhook, delivery_id: String(tested.delivery_id ?? idOf(tested)) }
  await send('webhooks.deliveries', { params: webhook })
  await send('webhooks.health', { params: webhook, query: { period: '7d' } })
  await send('webhooks.delivery', { params })
  await send('webhooks.retry', { params })
  const since = new Date(Date.now() - LATER_MS).toISOString()
  await send('webhooks.recover', { params: webhook, body: { since } })
  await send('webhooks.enable', { params: webhook })
  const spare = await send('webhooks.create', { body: { ...body, url: `${body.url}/2` } })
  await send('webhooks.delete', { params: { id: idOf(spare) } })
  return params
}

async function tourDomains({ publish }: WholeService, send: Send) {
  interface Made {
    id: string
    records: { purpose: string; name: string; value: string }[]
  }
  const made = async (domain: string) =>
    (await send('domains.create', { body: { domain } })).domain as Made
  const { id, records } = await made('acme.example')
  for (const record of records) if (record.purpose === 'dkim') publish(record)
  await send('domains.verify', { params: { id } })
  await send('domains.rotate', { params: { id } })
  await send('domains.get', { params: { id } })
  await send('domains.list')
  await send('domains.delete', { params: { id: (await made('spare.example')).id } })
  return { id }
}

async function tourMembers(
  { tokenOf, link }: WholeService,
  send: Send,
): Promise<Record<string, Record<string, string>>> {
  const password = 'a long password of a member'
  const invite = async (email: string) => {
    const body = { email, role: 'developer' }
    return (await send('invitations.create', { body })).invitation as { id: string }
  }
  const join = async (email: string) => {
    await invite(email)
    await send('invitations.accept', { body: { token: await tokenOf('invitation'), password } })
    const { members } = await send('members.list')
    return (members as { id: string; email: string }[]).find((one) => one.email === email)?.id ?? ''
  }
  const { id: withdrawn } = await invite('withdrawn@example.com')
  await send('invitations.list')
  await send('invitations.delete', { params: { id: withdrawn } })
  const left = await join('left@example.com')
  await send('members.update', { params: { id: left }, body: { role: 'viewer' } })
  await send('members.remove', { params: { id: left } })
  await send('workspaces.login', { body: { email: EMAIL, password: PASSWORDS.last } })
  const { sessions } = await send('sessions.list')
  const other = (sessions as { id: string; is_current: boolean }[]).find((one) => !one.is_current)
  if (other) await send('sessions.end', { params: { id: other.id } })
  const secret = { current_password: PASSWORDS.last }
  await send('workspaces.login', { body: { email: EMAIL, password: PASSWORDS.last } })
  const added = (await send('sessions.list')).sessions as { id: string; is_current: boolean }[]
  const id = added.find((one) => !one.is_current)?.id
  await send('sessions.end_with_password', { body: { ...secret, id } })
  await link(EMAIL)
  const links = (await send('sessions.links')).links as { id: string }[]
  await send('sessions.unlink', { params: { id: links[0]?.id ?? '' } })
  const member = await join('asha@example.com')
  await send('members.end_sessions', { params: { id: member }, body: secret })
  return {
    members: { id: member },
    invitations: { id: (await invite('open@example.com')).id },
    sessions: { id: (sessions as { id: string }[])[0]?.id ?? '' },
  }
}

/** Another workspace changes its owner, and ends all sessions, so that the sessions of the tour stay. */
async function tourOwner({ tokenOf }: WholeService, send: Send): Promise<void> {
  const owner = { email: 'second@example.com', password: 'a long password of an owner' }
  const heir = { email: 'heir@example.com', password: 'a long password of an heir' }
  const login = async (body: typeof owner) =>
    String((await send('workspaces.login', { body })).token)
  await send('workspaces.signup', { body: { ...owner, company_name: 'Second Ltd' } })
  await send('workspaces.verify_email', { body: { token: await tokenOf('verify_email') } })
  const token = await login(owner)
  await send('invitations.create', { token, body: { email: heir.email, role: 'admin' } })
  const accepted = { token: await tokenOf('invitation'), password: heir.password }
  await send('invitations.accept', { body: accepted })
  const members = (await send('members.list', { token })).members as { id: string }[]
  const params = { id: members[1]?.id ?? '' }
  const body = { current_password: owner.password }
  await send('members.make_owner', { token, params, body })
  await send('sessions.end_all', { token: await login(heir) })
}

async function tourBilling({ signed }: WholeService, send: Send): Promise<void> {
  await send('billing.packages')
  const checkout = await send('billing.checkout', { body: { package_id: 'starter' } })
  const body = {
    id: 'evt_1',
    object: 'event',
    type: 'checkout.session.completed',
    data: { object: { id: checkout.session_id, object: 'checkout.session' } },
  }
  await send('billing.notify', { body, headers: signed(JSON.stringify(body)) })
  await send('billing.export', { query: { format: 'json' } })
  await send('billing.transactions', { query: { limit: '5' } })
}
