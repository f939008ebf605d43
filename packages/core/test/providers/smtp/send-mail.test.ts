import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderContext } from '../../../src/contract/outside/provider.ts'
import type { EmailContent } from '../../../src/contract/resources/content.ts'
import { readMessageToken } from '../../../src/contract/signing/mail-address-token.ts'
import { openSmtp } from '../../../src/providers/smtp/smtp.ts'
import { createSmtpMailer } from '../../../src/providers/smtp/smtp-mailer.ts'
import {
  context,
  MESSAGE,
  OTHER_WORKSPACE,
  smtpJob,
  smtpSettings,
  WORKSPACE,
} from './send-fixtures.ts'
import { headersOf, type SmtpSink, type SunkMail, startSmtpSink } from './sink.ts'

let sink: SmtpSink
beforeAll(async () => {
  sink = await startSmtpSink()
})
afterAll(() => sink.close())

type Settings = Parameters<typeof smtpSettings>[0]

/** Sends one job and returns the mail that arrives. */
async function sent(
  job: Parameters<typeof smtpJob>[0] = {},
  settings: Settings = {},
  more: Partial<ProviderContext> = {},
): Promise<SunkMail> {
  const provider = openSmtp(smtpSettings({ url: sink.url, ...settings }), { ...context, ...more })
  const before = sink.mails.length
  const [outcome] = await provider.send([smtpJob(job)])
  await provider.close?.()
  expect(outcome).toMatchObject({ type: 'accepted' })
  expect(sink.mails).toHaveLength(before + 1)
  return sink.mails[before] as SunkMail
}

const field = ({ raw }: SunkMail, name: string) =>
  headersOf(raw).flatMap(([key, value]) => (key.toLowerCase() === name.toLowerCase() ? value : []))

const content = (fields: Partial<EmailContent>) => ({ content: fields })

describe('a mail', () => {
  it('goes to one recipient, with exactly its fields', async () => {
    const mail = await sent({ sender: 'Acme Ltd', content: { subject: 'Hi', text: 'Hello' } })
    expect(mail.to.map(({ address }) => address)).toEqual(['asha@rcpt.example'])
    expect(headersOf(mail.raw)).toEqual([
      [
        'List-Unsubscribe',
        expect.stringMatching(/^<https:\/\/svc\.example\/unsubscribe\/[0-9a-z]{62}>$/),
      ],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
      ['From', expect.stringMatching(/^Acme Ltd <acme-ltd-[0-9a-f]{8}@mail\.example>$/)],
      ['To', 'asha@rcpt.example'],
      ['Subject', 'Hi'],
      ['Message-ID', `<${MESSAGE}@mail.example>`],
      ['Date', 'Mon, 04 May 2026 09:30:05 +0000'],
      ['Content-Transfer-Encoding', '7bit'],
      ['MIME-Version', '1.0'],
      ['Content-Type', 'text/plain; charset=utf-8'],
    ])
  })

  it('has the same Message-ID and Date on every attempt', async () => {
    const [first, second] = [await sent(), await sent({ attempt: 2 })]
    for (const name of ['Message-ID', 'Date', 'From', 'List-Unsubscribe']) {
      expect(field(second, name)).toEqual(field(first, name))
    }
  })

  it.each([
    ['text', { text: 'Grüße 😀' }],
    ['html', { text: undefined, html: '<p>Grüße 😀</p>' }],
    ['both', { text: 'Grüße 😀', html: '<p>Grüße 😀</p>' }],
  ])('of %s arrives unchanged', async (_, texts) => {
    const { raw } = await sent(
      content({ subject: `Ä ${'ö'.repeat(300)} 😀`, ...texts } as EmailContent),
    )
    const read = await PostalMime.parse(raw)
    expect(read.subject).toBe(`Ä ${'ö'.repeat(300)} 😀`)
    expect([read.text?.trim(), read.html?.trim()]).toEqual([
      texts.text,
      'html' in texts ? texts.html : undefined,
    ])
    expect(
      Math.max(...raw.split('\r\n').map((line) => Buffer.byteLength(line))),
    ).toBeLessThanOrEqual(998)
  })

  it('with a line of dots arrives unchanged', async () => {
    const { raw } = await sent(content({ text: 'a\n.\n..\nRCPT TO:<evil@x.example>\n.\nb' }))
    expect((await PostalMime.parse(raw)).text?.trim()).toBe(
      'a\n.\n..\nRCPT TO:<evil@x.example>\n.\nb',
    )
  })

  it('has the address for replies', async () => {
    expect(field(await sent(content({ reply_to: 'help@acme.example' })), 'Reply-To')).toEqual([
      'help@acme.example',
    ])
  })

  it('has the headers of the caller, under their proper names', async () => {
    const headers = {
      'x-entity-ref-id': 'A 1',
      'In-Reply-To': '<a@b.example>',
      'list-id': '<l.acme.example>',
      importance: 'high',
    }
    const mail = await sent(content({ headers }))
    expect(field(mail, 'X-Entity-Ref-ID')).toEqual(['A 1'])
    expect(field(mail, 'In-Reply-To')).toEqual(['<a@b.example>'])
    expect(field(mail, 'List-Id')).toEqual(['<l.acme.example>'])
    expect(field(mail, 'Importance')).toEqual(['high'])
    expect(mail.raw).toContain('\r\nImportance: high\r\n')
  })

  it('has its attachments, byte for byte', async () => {
    const bytes = Uint8Array.from({ length: 5_000 }, (_, i) => i % 256)
    const attachments = [
      {
        filename: 'счёт "1".pdf',
        content_type: 'application/pdf',
        content: Buffer.from(bytes).toString('base64'),
      },
      { filename: '{{name}}.html', content: Buffer.from('<b>{{name}}</b>').toString('base64') },
    ]
    const read = await PostalMime.parse((await sent(content({ attachments }))).raw)
    expect(read.text?.trim()).toBe('canary-content')
    expect(
      read.attachments.map(({ filename, mimeType, disposition, content }) => [
        filename,
        mimeType,
        disposition,
        Buffer.from(content as ArrayBuffer).toString('base64'),
      ]),
    ).toEqual([
      ['счёт "1".pdf', 'application/pdf', 'attachment', attachments[0]?.content],
      ['{{name}}.html', 'application/octet-stream', 'attachment', attachments[1]?.content],
    ])
  })

  // The library writes quotes inside a value in the form of RFC 2231.
  it.each<[string, string[]]>([
    ['text/calendar; method=REQUEST; charset=utf-8', ['method=REQUEST', 'charset=utf-8']],
    [
      'text/calendar;charset="utf-8";x="a; \\"b\\""',
      ['charset=utf-8', "x*0*=utf-8''a%3B%20%22b%22"],
    ],
  ])('has a file of the type %s with its parameters', async (content_type, parameters) => {
    const attachments = [{ filename: 'a.ics', content_type, content: 'SGVsbG8=' }]
    const { raw } = await sent(content({ attachments }))
    const header = /^Content-Type: (text\/calendar;(?:.*\r\n[ \t])*.*)\r\n/m.exec(raw)?.[1]
    for (const one of parameters) expect(header?.replace(/\r\n/g, '')).toContain(`; ${one}`)
    const file = raw.slice(raw.indexOf('text/calendar'))
    expect(file).toMatch(/Content-Transfer-Encoding: base64[\s\S]*\r\n\r\nSGVsbG8=\r\n/)
  })
})

