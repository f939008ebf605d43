import { DEADLINES_MS } from '@svc/testkit/provider'
import { afterEach, describe, expect, it } from 'vitest'
import type { Outcome, Provider } from '../../../src/contract/outside/provider.ts'
import { openSmtp } from '../../../src/providers/smtp/smtp.ts'
import { CERTIFICATE } from './send-certificate.ts'
import { context, smtpJob, smtpSettings } from './send-fixtures.ts'
import { type ScriptedServer, startScript } from './send-script.ts'

let closing: (() => Promise<void> | undefined)[] = []
afterEach(async () => {
  for (const close of closing) await close()
  closing = []
})

const LEAK = 'asha@rcpt.example'

interface Stage {
  server: ScriptedServer
  provider: Provider
  send(): Promise<Outcome | undefined>
}

async function stage(
  script: Parameters<typeof startScript>[0],
  {
    settings = {},
    scheme = 'smtp',
    user = 'svc:canary-password@',
    host = '127.0.0.1',
    send_max_ms = DEADLINES_MS.patient,
  }: {
    settings?: Parameters<typeof smtpSettings>[0]
    scheme?: 'smtp' | 'smtps'
    user?: string
    host?: string
    send_max_ms?: number
  } = {},
): Promise<Stage> {
  const server = await startScript(script, { tls: scheme === 'smtps' })
  const url = `${scheme}://${user}${host}:${server.port}`
  const provider = openSmtp(smtpSettings({ url, ...settings }), context, { send_max_ms })
  closing.push(async () => provider.close?.(), server.close)
  return { server, provider, send: async () => (await provider.send([smtpJob()]))[0] }
}

const TRANSIENT = 'retry provider_unavailable'
const MISCONFIGURED = (code: string) => `retry ${code} provider`
const REJECTED = (code: string) => `rejected ${code}`
const BOUNCED = 'rejected invalid_recipient bounce'
const AMBIGUOUS = 'ambiguous no_answer'

/** A short form of an outcome. */
function shortOf(outcome: Outcome | undefined): string {
  if (!outcome || outcome.type === 'accepted') return outcome?.type ?? 'nothing'
  const { type, error_code } = outcome
  const more = type === 'retry' ? outcome.misconfigured : type === 'rejected' && outcome.suppress
  return [type, error_code, more || ''].join(' ').trim()
}

type Row = [verb: string, act: string, outcome: string]

