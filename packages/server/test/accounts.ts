import type { Core, MailKind } from '@svc/core'
import { type AssignedRole, type Scope, units } from '@svc/core/contract'
import { type Call, expectStatus } from './call.ts'
import type { Answer } from './every-answer.ts'

/** A workspace with the credentials of its owner. */
export interface Account {
  id: string
  email: string
  password: string
  token: string
}

/** A send that costs one credit. */
export const sms = { to: '+14155552671', channel: 'sms', content: { text: 'Hello' } } as const

/** A bulk of two messages that cost one credit each. */
export const bulk = {
  channel: 'sms',
  content: { text: 'Hello {{name|you}}' },
  recipients: ['+14155552671', { to: '+14155552672', name: 'Asha' }],
} as const

/** Common steps of the tests. */
export function accountsOf(core: Core, call: Call) {
  let count = 0
  const grant = async ({ id }: Pick<Account, 'id'>, credits: number): Promise<void> => {
    await core.credits.grant(id, { amount: units(credits * 1_000_000), actor: 'test' })
  }
  /** A key of the account; default: all scopes. */
  async function keyOf(
    { token }: Pick<Account, 'token'>,
    request: { scopes?: Scope[]; mode?: 'live' | 'test'; [field: string]: unknown } = {},
  ): Promise<{ id: string; key: string }> {
    const json = { name: 'test key', ...request }
    const made = expectStatus(201, await call('POST', '/api/v1/api-keys', { token, json }))
    return { id: made.body.data.id, key: made.body.data.key }
  }

  /** The name of a published template of the account. */
  async function templateOf(
    { token }: Pick<Account, 'token'>,
    text = 'Hi {{name|there}}',
  ): Promise<string> {
    const name = `t-${Math.random().toString(36).slice(2)}`
    const variants = [{ channel: 'sms', locale: 'en', content: { text } }]
    const path = '/api/v1/templates'
    expectStatus(201, await call('POST', path, { token, json: { name, variants } }))
    expectStatus(201, await call('POST', `${path}/${name}/publish`, { token }))
    return name
  }

  return {
    grant,
    /** A workspace with `credits`, signed up and logged in. */
    async signup({ credits = 0 }: { credits?: number } = {}): Promise<Account> {
      const email = `owner${++count}@example.com`
      const password = `password of owner ${count}`
      const json = { email, password, company_name: `Company ${count}` }
      // A different address for each signup, because of the rate limit of one address.
      const from = `198.51.${count >> 8}.${count & 255}`
      const made = expectStatus(201, await call('POST', '/api/v1/auth/signup', { json, from }))
      const id: string = made.body.data.workspace.id
      if (credits > 0) await grant({ id }, credits)
      const login = await call('POST', '/api/v1/auth/login', { json: { email, password }, from })
      return { id, email, password, token: expectStatus(200, login).body.data.token }
    },
    /** The token of the newest mail of this kind to an address; null for none. */
    async mailed(email: string, kind: MailKind): Promise<string | null> {
      await core.mails.idle()
      const mail = core.mails.list().find((one) => one.to === email && one.kind === kind)
      return mail?.link ? new URL(mail.link).searchParams.get('token') : null
    },
    /** Verifies the address of an account. */
    async verify({ email }: Pick<Account, 'email'>): Promise<void> {
      const json = { token: await this.mailed(email, 'verify_email') }
      // A different address for each verification, because of the rate limit of one address.
      const from = `198.51.${++count >> 8}.${count & 255}`
      expectStatus(200, await call('POST', '/api/v1/auth/verify-email', { json, from }))
    },
    /** An open invitation of the account, whose address is verified. */
    async invitation(
      { token }: Pick<Account, 'token'>,
      role: AssignedRole = 'developer',
    ): Promise<{ id: string; email: string }> {
      const json = { email: `member${++count}@example.com`, role }
      const made = expectStatus(201, await call('POST', '/api/v1/invitations', { token, json }))
      return made.body.data.invitation
    },
    /** A member of the account's workspace, whose address is verified. */
    async member(account: Pick<Account, 'token'>, role: AssignedRole): Promise<Account> {
      const { email } = await this.invitation(account, role)
      const password = `password of member ${email}`
      const json = { token: await this.mailed(email, 'invitation'), password }
      // A different address for each request, because of the rate limit of one address.
      const from = `198.51.${++count >> 8}.${count & 255}`
      const accepted = await call('POST', '/api/v1/invitations/accept', { json, from })
      const { token } = expectStatus(200, accepted).body.data
      const { members } = (await call('GET', '/api/v1/members', { token })).body.data
      const { id } = members.find((one: { email: string }) => one.email === email)
      return { id, email, password, token }
    },
    /** The id of another session of the account, which begins now. */
    async otherSession({ email, password, token }: Omit<Account, 'id'>): Promise<string> {
      const from = `198.51.${++count >> 8}.${count & 255}`
      expectStatus(
        200,
        await call('POST', '/api/v1/auth/login', { json: { email, password }, from }),
      )
      const { sessions } = (await call('GET', '/api/v1/sessions', { token })).body.data
      return sessions[0].id
    },
    key: keyOf,
    /** A webhook of the account. */
    async webhook(
      { token }: Pick<Account, 'token'>,
      request: object = {},
    ): Promise<{ id: string; secret: string }> {
      const json = { url: 'https://receiver.example/hook', ...request }
      const made = expectStatus(201, await call('POST', '/api/v1/webhooks', { token, json }))
      return made.body.data.webhook
    },
    /** A sending domain of the account. */
    async domain({ token }: Pick<Account, 'token'>): Promise<{ id: string; domain: string }> {
      const json = { domain: `d${Math.random().toString(36).slice(2)}.example` }
      const made = expectStatus(201, await call('POST', '/api/v1/domains', { token, json }))
      return made.body.data.domain
    },
    template: templateOf,
    /** A broadcast of the account that does not begin. */
    async broadcast(account: Pick<Account, 'token'>): Promise<string> {
      const { key } = await keyOf(account)
      const template = { name: await templateOf(account) }
      const json = { channel: 'sms', template, audience: { tags: ['vip'] }, draft: true }
      const made = await call('POST', '/api/v1/broadcasts', { key, json })
      return expectStatus(201, made).body.data.broadcast.id
    },
    /** A contact of the account; default: with a new phone number. */
    async contact(
      { token }: Pick<Account, 'token'>,
      request: object = {},
    ): Promise<{ id: string; [field: string]: unknown }> {
      const json = { phone: `+2559${String(++count).padStart(8, '0')}`, ...request }
      const made = expectStatus(201, await call('POST', '/api/v1/contacts', { token, json }))
      return made.body.data.contact
    },
    /** Suppresses an address; returns its part of a path. */
    async suppression({ token }: Pick<Account, 'token'>, request: object = {}): Promise<string> {
      const json = {
        channel: 'sms',
        address: `+2558${String(++count).padStart(8, '0')}`,
        ...request,
      }
      const path = '/api/v1/contacts/suppressions'
      const made = expectStatus(201, await call('POST', path, { token, json }))
      const { channel, address } = made.body.data.suppression
      return `${channel}/${address}`
    },
    /** Sends an SMS; default: of one segment. */
    send: (key: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
      call('POST', '/api/v1/messages/send', { key, json: { ...sms, ...body }, headers }),
    /** Sends a bulk of SMS; default: two of one segment. */
    bulk: (key: string, body: object = {}): Promise<Answer> =>
      call('POST', '/api/v1/messages/bulk', { key, json: { ...bulk, ...body } }),
    /** The credits of the account. */
    async balance({ token }: Pick<Account, 'token'>): Promise<number> {
      const account = expectStatus(200, await call('GET', '/api/v1/account', { token }))
      return account.body.data.credits_balance
    },
    /** The number of messages and of ledger entries of a workspace. */
    async written({ id }: Pick<Account, 'id'>): Promise<{ messages: number; entries: number }> {
      const { total } = await core.messages.list(id, { page: 1, limit: 1 })
      const entries = await core.credits.entries(id, { limit: 1, offset: 0 })
      return { messages: total, entries: entries[0]?.seq ?? 0 }
    },
  }
}
