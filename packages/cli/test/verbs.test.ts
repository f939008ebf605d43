import { api } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { leafCommands } from './commands-in.ts'
import { type DevServer, startDevServer } from './dev-server.ts'
import { svc, svcJson } from './svc.ts'

/** The command of each endpoint; null for an endpoint that a terminal does not need: the reason is beside it. */
const VERBS: { [Group in keyof typeof api]: Record<keyof (typeof api)[Group], string | null> } = {
  workspaces: {
    signup: 'workspaces create',
    // A login needs a password and gives a token; commands use API keys or the database.
    login: null,
    logout: null,
    verify_email: null,
    resend_verification: null,
    forgot_password: null,
    reset_password: null,
    change_password: null,
    account: 'workspaces list',
    balance: 'credits show',
    // The settings of the account belong to its owner.
    update_account: null,
  },
  members: {
    list: 'members list',
    update: 'members role',
    remove: 'members remove',
    // Needs the password of the owner.
    make_owner: null,
    // Needs the password of the administrator.
    end_sessions: null,
  },
  // A person accepts in the browser.
  invitations: {
    list: 'members invitations',
    create: 'members invite',
    delete: 'members withdraw',
    accept: null,
  },
  verifications: {
    start: 'verify start',
    check: 'verify check',
    check_address: 'verify check',
    resend: 'verify resend',
    cancel: 'verify cancel',
    get: 'verify show',
    list: 'verify list',
    stats: 'verify stats',
  },
  templates: {
    create: 'templates push',
    push: 'templates push',
    preview: 'templates preview',
    list: 'templates list',
    get: 'templates show',
    update: 'templates push',
    publish: 'templates publish',
    versions: 'templates versions',
    version: 'templates show',
    delete: 'templates delete',
  },
  broadcasts: {
    create: 'broadcasts create',
    preview: 'broadcasts preview',
    list: 'broadcasts list',
    get: 'broadcasts show',
    update: 'broadcasts update',
    pause: 'broadcasts pause',
    resume: 'broadcasts resume',
    cancel: 'broadcasts cancel',
  },
  // The sessions of a login are for its own person.
  sessions: {
    list: null,
    end: null,
    end_all: null,
    end_with_password: null,
    links: null,
    unlink: null,
  },
  api_keys: { create: 'keys create', list: 'keys list', deactivate: 'keys revoke' },
  messages: {
    send: 'send',
    get: 'messages show',
    timeline: 'messages timeline',
    cancel: 'messages cancel',
    reschedule: 'messages reschedule',
    erase: 'messages erase',
    // The erasure of all messages of an address works on the database too: `redact` is the API's form of it.
    redact: 'recipients erase',
    estimate: 'messages estimate',
    list: 'messages list',
    export: 'messages export',
  },
  bulks: {
    send: 'bulk send',
    get: 'bulk show',
    rejected: 'bulk rejected',
    pause: 'bulk pause',
    resume: 'bulk resume',
    cancel: 'bulk cancel',
    retry: 'bulk retry',
  },
  received: { list: 'messages received' },
  contacts: {
    create: 'contacts add',
    list: 'contacts list',
    import: 'contacts import',
    export: 'contacts export',
    get: 'contacts show',
    update: 'contacts update',
    delete: 'contacts delete',
  },
  suppressions: {
    list: 'suppressions list',
    add: 'suppressions add',
    remove: 'suppressions remove',
  },
  webhooks: {
    create: 'webhooks create',
    list: 'webhooks list',
    // The help of `webhooks trigger` lists the events.
    events: null,
    get: 'webhooks show',
    health: 'webhooks health',
    update: 'webhooks update',
    delete: 'webhooks delete',
    rotate_secret: 'webhooks rotate-secret',
    enable: 'webhooks enable',
    test: 'webhooks test',
    deliveries: 'webhooks deliveries',
    delivery: 'webhooks delivery',
    retry: 'webhooks retry',
    recover: 'webhooks recover',
  },
  events: { list: 'messages tail' },
  domains: {
    create: 'domains add',
    list: 'domains list',
    get: 'domains show',
    verify: 'domains verify',
    rotate: 'domains rotate',
    delete: 'domains remove',
  },
  // A purchase needs a browser; the payment provider sends notifications.
  billing: {
    packages: null,
    checkout: null,
    transactions: 'credits history',
    // With the amounts of all workspaces, from the database.
    export: 'ledger export',
    notify: null,
  },
  audit: { list: 'audit' },
  health: { check: 'doctor', live: null, ready: null },
}

