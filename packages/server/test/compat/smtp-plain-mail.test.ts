import fc from 'fast-check'
import { createTransport } from 'nodemailer'
import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { readPlainMail } from '../../src/compat/smtp/plain-mail.ts'
import { OPTIONS } from '../../src/compat/smtp/read-mail.ts'

/** What `postal-mime` reads, without the parts that the inlet does not use. */
async function byLibrary(raw: Buffer): Promise<Partial<Email>> {
  const { headers, from, to, cc, replyTo, subject, messageId, text, html, attachments } =
    await PostalMime.parse(raw, OPTIONS)
  const all = { headers, from, to, cc, replyTo, subject, messageId, text, html, attachments }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** Mostly the usual values, and sometimes an odd one. */
function mostly(usual: readonly string[], odd: readonly string[]) {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  )
}

const HEADERS = [
  'From: Acme <shop@acme.example>',
  'From: "A, B" <a@acme.example>',
  'From: =?utf-8?Q?Caf=C3=A9?= <a@acme.example>',
  'To: asha@example.com, Bo <bo@example.com>',
  'To:\r\n team: a@example.com,\r\n\tb@example.com;',
  'Cc: cy@example.com',
  'Reply-To: <help@acme.example>',
  'Subject: Hi',
  'Subject: =?UTF-8?B?SGkgw7Y=?=\r\n =?UTF-8?B?w7Y=?=',
  'Subject:  spaced \t',
  'Subject:',
  'Message-ID: <a1@acme.example>',
  'X-Svc-Metadata: {"a":"b"}',
  'Mime-Version: 1.0',
]
const ODD_HEADERS = ['X y: not a name', 'X-Text: caf\xc3\xa9', 'no colon', ' folded first', '']
const LINES = [
  'It is ready.',
  '',
  '.',
  'caf\xc3\xa9',
  '\xef\xbb\xbfmark',
  '\xff\xfe',
  'a=3D=C3=A9',
  'soft=',
  '=4',
  'w7bDtg==',
  'SGVs',
  '-- ',
  '--c',
  'nul\0',
  'Content-Type: text/html',
]
const ODD_LINES = ['--b', '--b--', '--b2', 'bare\rreturn', 'bare\nfeed']

const body = fc
  .array(fc.tuple(mostly(LINES, ODD_LINES), mostly(['\r\n'], ['\n', '\r\r\n'])), { maxLength: 8 })
  .map((lines) => lines.map(([line, end]) => line + end).join(''))
const leaf = fc
  .tuple(
    mostly(
      ['text/plain', 'TEXT/HTML', 'text/html'],
      ['text/csv', 'multipart/mixed', 'text/plain '],
    ),
    mostly(
      ['', '; charset=utf-8', '; charset="UTF-8"', ';charset=us-ascii'],
      ['; charset=latin1', '; format=flowed', '; charset="utf-8', ';'],
    ),
    mostly(['7bit', '8bit', 'quoted-printable', 'BASE64'], ['', 'x-unknown', '"base64"']),
    mostly(['', 'inline'], ['attachment', 'inline; filename=a.txt']),
    body,
  )
  .map(([type, charset, encoding, disposition, text]) =>
    [
      `Content-Type: ${type}${charset}`,
      ...(encoding ? [`Content-Transfer-Encoding: ${encoding}`] : []),
      ...(disposition ? [`Content-Disposition: ${disposition}`] : []),
      '',
      text,
    ].join('\r\n'),
  )
const parts = fc
  .tuple(
    mostly(
      ['boundary=b', 'boundary="b"'],
      ['boundary="b "', 'boundary=b; boundary=c', 'boundary=""'],
    ),
    fc.array(leaf, { minLength: 1, maxLength: 3 }),
    mostly(['--b--\r\n', '--b--'], ['--b-- \r\n', '', '--b--x\r\n']),
    mostly(['', 'before\r\n'], ['\r\n--b', '--bc\r\n']),
  )
  .map(
    ([boundary, leaves, end, before]) =>
      `Content-Type: multipart/alternative; ${boundary}\r\n\r\n${before}${leaves
        .map((one) => `--b\r\n${one}`)
        .join('')}${end}`,
  )
const mail = fc
  .tuple(fc.array(mostly(HEADERS, ODD_HEADERS), { maxLength: 5 }), fc.oneof(leaf, parts))
  .map(([headers, rest]) => headers.map((line) => `${line}\r\n`).join('') + rest)

const RUNS = 1_500

describe('readPlainMail', () => {
  it('reads what postal-mime reads, or nothing', async () => {
    let read = 0
    await fc.assert(
      fc.asyncProperty(mail, async (text) => {
        const raw = Buffer.from(text, 'latin1')
        const plain = readPlainMail(raw)
        if (plain === null) return
        read += 1
        expect(plain).toStrictEqual(await byLibrary(raw))
      }),
      { numRuns: RUNS },
    )
    expect(read).toBeGreaterThan(RUNS / 10)
  })

  it.each([
    ['a text', { text: 'It is ready.\n.\n' }],
    ['an HTML text', { html: '<p>It is ready.</p>' }],
    [
      'both, with a long line of another script',
      { text: 'caf\u00e9 '.repeat(40), html: '<p>\u4f60\u597d</p>' },
    ],
  ])('reads a mail of nodemailer with %s', async (_, content) => {
    const transport = createTransport({ streamTransport: true, buffer: true })
    const { message } = await transport.sendMail({
      from: '"Acme" <shop@acme.example>',
      to: ['asha@example.com', 'Bo B <bo@example.com>'],
      replyTo: 'help@acme.example',
      subject: 'Your order \u2713',
      headers: { 'X-Svc-Metadata': '{"order":"A1"}' },
      ...content,
    })
    const plain = readPlainMail(message as Buffer)
    expect(plain).toStrictEqual(await byLibrary(message as Buffer))
    expect(plain?.subject).toBe('Your order \u2713')
  })

  it('leaves a mail with a file to postal-mime', async () => {
    const transport = createTransport({ streamTransport: true, buffer: true })
    const { message } = await transport.sendMail({
      from: 'shop@acme.example',
      to: 'asha@example.com',
      text: 'It is ready.',
      attachments: [{ filename: 'a.txt', content: 'x' }],
    })
    expect(readPlainMail(message as Buffer)).toBeNull()
  })
})
