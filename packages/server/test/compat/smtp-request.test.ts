import { LIMITS } from '@svc/core/contract'
import { describe, expect, it } from 'vitest'
import { readMail } from '../../src/compat/smtp/read-mail.ts'
import { closing, refusal } from '../../src/compat/smtp/reply.ts'
import { recipientOf, requestOf } from '../../src/compat/smtp/request.ts'

const domains = { sms_domain: 'sms.example.com', mail_domains: ['mail.example'] }

/** The content of the send for a mail to these recipients. */
async function requestFor(lines: string[], recipients: string[]) {
  const reading = await readMail(Buffer.from(lines.join('\r\n')))
  if ('fault' in reading) throw new Error(reading.fault)
  const { body } = requestOf(reading.mail, { email: recipients }, domains)
  return body as {
    to: unknown
    from?: string
    content: Record<string, unknown>
    metadata?: object
  }
}

describe('requestOf', () => {
  it('names the recipients of the envelope as the headers do, and hides the others', async () => {
    const { to, content } = await requestFor(
      [
        'To: Asha <asha@example.com>, bo@EXAMPLE.com, no@example.com',
        'Cc: cy@example.com',
        '',
        'x',
      ],
      ['di@example.com', 'cy@example.com', 'bo@example.com', 'asha@example.com'],
    )
    expect(to).toStrictEqual(['bo@example.com', 'asha@example.com'])
    expect(content).toMatchObject({ cc: ['cy@example.com'], bcc: ['di@example.com'] })
  })

  it('names recipients of Cc in To if no other is named', async () => {
    const { to, content } = await requestFor(
      ['Cc: cy@example.com', '', 'x'],
      ['cy@example.com', 'di@example.com'],
    )
    expect(to).toBe('cy@example.com')
    expect(content).toMatchObject({ bcc: ['di@example.com'] })
  })

  it('passes a From of another domain, and keeps only the name of its own', async () => {
    const own = await requestFor(['From: Acme <a@mail.example>', '', 'x'], ['a@example.com'])
    expect(own.from).toBe('Acme')
    expect(own.content).not.toHaveProperty('from_address')
    const other = await requestFor(['From: "a@b" <a@acme.example>', '', 'x'], ['a@example.com'])
    expect(other.from).toBeUndefined()
    expect(other.content.from_address).toBe('a@acme.example')
  })

  it.each([
    ['a name with a path', 'attachment; filename="../../x.sh"', '.._.._x.sh'],
    ['no name', 'attachment', 'attachment-1'],
    ['the name of a folder', 'attachment; filename=".."', 'attachment-1'],
  ])('gives a file with %s a safe name', async (_, disposition, filename) => {
    const head = ['Content-Type: application/x-sh', `Content-Disposition: ${disposition}`]
    const { content } = await requestFor([...head, '', 'x'], ['a@example.com'])
    expect(content.attachments).toMatchObject([{ filename, content_type: 'application/x-sh' }])
  })

  it.each([
    ['a calendar', 'text/calendar; method=REQUEST; charset=utf-8', undefined],
    ['a quoted value', 'text/calendar; charset="utf-8"; component="a b"', undefined],
    ['a name', 'application/pdf; name="a.pdf"; x=1', 'application/pdf; x=1'],
    ['a text', 'text/plain; format=flowed; charset=iso-8859-1', undefined],
    ['comments', 'text/calendar (a); method=CANCEL (b)', 'text/calendar; method=CANCEL'],
    [
      'a parameter twice',
      'text/calendar; method=REQUEST; method=CANCEL',
      'text/calendar; method=REQUEST',
    ],
    ['a bare parameter', 'text/calendar; method', 'text/calendar; method=""'],
    ['a value with other letters', 'application/x-a; a=ü; b=1', 'application/x-a; b=1'],
    ['a boundary', 'application/x-a; boundary=b', 'application/x-a'],
    [
      'folded lines',
      'text/calendar;\r\n charset=utf-8;\r\n\tmethod=REPLY',
      'text/calendar; charset=utf-8; method=REPLY',
    ],
    ['a type of its own', 'multipart; charset=utf-8', 'application/octet-stream'],
    [
      'too many',
      `a/b${'; a=1'.repeat(3)}${Array.from({ length: 12 }, (_, i) => `; p${i}=v`).join('')}`,
      `a/b; a=1${Array.from({ length: 9 }, (_, i) => `; p${i}=v`).join('')}`,
    ],
  ])('keeps the parameters of the type of a file: %s', async (_, type, kept) => {
    const head = [`Content-Type: ${type}`, 'Content-Disposition: attachment; filename=a']
    const { content } = await requestFor([...head, '', 'x'], ['a@example.com'])
    const sent = kept ?? type.replace('"utf-8"', 'utf-8')
    expect(content.attachments).toMatchObject([{ filename: 'a', content_type: sent }])
  })

  it.each(['text/calendar; charset=iso-8859-1', 'application/ics', 'text/plain; charset=utf-16'])(
    'keeps the bytes of a file of %s',
    async (type) => {
      const bytes = Buffer.from([0x66, 0xfc, 0x72, 0x0d, 0x0a, 0x0d, 0x0a, 0x00])
      const head = [
        `Content-Type: ${type}`,
        'Content-Transfer-Encoding: base64',
        'Content-Disposition: attachment',
      ]
      const { content } = await requestFor(
        [...head, '', bytes.toString('base64')],
        ['a@example.com'],
      )
      expect(content.attachments).toMatchObject([{ content: bytes.toString('base64') }])
    },
  )

  it('sends a mail inside a mail as a file', async () => {
    const { content } = await requestFor(
      ['Content-Type: message/rfc822', '', 'Subject: inner', '', 'x'],
      ['a@example.com'],
    )
    expect(content.attachments).toMatchObject([
      { filename: 'attachment-1.eml', content_type: 'application/octet-stream' },
    ])
  })

  it('adds the Message-ID to metadata that has room for it', async () => {
    const metadataFor = async (keys: number) => {
      const metadata = Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, i]))
      const head = [`X-Svc-Metadata: ${JSON.stringify(metadata)}`, 'Message-ID: <m@app.example>']
      const request = await requestFor([...head, '', 'x'], ['a@example.com'])
      return { metadata, sent: request.metadata }
    }
    const some = await metadataFor(LIMITS.metadata_keys - 1)
    expect(some.sent).toStrictEqual({ smtp_message_id: '<m@app.example>', ...some.metadata })
    const full = await metadataFor(LIMITS.metadata_keys)
    expect(full.sent).toStrictEqual(full.metadata)
  })

  it('writes (no subject) for a mail without one', async () => {
    const { content } = await requestFor(['', 'x'], ['a@example.com'])
    expect(content.subject).toBe('(no subject)')
  })

  it('keeps headers of lists and conversations, 20 together', async () => {
    const head = [
      'List-Unsubscribe: <https://app.example/u>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      'List-Id: news.example.com',
      'Auto-Submitted: auto-generated',
      'Precedence: bulk',
      'In-Reply-To: <a@app.example>',
      'References: <a@app.example>',
    ]
    const own = Array.from({ length: 20 }, (_, i) => `X-Order-${i}: ${i}`)
    const { content } = await requestFor([...head, ...own, '', 'x'], ['a@example.com'])
    const names = Object.keys(content.headers as object)
    expect(names).toStrictEqual([...head, ...own].slice(0, 20).map((line) => line.split(':')[0]))
  })

  it('writes no header that the service owns', async () => {
    const { content } = await requestFor(
      ['Bcc: b@example.com', 'DKIM-Signature: v=1', 'X-Svc-Test: 1', 'x-order: A1', '', 'x'],
      ['a@example.com'],
    )
    expect(content.headers).toStrictEqual({ 'x-order': 'A1' })
  })
})

describe('recipientOf', () => {
  it.each([
    ['asha@example.com', { email: 'asha@example.com' }],
    ['asha@BÜCHER.example', { email: 'asha@xn--bcher-kva.example' }],
    ['+14155550100@SMS.example.com', { sms: '+14155550100' }],
    ['14155550100@sms.example.com', null],
    ['"a b"@example.com', null],
    ['a@[127.0.0.1]', null],
  ])('%s', (address, recipient) => {
    expect(recipientOf(address, domains)).toStrictEqual(recipient)
  })
})

describe('a refusal', () => {
  it('has printable ASCII on one line that fits a reply', () => {
    expect(refusal('554 5.6.0', 'a\r\n250 ok\u{2028}é\0').message).toBe('a??250 ok???')
    expect(closing('a\nb').message).toBe('a?b')
    expect(`554 5.6.0 ${refusal('554 5.6.0', 'x'.repeat(1_000)).message}\r\n`.length).toBeLessThan(
      512,
    )
  })
})