it('a mail that cannot be written does not fail the others of its batch', async () => {
  const provider = openSmtp(smtpSettings({ url: sink.url }), context)
  const outcomes = await provider.send([smtpJob({ message_id: 'no UUID' }), smtpJob()])
  await provider.close?.()
  expect(outcomes).toMatchObject([
    { type: 'rejected', error_code: 'invalid_content' },
    { type: 'accepted' },
  ])
})

describe('the envelope', () => {
  it('requests reports of failures and delays, and names the message', async () => {
    const mail = await sent()
    expect(mail.from.args).toMatchObject({ RET: 'HDRS', ENVID: MESSAGE })
    expect(mail.to[0]?.args).toMatchObject({
      NOTIFY: 'FAILURE,DELAY',
      ORCPT: 'rfc822;asha@rcpt.example',
    })
    expect((await sent({}, { dsn: false })).to[0]?.args).toEqual({})
  })

  it.each([
    ['bounce.mail.example', { intake: { port: 0 } }],
    ['returns.example', { bounce_domain: 'returns.example' }],
  ])('has a sender at %s that names the message', async (domain, settings) => {
    const [local = '', at] = (await sent({}, settings)).from.address.split('@')
    expect(at).toBe(domain)
    expect(local.length).toBeLessThanOrEqual(64)
    expect(readMessageToken(context.secret, 'bounce', local.replace(/^b\+/, ''))).toEqual({
      workspace_id: WORKSPACE,
      message_id: MESSAGE,
    })
  })

  it('has the sender of the mail if the service does not receive bounces', async () => {
    const mail = await sent({ sender: 'Acme' })
    expect(field(mail, 'From')).toEqual([`Acme <${mail.from.address}>`])
  })
})