const ROWS: Row[] = [
  ['greeting', '421 4.3.2 Shutting down', TRANSIENT],
  ['greeting', '450 Come back', TRANSIENT],
  ['greeting', '554 5.7.1 No service for you', MISCONFIGURED('provider_refused')],
  ['greeting', 'HTTP/1.1 400 Bad Request', TRANSIENT],
  ['greeting', 'drop', TRANSIENT],
  ['EHLO', '421 4.3.2 Shutting down', TRANSIENT],
  ['EHLO', 'drop', TRANSIENT],
  ['AUTH', '421 4.7.0 Too many logins', TRANSIENT],
  ['AUTH', '454 4.7.0 Temporary authentication failure', TRANSIENT],
  ['AUTH', '535 5.7.8 Bad credentials', MISCONFIGURED('provider_unauthorized')],
  [
    'AUTH',
    '534 5.7.9 Application-specific password required',
    MISCONFIGURED('provider_unauthorized'),
  ],
  ['AUTH', '502 5.5.2 Not implemented', MISCONFIGURED('provider_unauthorized')],
  ['AUTH', 'drop', TRANSIENT],
  ['MAIL', '421 4.7.0 Too busy', TRANSIENT],
  ['MAIL', '451 4.3.0 Local error', TRANSIENT],
  ['MAIL', '530 5.7.0 Authentication required', MISCONFIGURED('provider_unauthorized')],
  ['MAIL', '550 5.7.1 Not your address', MISCONFIGURED('sender_invalid')],
  ['MAIL', '553 5.1.8 No such domain', MISCONFIGURED('sender_invalid')],
  ['MAIL', '555 Unsupported option', MISCONFIGURED('provider_refused')],
  ['MAIL', '501 5.5.4 Invalid arguments', MISCONFIGURED('provider_refused')],
  ['MAIL', '550 5.4.5 Daily quota exceeded', 'retry rate_limited'],
  ['MAIL', '552 5.3.4 Message too big', REJECTED('too_large')],
  ['MAIL', 'drop', TRANSIENT],
  ['RCPT', '421 4.7.0 Too busy', TRANSIENT],
  ['RCPT', '450 4.2.1 Rate of this mailbox', 'retry rate_limited'],
  ['RCPT', '451 4.7.1 Greylisted', TRANSIENT],
  ['RCPT', '452 4.2.2 Mailbox full', 'retry mailbox_full'],
  ['RCPT', '503 5.5.1 Bad sequence', TRANSIENT],
  ['RCPT', '550 5.1.1 <asha@rcpt.example> unknown', BOUNCED],
  ['RCPT', '550-5.1.1 <asha@rcpt.example>\r\n550 5.1.1 does not exist', BOUNCED],
  ['RCPT', '551 5.1.6 Moved', BOUNCED],
  ['RCPT', '553 5.1.3 Bad syntax', BOUNCED],
  ['RCPT', '550 5.2.1 Disabled', BOUNCED],
  ['RCPT', '550 No such user', REJECTED('invalid_recipient')],
  ['RCPT', '552 5.2.2 Over quota', 'retry mailbox_full'],
  ['RCPT', '552 Mailbox full', 'retry mailbox_full'],
  ['RCPT', '550 5.1.8 Sender domain unknown', MISCONFIGURED('sender_invalid')],
  ['RCPT', '550 5.1.7 Bad sender address', MISCONFIGURED('sender_invalid')],
  ['RCPT', '550 5.1.9 Relayed to a non-compliant mailer', REJECTED('refused')],
  ['RCPT', '556 5.1.10 Null MX', BOUNCED],
  ['RCPT', '555 5.5.4 Unsupported option', REJECTED('refused')],
  ['RCPT', '530 5.7.0 Must issue STARTTLS', MISCONFIGURED('provider_unauthorized')],
  [
    'RCPT',
    '554 5.7.1 <asha@rcpt.example>: Relay access denied',
    MISCONFIGURED('provider_unauthorized'),
  ],
  ['RCPT', '550 5.7.1 Blocked', REJECTED('blocked')],
  ['RCPT', '554 Refused', REJECTED('refused')],
  ['RCPT', 'drop', TRANSIENT],
  ['DATA', '421 4.7.0 Too busy', TRANSIENT],
  ['DATA', '451 4.3.0 Local error', TRANSIENT],
  ['DATA', '554 5.5.1 No valid recipients', REJECTED('refused')],
  ['DATA', 'drop', TRANSIENT],
  ['dot', '421 4.7.0 Too busy', TRANSIENT],
  ['dot', '451 4.3.0 Local error', TRANSIENT],
  ['dot', '452 4.3.1 Disk full', TRANSIENT],
  ['dot', '421 4.7.28 Unusual rate', 'retry rate_limited'],
  ['dot', '550 5.1.1 No such user', BOUNCED],
  ['dot', '550 5.7.26 Unauthenticated', REJECTED('blocked')],
  ['dot', '552 5.3.4 Too big', REJECTED('too_large')],
  ['dot', '552 Too big', REJECTED('too_large')],
  ['dot', '554 5.6.0 Malformed', REJECTED('refused')],
  ['dot', '250 2.0.0 Queued', 'accepted'],
  ['dot', 'drop', AMBIGUOUS],
  ['dot', 'nonsense', AMBIGUOUS],
]

