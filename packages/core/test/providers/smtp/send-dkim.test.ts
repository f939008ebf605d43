import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSmtp } from '../../../src/providers/smtp/smtp.ts'
import { createSmtpMailer } from '../../../src/providers/smtp/smtp-mailer.ts'
import { verifyDkim } from './send-dkim-verifier.ts'
import { context, smtpJob, smtpSettings } from './send-fixtures.ts'
import { type SmtpSink, startSmtpSink } from './sink.ts'

const keyPair = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
const { publicKey, privateKey } = keyPair()
const dkim = { domain: 'mail.example', selector: 'svc1', private_key: privateKey }

let sink: SmtpSink
beforeAll(async () => {
  sink = await startSmtpSink()
})
afterAll(() => sink.close())

async function signed(job: Parameters<typeof smtpJob>[0]): Promise<string> {
  const provider = openSmtp(smtpSettings({ url: sink.url, dkim }), context)
  const [outcome] = await provider.send([smtpJob(job)])
  await provider.close?.()
  expect(outcome?.type).toBe('accepted')
  return sink.mails.at(-1)?.raw ?? ''
}

const lines = Array.from({ length: 300 }, (_, i) => `${i} Grüße  😀\t .\n..\n`).join('')

const file = (content_type: string) => ({
  filename: 'a.txt',
  content: Buffer.from('one\rtwo\nthree').toString('base64'),
  content_type,
})

describe('a DKIM signature', () => {
  it.each<[string, Parameters<typeof smtpJob>[0]]>([
    ['of a text', {}],
    [
      'of a text and an html with many characters',
      { content: { text: lines, html: `<p>${lines}</p>` } },
    ],
    [
      'of a long subject',
      { content: { subject: `Ä ${'ö x '.repeat(200)}` }, sender: 'Ä, Ö & "Ü"' },
    ],
    [
      'of a file',
      {
        content: {
          attachments: [
            { filename: 'a.bin', content: Buffer.alloc(300_000, 7).toString('base64') },
          ],
        },
      },
    ],
    [
      'of a mail with an answer address and headers',
      {
        content: {
          reply_to: 'help@acme.example',
          headers: { 'List-Id': '<l.acme.example>', References: '<a@b.example> <c@b.example>' },
        },
      },
    ],
  ])('%s is valid', async (_, job) => {
    const verdict = verifyDkim(await signed(job), publicKey)
    expect(verdict).toMatchObject({ holds: true, domain: 'mail.example', selector: 'svc1' })
  })

  // A server on the way may make CRLF of a bare CR or LF: RFC 6376, section 5.3. The signature must hold before and after.
  it.each<[string, Parameters<typeof smtpJob>[0]]>([
    ['a text', { content: { text: 'one\rtwo\nthree\r\nfour\r' } }],
    ['a text with other letters', { content: { text: 'eins\rzwei ü\rdrei' } }],
    ['a text of one long line', { content: { text: `${'word '.repeat(400)}\rend` } }],
    ['an html', { content: { text: '', html: '<p>one\r\r\n<b>two</b>\n\r</p>' } }],
    ['a text and an html', { content: { text: 'a\rb', html: '<p>a\rb</p>' } }],
    ['a file of text', { content: { attachments: [file('text/plain')] } }],
    ['a calendar', { content: { attachments: [file('text/calendar')] } }],
    ['a shown file', { content: { attachments: [{ ...file('text/html'), content_id: 'a' }] } }],
  ])('of %s with a bare CR holds for a strict receiver', async (_, job) => {
    const raw = await signed(job)
    expect(raw).not.toMatch(/\r(?!\n)|(?<!\r)\n/)
    expect(verifyDkim(raw.replace(/\r\n|\r|\n/g, '\r\n'), publicKey).holds).toBe(true)
  })

  it.each<[string, Parameters<typeof smtpJob>[0]]>([
    ['a subject', { content: { subject: 'one\rtwo' } }],
    ['a sender', { sender: 'one\rtwo' }],
    [
      'the name of a file',
      { content: { attachments: [{ ...file('text/plain'), filename: 'one\rtwo' }] } },
    ],
    ['a header', { content: { headers: { 'X-Note': 'one\rtwo' } } }],
  ])('of %s with a bare CR holds, and the field has none', async (_, job) => {
    const raw = await signed(job)
    expect(raw).not.toMatch(/\r(?!\n)|(?<!\r)\n/)
    expect(raw).not.toMatch(/^two/m)
    expect(verifyDkim(raw, publicKey).holds).toBe(true)
  })

  it('covers the visible fields, and both fields for unsubscribing (RFC 8058)', async () => {
    const { signed: names } = verifyDkim(await signed({}), publicKey)
    expect(names).toEqual(
      expect.arrayContaining([
        'from',
        'to',
        'subject',
        'date',
        'message-id',
        'content-type',
        'list-unsubscribe',
        'list-unsubscribe-post',
      ]),
    )
  })

  it.each([
    ['another key', (raw: string) => raw, keyPair().publicKey],
    ['another body', (raw: string) => `${raw}x`, publicKey],
    ['another subject', (raw: string) => raw.replace('Subject: c', 'Subject: C'), publicKey],
    [
      'another link to unsubscribe',
      (raw: string) => raw.replace('<https://svc', '<http://svc'),
      publicKey,
    ],
    [
      'no field for one click',
      (raw: string) => raw.replace('List-Unsubscribe-Post', 'X-Unsubscribe-Post'),
      publicKey,
    ],
  ])('is invalid with %s', async (_, change, key) => {
    const raw = await signed({})
    expect(change(raw) !== raw || key !== publicKey).toBe(true)
    expect(verifyDkim(change(raw), key).holds).toBe(false)
  })

  it('is on mails to owners too', async () => {
    const mailer = createSmtpMailer(smtpSettings({ url: sink.url, dkim }), 'svc')
    await mailer.send({
      to: 'o@acme.example',
      subject: 'S',
      text: 'T',
      html: 'H',
      kind: 'reset_password',
    })
    mailer.close()
    expect(verifyDkim(sink.mails.at(-1)?.raw ?? '', publicKey).holds).toBe(true)
  })
})
