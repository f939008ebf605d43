import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JobRecipient, Outcome } from '../../../src/contract/outside/provider.ts'
import { openSmtp } from '../../../src/providers/smtp/smtp.ts'
import { context, smtpJob, smtpSettings } from './send-fixtures.ts'
import { headersOf, type SmtpSink, startSmtpSink } from './sink.ts'

let sink: SmtpSink
beforeAll(async () => {
  sink = await startSmtpSink()
  sink.meet('gone@rcpt.example', { at: 'rcpt', reply: '550 5.1.1 No such user' })
  sink.meet('gone-too@rcpt.example', { at: 'rcpt', reply: '550 5.1.1 No such user' })
  sink.meet('blocked@rcpt.example', { at: 'rcpt', reply: '550 5.7.1 We do not relay' })
  sink.meet('later@rcpt.example', { at: 'rcpt', reply: '450 4.2.2 Mailbox full' })
})
afterAll(() => sink.close())

const to = (address: string, more: Partial<JobRecipient> = {}): JobRecipient => ({
  address,
  role: 'to',
  is_due: true,
  ...more,
})

/** Sends one mail to these recipients; returns the outcome and the mails that arrived. */
async function send(
  recipients: readonly JobRecipient[],
  job: Parameters<typeof smtpJob>[0] = {},
): Promise<{ outcome: Outcome | undefined; mails: SmtpSink['mails'] }> {
  const provider = openSmtp(smtpSettings({ url: sink.url }), context)
  const before = sink.mails.length
  const [first] = recipients
  const [outcome] = await provider.send([
    smtpJob({ recipient: first?.address ?? '', recipients, ...job }),
  ])
  await provider.close?.()
  return { outcome, mails: sink.mails.slice(before) }
}

const NO_SUCH = { error_code: 'invalid_recipient', suppress: 'bounce' }

describe('a mail to several recipients', () => {
  it('is one mail, which names all recipients except those of blind copies', async () => {
    const { outcome, mails } = await send([
      to('asha@rcpt.example'),
      to('juma@rcpt.example'),
      to('neema@rcpt.example', { role: 'cc' }),
      to('secret@rcpt.example', { role: 'bcc' }),
    ])
    expect(outcome).toMatchObject({ type: 'accepted', recipients: [] })
    const [mail, ...others] = mails
    expect(others).toEqual([])
    expect(mail?.to.map(({ address }) => address)).toEqual([
      'asha@rcpt.example',
      'juma@rcpt.example',
      'neema@rcpt.example',
      'secret@rcpt.example',
    ])
    expect(mail?.raw).not.toContain('secret@')
    const headers = new Map(headersOf(mail?.raw ?? ''))
    expect(headers.get('To')).toBe('asha@rcpt.example, juma@rcpt.example')
    expect(headers.get('Cc')).toBe('neema@rcpt.example')
  })

  it('asks for no report with one original recipient for all, and has no unsubscribe link', async () => {
    const { mails } = await send([to('asha@rcpt.example'), to('juma@rcpt.example')])
    expect(mails[0]?.to.map(({ args }) => args.ORCPT)).toEqual([undefined, undefined])
    expect(mails[0]?.raw).not.toContain('List-Unsubscribe')
  })

  it('is accepted when the server rejects one of three', async () => {
    const { outcome, mails } = await send([
      to('asha@rcpt.example'),
      to('gone@rcpt.example'),
      to('juma@rcpt.example'),
    ])
    expect(outcome).toMatchObject({
      type: 'accepted',
      recipients: [{ address: 'gone@rcpt.example', type: 'rejected', ...NO_SUCH }],
    })
    expect(mails[0]?.to.map(({ address }) => address)).toEqual([
      'asha@rcpt.example',
      'juma@rcpt.example',
    ])
  })

  it('defers one recipient, and then goes to this one only, with the same headers', async () => {
    const all = [to('asha@rcpt.example'), to('later@rcpt.example')]
    const { outcome, mails } = await send(all)
    expect(outcome).toMatchObject({
      type: 'accepted',
      recipients: [{ address: 'later@rcpt.example', type: 'retry', error_code: 'mailbox_full' }],
    })
    sink.meet('again@rcpt.example', { at: 'rcpt', reply: '250 2.1.5 Ok' })
    const repeated = [to('asha@rcpt.example', { is_due: false }), to('juma@rcpt.example')]
    const second = await send(repeated)
    expect(second.mails[0]?.to.map(({ address }) => address)).toEqual(['juma@rcpt.example'])
    const headers = new Map(headersOf(second.mails[0]?.raw ?? ''))
    expect(headers.get('To')).toBe('asha@rcpt.example, juma@rcpt.example')
    expect(headers.get('Message-ID')).toBe(
      new Map(headersOf(mails[0]?.raw ?? '')).get('Message-ID'),
    )
  })

  it('is rejected when the server rejects all, each for its reason', async () => {
    const { outcome, mails } = await send([to('gone@rcpt.example'), to('gone-too@rcpt.example')])
    expect(mails).toEqual([])
    expect(outcome).toMatchObject({
      type: 'rejected',
      recipients: [
        { address: 'gone@rcpt.example', type: 'rejected', ...NO_SUCH },
        { address: 'gone-too@rcpt.example', type: 'rejected', ...NO_SUCH },
      ],
    })
  })

  it('is sent again when the server accepts none and defers one', async () => {
    const { outcome, mails } = await send([to('gone@rcpt.example'), to('later@rcpt.example')])
    expect(mails).toEqual([])
    expect(outcome).toMatchObject({
      type: 'retry',
      recipients: [
        { address: 'gone@rcpt.example', type: 'rejected' },
        { address: 'later@rcpt.example', type: 'retry' },
      ],
    })
  })

  it('fails a recipient for which the server does not relay, if it accepts another', async () => {
    const { outcome } = await send([to('asha@rcpt.example'), to('blocked@rcpt.example')])
    expect(outcome).toMatchObject({
      type: 'accepted',
      recipients: [{ address: 'blocked@rcpt.example', type: 'rejected' }],
    })
  })
})

describe('a mail', () => {
  it('has its own address, several addresses for answers, own headers and inline files', async () => {
    const { mails } = await send([to('asha@rcpt.example'), to('juma@rcpt.example')], {
      sender: 'Acme',
      content: {
        html: '<img src="cid:logo">',
        from_address: 'shop@acme.example',
        reply_to: ['a@acme.example', 'b@acme.example'],
        headers: { 'X-Campaign': 'may', 'x-campaign': 'june' },
        attachments: [
          { filename: 'logo.png', content: 'AAAA', content_type: 'image/png', content_id: 'logo' },
        ],
      },
    })
    const { raw = '' } = mails[0] ?? {}
    const headers = new Map(headersOf(raw))
    expect(headers.get('From')).toBe('Acme <shop@acme.example>')
    expect(headers.get('Reply-To')).toBe('a@acme.example, b@acme.example')
    expect(raw.match(/^x-campaign: .*$/gim)).toEqual([expect.stringMatching(/: june$/)])
    expect(raw).toContain('multipart/related')
    expect(raw).toContain('Content-ID: <logo>')
    expect(raw).toContain('Content-Disposition: inline; filename=logo.png')
  })
})