describe('a mail server that answers', () => {
  it.each(ROWS)('to %s with %j: %s', async (verb, act, expected) => {
    const { send } = await stage({ [verb]: act })
    const outcome = await send()
    expect(shortOf(outcome)).toBe(expected)
    // Of the server's answer only the codes are shown.
    expect(JSON.stringify(outcome)).not.toContain(LEAK)
    const [, code, enhanced] = /^([45]\d\d)[ -](\d\.\d+\.\d+)?/.exec(act) ?? []
    if (code && outcome?.type !== 'accepted') {
      expect(outcome?.error_message).toContain(`smtp:${enhanced ? `${code} ${enhanced}` : code} `)
    }
  })

  it.each([
    ['greeting', TRANSIENT],
    ['EHLO', TRANSIENT],
    ['AUTH', TRANSIENT],
    ['MAIL', TRANSIENT],
    ['RCPT', TRANSIENT],
    ['DATA', TRANSIENT],
    ['dot', AMBIGUOUS],
  ])('never to %s: %s', async (verb, expected) => {
    const { send, server } = await stage({ [verb]: 'hang' }, { send_max_ms: DEADLINES_MS.brief })
    expect(shortOf(await send())).toBe(expected)
    // The connection ends, and an incomplete mail is not completed.
    await expect.poll(server.connections, { timeout: 10_000 }).toBe(0)
    expect(server.commands.includes('dot')).toBe(verb === 'dot')
  })
})

describe('a long mail', () => {
  // More than the buffers of the system hold: a mail in these buffers counts as written.
  const text = 'x'.repeat(70).concat('\n').repeat(230_000)

  it('is not ambiguous if the connection ends in the middle of it', async () => {
    const { provider, server } = await stage({ DATA: 'cut' })
    const [outcome] = await provider.send([smtpJob({ content: { text } })])
    expect(shortOf(outcome)).toBe(TRANSIENT)
    expect(server.commands).not.toContain('dot')
  })

  it('is not ambiguous if the server stops reading until the timeout', async () => {
    const { provider, server } = await stage({ DATA: 'stall' }, { send_max_ms: 300 })
    const [outcome] = await provider.send([smtpJob({ content: { text } })])
    expect(shortOf(outcome)).toBe(TRANSIENT)
    expect(server.commands).not.toContain('dot')
  })
})

describe('a kept connection', () => {
  it('that is found closed is replaced for the mail', async () => {
    const { send, server } = await stage({ MAIL: ['250 2.1.0 OK', 'drop', '250 2.1.0 OK'] })
    expect(shortOf(await send())).toBe('accepted')
    expect(shortOf(await send())).toBe('accepted')
    expect(server.commands.filter((line) => line === 'dot')).toHaveLength(2)
    expect(server.commands.filter((line) => line.startsWith('MAIL'))).toHaveLength(3)
  })

  it('is used again after a refusal', async () => {
    const { send, server } = await stage(
      { RCPT: ['550 5.1.1 No', '250 2.1.5 OK'] },
      { settings: { connections: 1 } },
    )
    expect(shortOf(await send())).toBe(BOUNCED)
    expect(shortOf(await send())).toBe('accepted')
    expect(server.commands.filter((line) => line.startsWith('EHLO'))).toHaveLength(1)
  })

  it('does not get a mail again that the server read before it disconnected', async () => {
    const { send, server } = await stage({ dot: ['250 2.0.0 OK', 'drop'] })
    expect(shortOf(await send())).toBe('accepted')
    expect(shortOf(await send())).toBe(AMBIGUOUS)
    expect(server.commands.filter((line) => line === 'dot')).toHaveLength(2)
  })
})

const TLS_OFFERED = { EHLO: '250-mail.example\r\n250-STARTTLS\r\n250 AUTH PLAIN' }
const trusted = { certificate_authority: CERTIFICATE, require_tls: true }
const auths = ({ commands }: ScriptedServer) => commands.filter((line) => line.startsWith('AUTH'))