test('each endpoint of the API has a command, or a reason for none', () => {
  const commands = leafCommands().map(({ names }) => names.join(' '))
  for (const [group, endpoints] of Object.entries(api)) {
    const verbs = VERBS[group as keyof typeof api] as Record<string, string | null>
    expect([group, Object.keys(verbs).sort()]).toEqual([group, Object.keys(endpoints).sort()])
    for (const command of Object.values(verbs)) if (command) expect(commands).toContain(command)
  }
})

describe('the verbs of records', () => {
  let server: DevServer
  beforeAll(async () => {
    server = await startDevServer()
  })
  afterAll(() => server.close())
  const run = (...argv: string[]) => svc(argv, server.here)
  const json = <T>(...argv: string[]) => svcJson<T>(argv, server.here)

  test('a contact is added, shown, changed and deleted', async () => {
    const fields = ['--phone', '+14155550101', '--name', 'Asha', '--tags', 'vip,new']
    const { contact } = await json<{ contact: { id: string } }>(
      ...['contacts', 'add', ...fields, '--attribute', 'city=Dodoma'],
    )
    expect(contact).toMatchObject({ tags: ['vip', 'new'], attributes: { city: 'Dodoma' } })
    expect((await run('contacts', 'show', contact.id)).stdout).toContain('+14155550101')
    const changed = await json(
      'contacts',
      'update',
      contact.id,
      '--name',
      '',
      '--email',
      'a@b.example',
    )
    expect(changed).toMatchObject({
      contact: { name: null, email: 'a@b.example', phone: '+14155550101', tags: ['vip', 'new'] },
    })
    const nothing = await run('contacts', 'update', contact.id)
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('name a field')])
    expect((await run('contacts', 'delete', contact.id)).stderr).toContain('add --yes')
    expect((await run('contacts', 'delete', contact.id, '--yes')).stdout).toBe('Contact deleted\n')
    expect((await run('contacts', 'show', contact.id)).code).toBe(1)
  })

  test('a code is sent, checked once, sent again and canceled', async () => {
    interface Started {
      verification_id: string
      test_code: string
      credits_used: number
    }
    // The key of `svc dev` is a live one.
    const made = await json<{ key: string }>(...['keys', 'create', '--name', 'Codes', '--test'])
    const as = {
      ...server.here,
      env: { ...server.here.env, SVC_URL: server.url, SVC_API_KEY: made.key },
    }
    const codes = (...argv: string[]) => svc(argv, as)
    const codesJson = <T>(...argv: string[]) => svcJson<T>(argv, as)
    const to = '+15005550006'
    const shown = await codes('verify', 'start', to, '--code-length', '8')
    const [, code = ''] = /^test code:?\s+(\d{8})$/m.exec(shown.stdout) ?? []
    expect(shown).toMatchObject({ code: 0, stderr: expect.stringMatching(`check \\S+ ${code}\n$`) })
    const again = await codesJson<Started>('verify', 'start', to)
    expect(again).toMatchObject({ status: 'pending', test_code: code, credits_used: 0 })
    const id = again.verification_id
    const wrong = await codes('verify', 'check', id, code === '11111111' ? '22222222' : '11111111')
    expect(wrong).toMatchObject({ code: 1, stdout: `pending\t${id}\n` })
    expect(wrong.stderr).toContain('the code is wrong: 4 attempts left')
    expect((await codes('verify', 'check', to, code)).stdout).toBe(`approved\t${id}\n`)
    expect((await codes('verify', 'check', id, code)).stderr).toContain('a code works once')
    expect((await codes('verify', 'show', id)).stdout).toMatch(/status\s+approved/)

    const mail = await codesJson<Started>('verify', 'start', 'asha@example.com', '--locale', 'de')
    expect(mail).toMatchObject({ channel: 'email' })
    const resent = await codesJson('verify', 'resend', mail.verification_id)
    expect(resent).toMatchObject({ test_code: mail.test_code, credits_used: 0 })
    const byVoice = await codes('verify', 'resend', mail.verification_id, '--channel', 'voice')
    expect([byVoice.code, byVoice.stderr]).toEqual([1, expect.stringContaining('by email')])
    expect((await codes('verify', 'cancel', mail.verification_id)).stderr).toContain('add --yes')
    const canceled = await codes('verify', 'cancel', mail.verification_id, '--yes')
    expect(canceled.stdout).toBe(`canceled\t${mail.verification_id}\n`)
    const ended = await codesJson('verify', 'list', '--status', 'canceled')
    expect(ended).toMatchObject({ verifications: [{ to: 'asha@example.com', locale: 'de' }] })
    const stats = () => json('verify', 'stats', '--days', '1')
    expect(await stats()).toMatchObject({ total: { sent: 0, conversion: null }, paused: [] })
    const live = await json<Started>('verify', 'start', '+255712345678')
    expect(live).not.toHaveProperty('test_code')
    expect(await stats()).toMatchObject({
      countries: [{ country: 'TZ', sent: 1, approved: 0 }],
      funnel: { total: { requested: 1, approved: 0 } },
    })
    expect((await run('verify', 'stats')).stderr).toContain('1 verification: ')
    expect((await run('verify', 'stats')).stdout).toMatch(
      /^TZ\t1\t0\t0 %\t\S+\t\ntotal\t1\t0\t0 %\t\S+\t\n$/,
    )
    expect((await run('verify', 'stats', '--days', '31')).stderr).toContain('1 to 30')
    const digits = await codes('verify', 'start', to, '--code-length', 'six')
    expect([digits.code, digits.stderr]).toEqual([2, expect.stringContaining('--code-length')])
  })

  test('a suppression is added, listed and removed', async () => {
    const argv = ['suppressions', 'add', 'sms', '+14155550102', '--reason', 'opt_out']
    expect((await run(...argv)).stdout).toMatch(/^sms\t\+14155550102\topt_out\t\S+\n$/)
    const list = await json('suppressions', 'list', '--channel', 'sms')
    expect(list).toMatchObject({ suppressions: [{ address: '+14155550102' }] })
    expect((await run('suppressions', 'add', 'fax', '1')).code).toBe(1)
    const removed = await run('suppressions', 'remove', 'sms', '+14155550102', '--yes')
    expect(removed).toMatchObject({ code: 0, stderr: '' })
    expect((await run('suppressions', 'list')).stderr).toContain('No suppressions.')
  })

  test('a webhook is created with its secret, shown, disabled, enabled and deleted', async () => {
    const url = 'http://127.0.0.1:9/hooks'
    const { webhook } = await json<{ webhook: { id: string; secret: string } }>(
      ...['webhooks', 'create', url, '--events', 'message.failed', '--header', 'X-Team=a'],
    )
    expect(webhook).toMatchObject({ url, events: ['message.failed'], headers: ['X-Team'] })
    expect(webhook.secret).toMatch(/^whsec_/)
    const shown = (await run('webhooks', 'show', webhook.id)).stdout
    expect(shown).toContain(url)
    expect(shown).not.toContain(webhook.secret)
    expect((await run('webhooks', 'disable', webhook.id)).stdout).toContain('disabled (manual)')
    expect((await run('webhooks', 'enable', webhook.id)).stdout).toContain('\tactive\t')
    const recovered = await run('webhooks', 'recover', webhook.id, '--since', '2h')
    expect(recovered.stdout).toBe('0 deliveries queued again\n')
    expect((await run('webhooks', 'delete', webhook.id, '--yes')).code).toBe(0)
    expect((await run('webhooks', 'show', webhook.id)).code).toBe(1)
  })

  test('a person is invited by a link, which a withdrawal ends', async () => {
    const made = await json<{ invitation: { id: string }; link: string }>(
      ...['members', 'invite', 'new@example.com', 'viewer'],
    )
    expect(made).toMatchObject({ invitation: { email: 'new@example.com', role: 'viewer' } })
    const token = new URL(made.link).searchParams.get('token')
    const accept = () =>
      fetch(`${server.url}/api/v1/invitations/accept`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, password: 'a long password' }),
      })
    expect((await run('members', 'invitations')).stdout).toContain('new@example.com')
    expect((await run('members', 'withdraw', made.invitation.id)).code).toBe(0)
    expect((await accept()).ok).toBe(false)
    const again = await json<{ link: string }>('members', 'invite', 'new@example.com', 'viewer')
    const second = new URL(again.link).searchParams.get('token')
    const answer = await fetch(`${server.url}/api/v1/invitations/accept`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: second, password: 'a long password' }),
    })
    expect(answer.status).toBe(200)
    expect((await run('members', 'invite', 'x@example.com', 'king')).code).toBe(1)
  })
})