describe('the sender', () => {
  it('is different for two workspaces of the same name', async () => {
    const [ours, theirs] = [
      await sent({ sender: 'Acme' }),
      await sent({ sender: 'Acme', workspace_id: OTHER_WORKSPACE }),
    ]
    expect(theirs.from.address).not.toBe(ours.from.address)
  })

  it('is the one address of the settings', async () => {
    const mail = await sent({ sender: 'Acme' }, { from_local_part: 'hello' })
    expect(field(mail, 'From')).toEqual(['Acme <hello@mail.example>'])
  })
})

describe('the link to unsubscribe', () => {
  const own = { headers: { 'list-unsubscribe': '<https://acme.example/u>' } }

  it('names the message by a token that only the service reads', async () => {
    const [value = ''] = field(await sent(), 'List-Unsubscribe')
    const token = value.replace(/^.*\//, '').replace('>', '')
    const ref = { workspace_id: WORKSPACE, message_id: MESSAGE }
    expect(readMessageToken(context.secret, 'unsubscribe', token)).toEqual(ref)
    expect(readMessageToken(context.secret, 'bounce', token)).toBeNull()
  })

  it('is that of the caller if there is one, without one click', async () => {
    const mail = await sent(content(own))
    expect(field(mail, 'List-Unsubscribe')).toEqual(['<https://acme.example/u>'])
    expect(field(mail, 'List-Unsubscribe-Post')).toEqual([])
  })

  it('occurs once, also if the caller gave several in any case', async () => {
    const headers = { ...own.headers, 'List-Unsubscribe': '<https://acme.example/2>' }
    expect(field(await sent(content({ headers })), 'List-Unsubscribe')).toHaveLength(1)
  })

  it.each([
    ['the settings do not want it', { unsubscribe: false }, {}],
    ['it could not be called', {}, { public_url: 'http://svc.example' }],
  ])('is omitted if %s, and so is one click', async (_, settings, more) => {
    const headers = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
    const mail = await sent(content({ headers }), settings, more)
    expect(field(mail, 'List-Unsubscribe')).toEqual([])
    expect(field(mail, 'List-Unsubscribe-Post')).toEqual([])
  })

  it('may be http on a loopback address', async () => {
    const mail = await sent({}, {}, { public_url: 'http://127.0.0.1:3000' })
    expect(field(mail, 'List-Unsubscribe')[0]).toMatch(
      /^<http:\/\/127\.0\.0\.1:3000\/unsubscribe\//,
    )
  })
})

const EVIL = 'evil@x.example'
const CRLF = `x\r\nBcc: ${EVIL}\r\n\r\n.\r\nMAIL FROM:<${EVIL}>`
const NAMES = [
  'From',
  'To',
  'Subject',
  'Message-ID',
  'Date',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
]

describe('no text of a caller becomes a recipient, a sender or a header', () => {
  it.each([
    ['a subject', content({ subject: CRLF })],
    ['a display name', { sender: CRLF }],
    ['a display name with an address', { sender: `Bank <${EVIL}>` }],
    ['a display name with two addresses', { sender: `"Bank" <${EVIL}>, a@b.example` }],
    ['a display name of a group', { sender: `group: ${EVIL};` }],
    ['a display name of an encoded word', { sender: `=?utf-8?q?Bank_=3C${EVIL}=3E?=` }],
    ['a text', content({ text: CRLF })],
    ['an html', content({ text: CRLF, html: CRLF })],
  ])('from %s', async (_, job) => {
    const mail = await sent(job as Parameters<typeof smtpJob>[0])
    expect(mail.to.map(({ address }) => address)).toEqual(['asha@rcpt.example'])
    expect(mail.from.address).toMatch(/^[a-z0-9-]+@mail\.example$/)
    const names = headersOf(mail.raw).map(([name]) => name)
    expect(names.filter((name) => !NAMES.includes(name))).toEqual([])
    expect(new Set(names).size).toBe(names.length)
    const { from } = await PostalMime.parse(mail.raw)
    expect(from?.address).toBe(mail.from.address)
    expect(from?.name).not.toContain('@')
  })

  it.each([
    ['a header', { headers: { 'X-Entity-Ref-ID': CRLF } }],
    ['an address for replies', { reply_to: `a@b.example\r\nBcc: ${EVIL}` }],
    ['a link to unsubscribe', { headers: { 'List-Unsubscribe': `<https://a.example/${CRLF}>` } }],
    ['a header of another name', { headers: { Bcc: EVIL } }],
    ['the name of a file', { attachments: [{ filename: CRLF, content: 'AAAA' }] }],
    [
      'the type of a file',
      { attachments: [{ filename: 'a', content: 'AAAA', content_type: `a/b${CRLF}` }] },
    ],
  ])('from %s, if the API accepted it', async (_, fields) => {
    const mail = await sent(content(fields as Partial<EmailContent>))
    expect(mail.to.map(({ address }) => address)).toEqual(['asha@rcpt.example'])
    const names = headersOf(mail.raw).map(([name]) => name.toLowerCase())
    expect(names).not.toContain('bcc')
    expect(names).not.toContain('mail from')
  })

  it.each([
    `ok@rcpt.example\r\nBcc: ${EVIL}`,
    `"x" <ok@rcpt.example>, ${EVIL}`,
    `ok@rcpt.example, ${EVIL}`,
    `group: ${EVIL};`,
    `<${EVIL}>`,
    `"${EVIL} "@rcpt.example`,
    'ok@rcpt.example> SIZE=1',
    'recipient',
    '',
  ])('the recipient %j is refused before a connection', async (recipient) => {
    const provider = openSmtp(smtpSettings({ url: sink.url }), context)
    const before = sink.mails.length
    expect(await provider.send([smtpJob({ recipient })])).toMatchObject([
      { type: 'rejected', error_code: 'invalid_recipient' },
    ])
    await provider.close?.()
    expect(sink.mails).toHaveLength(before)
  })

  it('a text with the name of a file or an address is not loaded', async () => {
    const text = 'data:text/plain,x'
    const html = '<img src="file:///etc/passwd"><img src="http://127.0.0.1/x">'
    const read = await PostalMime.parse((await sent(content({ text, html }))).raw)
    expect([read.text?.trim(), read.html?.trim(), read.attachments]).toEqual([text, html, []])
  })
})

describe('a mail to an owner', () => {
  const mail = {
    to: 'owner@acme.example',
    subject: 'Verify',
    text: 'T',
    html: '<p>H</p>',
    kind: 'verify_email',
  } as const

  it('goes through the same server, from the brand at no-reply', async () => {
    const mailer = createSmtpMailer(smtpSettings({ url: sink.url }), 'Acme, "Mail"')
    await mailer.send(mail)
    mailer.close()
    const arrived = sink.mails.at(-1) as SunkMail
    expect(arrived.to.map(({ address }) => address)).toEqual(['owner@acme.example'])
    expect(arrived.from.address).toBe('no-reply@mail.example')
    expect(field(arrived, 'From')).toEqual(['"Acme, \\"Mail\\"" <no-reply@mail.example>'])
    expect(field(arrived, 'Auto-Submitted')).toEqual(['auto-generated'])
    expect(field(arrived, 'List-Unsubscribe')).toEqual([])
    expect((await PostalMime.parse(arrived.raw)).html?.trim()).toBe('<p>H</p>')
  })

  it('that is refused is an error without the address', async () => {
    sink.meet('gone@acme.example', { at: 'rcpt', reply: '550 5.1.1 <gone@acme.example> unknown' })
    const mailer = createSmtpMailer(smtpSettings({ url: sink.url }), 'Acme, "Mail"')
    await expect(mailer.send({ ...mail, to: 'gone@acme.example' })).rejects.toThrow(
      /^smtp:550 5\.1\.1 The recipient does not exist$/,
    )
    mailer.close()
  })
})

describe('a pause', () => {
  const PAUSED = { type: 'retry', error_code: 'paused', not_begun: true }
  const HANGING = 'hanging@rcpt.example'

  /** A provider that is paused when `pause` is called. */
  function pausable(settings: Settings = {}) {
    let is_paused = false
    const may_start = () => !is_paused
    const provider = openSmtp(smtpSettings({ url: sink.url, ...settings }), {
      ...context,
      may_start,
    })
    const send = async (recipient: string) => (await provider.send([smtpJob({ recipient })]))[0]
    const pause = () => {
      is_paused = true
    }
    return { provider, send, pause }
  }

  it('reaches a mail whose connection is being made', async () => {
    const { provider, send, pause } = pausable()
    const before = sink.mails.length
    const sending = send('asha@rcpt.example')
    pause()
    expect(await sending).toMatchObject(PAUSED)
    await provider.close?.()
    expect(sink.mails).toHaveLength(before)
  })

  it('reaches a mail that waits for a connection, and leaves the mail that has it', async () => {
    sink.meet(HANGING, { at: 'data', reply: 'hang' })
    const { provider, send, pause } = pausable({ connections: 1 })
    const before = sink.mails.length
    const hanging = send(HANGING)
    await expect.poll(() => sink.mails.length).toBe(before + 1)
    const connections = sink.connections()
    const waiting = send('asha@rcpt.example')
    pause()
    expect(await waiting).toMatchObject(PAUSED)
    expect(sink.connections()).toBe(connections)
    sink.cut()
    expect(await hanging).toMatchObject({ type: 'ambiguous' })
    await provider.close?.()
    expect(sink.mails).toHaveLength(before + 1)
  })
})