describe('TLS', () => {
  it('discards answers from before its handshake', async () => {
    const injected = '220 Ready\r\n250-mail.example\r\n250 SIZE 1'
    const { send, server } = await stage(
      { ...TLS_OFFERED, STARTTLS: injected },
      { settings: trusted },
    )
    expect(shortOf(await send())).toBe('accepted')
    expect(server.commands.filter((line) => line.startsWith('EHLO'))).toHaveLength(2)
  })

  it('begins with STARTTLS before the password', async () => {
    const { send, server } = await stage(TLS_OFFERED, { settings: trusted })
    expect(shortOf(await send())).toBe('accepted')
    expect(server.commands.map((line) => line.slice(0, 4)).slice(0, 4)).toEqual([
      'EHLO',
      'STAR',
      'EHLO',
      'AUTH',
    ])
  })

  it('begins at once with smtps', async () => {
    const { send } = await stage({}, { scheme: 'smtps', settings: trusted })
    expect(shortOf(await send())).toBe('accepted')
  })

  it.each([
    ['is not offered', { STARTTLS: '502 5.5.1 Not implemented' }],
    ['is offered and refused', { ...TLS_OFFERED, STARTTLS: '501 5.5.4 No' }],
  ])('is required and %s: neither password nor mail is sent in plain text', async (_, script) => {
    const { send, server } = await stage(script, {
      settings: trusted,
    })
    expect(shortOf(await send())).toMatch(/^retry /)
    expect(auths(server)).toEqual([])
    expect(server.commands.join()).not.toMatch(/MAIL|dot/)
  })

  it('that is not offered is a problem of the settings', async () => {
    const { send } = await stage({ STARTTLS: '502 5.5.1 No' }, { settings: trusted })
    expect(shortOf(await send())).toBe(MISCONFIGURED('provider_insecure'))
  })

  it('that is temporarily unavailable is a retry', async () => {
    const { send } = await stage(
      { ...TLS_OFFERED, STARTTLS: '454 4.7.0 Not available' },
      { settings: trusted },
    )
    expect(shortOf(await send())).toBe(TRANSIENT)
  })

  it.each(['smtp', 'smtps'] as const)(
    'by %s with an untrusted certificate is refused',
    async (scheme) => {
      const settings = { require_tls: true }
      const { send, server } = await stage(TLS_OFFERED, { scheme, settings })
      expect(shortOf(await send())).toBe(MISCONFIGURED('provider_insecure'))
      expect(auths(server)).toEqual([])
    },
  )

  it('is not used with this machine, whatever it offers', async () => {
    const { send, server } = await stage(TLS_OFFERED)
    expect(shortOf(await send())).toBe('accepted')
    expect(server.commands).not.toContain('STARTTLS')
  })
})

describe('the domain of a recipient', () => {
  it('is sent in its ASCII form, with the local part unchanged', async () => {
    const { provider, server } = await stage({})
    await provider.send([smtpJob({ recipient: 'Asha+x@bücher.example' })])
    expect(server.commands).toContain('RCPT TO:<Asha+x@xn--bcher-kva.example>')
  })
})

describe('credentials', () => {
  it('are used although the server does not offer authentication', async () => {
    const { send, server } = await stage({ EHLO: '250 mail.example', AUTH: '503 5.5.1 No' })
    expect(shortOf(await send())).toBe(MISCONFIGURED('provider_unauthorized'))
    expect(server.commands.join()).not.toContain('MAIL')
  })

  it('are not necessary', async () => {
    const { send, server } = await stage({}, { user: '' })
    expect(shortOf(await send())).toBe('accepted')
    expect(auths(server)).toEqual([])
  })
})

describe('a server that does not listen', () => {
  it('is a retry', async () => {
    const { send, server } = await stage({})
    await server.close()
    expect(shortOf(await send())).toBe(TRANSIENT)
  })
})

describe('a check', () => {
  it('finds no problem, and sends no mail', async () => {
    const { provider, server } = await stage({})
    expect(await provider.check?.()).toBeNull()
    expect(server.commands.join()).not.toContain('MAIL')
  })

  it('names the problem without a secret', async () => {
    const { provider } = await stage({ AUTH: '535 5.7.8 canary-password is wrong' })
    expect(await provider.check?.()).toBe(
      'smtp:535 5.7.8 The mail server does not accept the user name and password',
    )
  })

  it('ends at its timeout', async () => {
    const { provider } = await stage({ EHLO: 'hang' }, { send_max_ms: 300 })
    expect(await provider.check?.()).toBe(
      'smtp:EABORT The mail server did not accept the mail in time',
    )
  })

  it('reports that the server does not listen', async () => {
    const { provider, server } = await stage({})
    await server.close()
    expect(await provider.check?.()).toBe('smtp:ECONNREFUSED The mail server cannot be reached')
  })
})
