import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../src/contract/outside/provider.ts'
import { reportsOf } from '../../../src/providers/smtp/bounce-outcome.ts'
import { readMailReport } from '../../../src/providers/smtp/bounce-report.ts'
import { AWAY, multipart, passedOn, postfixReport } from './intake-mails.ts'
import { newRef } from './intake-stage.ts'

/** Bounces that are no report of RFC 3464, or a damaged one, in the forms of well-known servers. */

const RETURNED = `Return-Path: <b+x@bounce.example.test>
Received: from relay.example.test by mx.example with SMTP; 21 Nov 2026 22:52:16 -0000
From: Shop <shop@example.test>
To: gone@receiver.example
Subject: 550 5.1.1 is the subject of a mail

The text (#5.1.1) of the mail.
`

interface Head {
  from?: string
  subject?: string
  more?: string
}

function plain({ from = 'MAILER-DAEMON@mx.example', subject = 'failure notice', more = '' }: Head) {
  return (text: string) =>
    `${more}From: ${from}\nTo: b@bounce.example.test\nSubject: ${subject}\n\n${text}`.replace(
      /\r?\n/g,
      '\r\n',
    )
}

/** The format of D. J. Bernstein, with one paragraph for each recipient. */
const qmail = (...paragraphs: string[]) =>
  plain({})(
    `Hi. This is the qmail-send program at mx.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

${paragraphs.join('\n\n')}

--- Below this line is a copy of the message.

${RETURNED}`,
  )

const exim = (listed: string, reason: string) =>
  plain({
    from: 'Mail Delivery System <Mailer-Daemon@mx.example>',
    subject: 'Mail delivery failed: returning message to sender',
    more: `X-Failed-Recipients: ${listed}\nAuto-Submitted: auto-replied\n`,
  })(
    `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ${listed}
    ${reason}

------ This is a copy of the message, including all the headers. ------

${RETURNED}`,
  )

const exchange = (reason: string) =>
  plain({ from: 'System Administrator <postmaster@mx.example>', subject: 'Undeliverable: News' })(
    `Your message

  To:      gone@receiver.example
  Subject: News
  Sent:    Sat, 21 Nov 2026 22:52:16 -0000

did not reach the following recipient(s):

gone@receiver.example on Sat, 21 Nov 2026 22:52:17 -0000
    ${reason}
`,
  )

const fields = (...groups: string[]) =>
  multipart({ headers: 'From: MAILER-DAEMON@mx.example\n' }, [
    { type: 'text/plain', body: 'The mail could not be delivered.\n' },
    {
      type: 'message/delivery-status',
      body: ['Reporting-MTA: dns; mx.example', ...groups].join('\n\n'),
    },
    { type: 'message/rfc822', body: RETURNED },
  ])

const recipient = (more: string) => `Final-Recipient: rfc822; gone@receiver.example\n${more}`

/** The receipt that a mail to the address of a message makes; null for none. */
async function receiptOf(mail: string): Promise<Receipt | null> {
  const report = await readMailReport(Buffer.from(mail))
  const [found, ...others] = report ? reportsOf(report, newRef()) : []
  expect(others).toEqual([])
  return found?.type === 'receipt' ? found.receipt : null
}

/** Code, text, and whether the recipient is suppressed. */
async function brief(mail: string) {
  const receipt = await receiptOf(mail)
  if (receipt === null) return null
  const { status, error_code, error_message, suppress } = receipt
  return [
    status,
    ...(error_code ? [error_code, error_message] : []),
    ...(suppress ? [suppress] : []),
  ]
}

const GONE = ['failed', 'bounced', 'smtp:5.1.1 The recipient does not exist', 'bounce']
const UNKNOWN = [
  'failed',
  'undelivered',
  'smtp: The mail came back, and the report does not state the reason',
]
const FULL = ['failed', 'bounced', 'smtp: The mailbox is full']

describe('a bounce in the words of a server', () => {
  it.each<[string, string, unknown[]]>([
    [
      'qmail, of a missing mailbox',
      qmail('<gone@receiver.example>:\nSorry, no mailbox here by that name. (#5.1.1)'),
      GONE,
    ],
    [
      'qmail, with the answer of the other server',
      qmail(
        '<gone@receiver.example>:\n192.0.2.1 does not like recipient.\nRemote host said: 550-5.1.1 No such user\nGiving up on 192.0.2.1.',
      ),
      GONE,
    ],
    [
      'qmail, of a full mailbox',
      qmail('<gone@receiver.example>:\nRemote host said: 552 5.2.2 Mailbox full'),
      ['failed', 'bounced', 'smtp:5.2.2 The mailbox is full'],
    ],
    [
      'qmail, with a policy behind the status of a missing mailbox',
      qmail('<gone@receiver.example>:\nRemote host said: 550 5.1.1 IP is blacklisted'),
      ['failed', 'undelivered', 'smtp:5.1.1 The mail violates a policy of the mail server'],
    ],
    ['qmail, without a status', qmail('<gone@receiver.example>:\nIt went wrong.'), UNKNOWN],
    ['Exim', exim('gone@receiver.example', 'SMTP error: 550 5.1.1 User unknown'), GONE],
    ['Exim, without a status', exim('gone@receiver.example', 'Unrouteable address'), UNKNOWN],
    ['Exim, of a full mailbox', exim('gone@receiver.example', 'mailbox is full'), FULL],
    [
      'Exim, with several recipients and one status',
      exim('a@receiver.example, b@receiver.example', '550 5.1.1 User unknown'),
      UNKNOWN,
    ],
    ['old Exchange', exchange('The e-mail account does not exist <mx.example #5.1.1>'), GONE],
    ['old Exchange, without a status', exchange('The message is lost.'), UNKNOWN],
    [
      'a program with another name',
      plain({ from: 'no-reply@mx.example', subject: 'Undelivered Mail Returned to Sender' })(
        'It could not be delivered.',
      ),
      UNKNOWN,
    ],
    [
      'a server with the returned mail as a part and no known word in the subject',
      multipart({ type: 'multipart/mixed', headers: 'From: no-reply@mx.example\n' }, [
        { type: 'text/plain', body: 'Could not be delivered to <gone@receiver.example>\n' },
        { type: 'message/rfc822', body: RETURNED },
      ]),
      UNKNOWN,
    ],
    [
      'a server that answers in another language',
      multipart({ type: 'multipart/mixed', headers: 'From: MAILER-DAEMON@mx.example\n' }, [
        { type: 'text/plain; charset=utf-8', body: 'Die Nachricht kommt zurück.\n' },
        { type: 'message/rfc822', body: RETURNED },
      ]),
      UNKNOWN,
    ],
    [
      'a server that tried for too long',
      plain({})('<gone@receiver.example>:\nRemote host said: 450 4.4.7 expired'),
      ['failed', 'undelivered', 'smtp:4.4.7 The mail could not be delivered in time'],
    ],
    [
      'a page',
      'From: postmaster@mx.example\r\nSubject: Mail delivery failed\r\nContent-Type: text/html\r\n\r\n<p>Remote server said: <b>550 5.1.1</b> no such user</p>',
      GONE,
    ],
  ])('of %s', async (_, mail, expected) => {
    expect(await brief(mail)).toEqual(expected)
  })

  it('is read from a server with any name that states a status, also as an automatic mail', async () => {
    const mail = plain({
      from: 'no-reply@mx.example',
      subject: 'Undelivered Mail Returned to Sender',
      more: 'Auto-Submitted: auto-generated\n',
    })('Remote host said: 550 5.1.1 User unknown')
    expect(await brief(mail)).toEqual(GONE)
  })

  it('names each recipient with its own status', async () => {
    const receipt = await receiptOf(
      qmail(
        '<gone@receiver.example>:\nNo mailbox here by that name. (#5.1.1)',
        '<full@receiver.example>:\nRemote host said: 552 5.2.2 Mailbox full',
      ),
    )
    expect(receipt).not.toHaveProperty('suppress')
    expect(receipt?.recipients).toMatchObject([
      { addresses: ['gone@receiver.example'], error_code: 'bounced', suppress: 'bounce' },
      { addresses: ['full@receiver.example'], error_code: 'bounced' },
    ])
    expect(receipt?.recipients?.[1]).not.toHaveProperty('suppress')
  })

  it('names the recipients of a list, without a guess about the reason of each', async () => {
    const receipt = await receiptOf(exim('a@x.example, b@x.example', '550 5.1.1 User unknown'))
    expect(receipt?.recipients).toMatchObject([
      { addresses: ['a@x.example'], status: 'failed', error_code: 'undelivered' },
      { addresses: ['b@x.example'], status: 'failed', error_code: 'undelivered' },
    ])
  })

  it('never reads the returned mail', async () => {
    const mail = plain({ subject: 'Mail delivery failed' })(`It failed.\n\n${RETURNED}`)
    expect(await brief(mail)).toEqual(UNKNOWN)
  })

  it.each([
    ['Warning: message 1abc delayed 24 hours', 'It will be tried again.'],
    ['Delivery Status Notification (Delay)', '450 4.2.2 is full'],
    ['Returned mail', 'THIS IS A WARNING MESSAGE ONLY. YOU DO NOT NEED TO RESEND YOUR MESSAGE.'],
    ['Successful mail delivery report', 'It was delivered.'],
  ])('about a delay or a delivery fails nothing: %s', async (subject, text) => {
    expect(
      await brief(plain({ subject: subject.replace('Returned mail', 'Notice') })(text)),
    ).toEqual(['sent'])
  })

  it.each([
    ['an absence', AWAY],
    ['an answer', plain({ from: 'ben@receiver.example', subject: 'Re: News' })('550 5.1.1 is odd')],
    [
      'an answer about a bounce',
      plain({ from: 'ben@receiver.example', subject: 'Fwd: failure notice' })('What is (#5.1.1)?'),
    ],
    ['a forwarded report', passedOn(postfixReport())],
    [
      'a read receipt',
      multipart(
        {
          type: 'multipart/report; report-type=disposition-notification',
          headers: 'From: postmaster@mx.example\nSubject: Undeliverable? No, read\n',
        },
        [{ type: 'text/plain', body: 'It was read, without error 550 5.1.1.\n' }],
      ),
    ],
    ...(
      [
        ['another language', 'Abwesenheitsnotiz: Your parcel could not be delivered', ''],
        ['an automatic answer', 'Away: Delivery failed', 'X-Auto-Response-Suppress: All\n'],
        [
          'a request',
          '[Ticket 12] Your mail was not delivered',
          'In-Reply-To: <m1@example.test>\n',
        ],
        ['a program of old', 'Away: message failed', 'Precedence: auto_reply\n'],
      ] as const
    ).map(([name, subject, more]): [string, string] => [
      `an answer that repeats our subject: ${name}`,
      plain({
        from: 'ben@receiver.example',
        subject,
        more: more || 'Auto-Submitted: auto-generated\n',
      })('I am away.'),
    ]),
    [
      'an absence with our mail as a part',
      multipart(
        {
          type: 'multipart/mixed',
          headers: 'From: ben@receiver.example\nSubject: Away\nAuto-Submitted: auto-replied\n',
        },
        [
          { type: 'text/plain', body: 'I can not be reached until Monday.\n' },
          { type: 'message/rfc822', body: RETURNED },
        ],
      ),
    ],
    ['a greeting of a postmaster', plain({ from: 'postmaster@mx.example', subject: 'Hi' })('Hi')],
  ])('is not %s', async (_, mail) => {
    expect(await brief(mail)).toBeNull()
  })
})

describe('a report of RFC 3464 that is damaged or has a form of its own', () => {
  it.each<[string, string, unknown[]]>([
    [
      'with the action "expired" and no status',
      fields(recipient('Action: expired\nStatus:\nDiagnostic-Code: Connection timed out')),
      UNKNOWN,
    ],
    ['without an action', fields(recipient('Status: 5.1.1')), GONE],
    ['with an unknown action', fields(recipient('Action: exploded\nStatus: 5.1.1')), GONE],
    ['with a misspelt action', fields(recipient('ction: failed\nStatus: 5.1.1')), GONE],
    [
      'with the action "deliverable"',
      fields(recipient('Action: deliverable\nStatus: 2.1.5')),
      ['sent'],
    ],
    ['without an action, of a delay', fields(recipient('Status: 4.4.7')), ['sent']],
    ['without recipients', fields(), UNKNOWN],
    [
      'in a mail without parts',
      plain({ subject: 'Returned mail' })(
        `It failed.\n\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n${recipient('Action: failed\nStatus: 5.1.1')}\n`,
      ),
      GONE,
    ],
    [
      'as a text',
      plain({ subject: 'Returned mail' })(
        `It failed.\n\n${recipient('Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550 5.1.1 Unknown')}\n`,
      ),
      GONE,
    ],
    [
      'with another boundary than its head names',
      fields(recipient('Action: failed\nStatus: 5.1.1')).replace(
        'boundary="b1_7f3a',
        'boundary="b2_7f3a',
      ),
      GONE,
    ],
    [
      'in base64 after 7,000 lines',
      multipart({ headers: 'From: MAILER-DAEMON@mx.example\n' }, [
        { type: 'text/plain', body: 'It failed.\n'.repeat(7_000) },
        {
          type: 'message/delivery-status',
          encoding: 'base64',
          body: Buffer.from(
            `Reporting-MTA: dns; mx.example\n\n${recipient('Action: failed\nStatus: 5.1.1')}`,
          ).toString('base64'),
        },
      ]),
      GONE,
    ],
  ])('%s is read', async (_, mail, expected) => {
    expect(await brief(mail)).toEqual(expected)
  })

  it('inside the returned mail does not count', async () => {
    const mail = multipart(
      { type: 'multipart/mixed', boundary: 'outer', headers: 'From: MAILER-DAEMON@mx.example\n' },
      [
        { type: 'text/plain', body: 'Failed.\n' },
        { type: 'message/rfc822', body: fields(recipient('Action: failed\nStatus: 5.1.1')) },
      ],
    )
    expect(await brief(mail)).toEqual(UNKNOWN)
  })
})

describe('the status of a report', () => {
  const mail = (status: string, diagnostic: string) =>
    fields(recipient(`Action: failed\nStatus: ${status}\nDiagnostic-Code: ${diagnostic}`))

  // The answer of the refusing server counts before the status of the reporting server: RFC 3464, section 2.3.6.
  it.each([
    ['5.1.1', 'smtp; 552 5.2.2 Over quota', 'bounced', '5.2.2 The mailbox is full'],
    [
      '5.1.1',
      'smtp; 550 5.7.1 Go away',
      'undelivered',
      '5.7.1 The mail violates a policy of the mail server',
    ],
    ['5.7.1', 'smtp; 550 5.1.1 Unknown', 'bounced', '5.1.1 The recipient does not exist'],
    [
      '5.1.1',
      'smtp; 550 5.7.1 5.1.1 Both',
      'undelivered',
      '5.7.1 The mail violates a policy of the mail server',
    ],
    [
      '5.0.0',
      "smtp; 5.1.0 - Unknown address 550-'5.2.2 <a@b.example> Full'",
      'bounced',
      '5.2.2 The mailbox is full',
    ],
    ['5.1.1', 'smtp; 452 4.2.2 Over quota', 'bounced', '5.1.1 The mailbox is full'],
    [
      '5.1.0',
      'smtp; 550 Sender is not known',
      'undelivered',
      '5.1.0 The mail violates a policy of the mail server',
    ],
    ['5.1.0', 'smtp; 550 Rejected', 'bounced', '5.1.0 The mail server does not accept the address'],
    [
      '5.1.4',
      'smtp; 550 Ambiguous',
      'bounced',
      '5.1.4 The mail server does not accept the address',
    ],
    [
      '5.1.90',
      'smtp; 550 5.1.90 Your daily limit',
      'undelivered',
      '5.1.90 The mail server has a limit for mails to this recipient or from us',
    ],
    [
      '5.1.351',
      'smtp; 550 Unknown',
      'bounced',
      '5.1.351 The mail server does not accept the address',
    ],
    [
      '5.2.1',
      'smtp; 550-5.2.1 receives mail at a rate that is too high',
      'undelivered',
      '5.2.1 The mail server has a limit for mails to this recipient or from us',
    ],
    [
      '5.2.0',
      'smtp; 550 5.2.0 spam',
      'undelivered',
      '5.2.0 The mail violates a policy of the mail server',
    ],
    ['5.0.0', 'smtp; 550 mailbox full', 'bounced', '5.0.0 The mailbox is full'],
    ['5.1.1', 'smtp; 550 Mailbox-full', 'bounced', '5.1.1 The mailbox is full'],
    // The other server did not refuse it for ever.
    ['5.1.1', 'smtp; 450 4.2.1 Try later', 'bounced', '5.1.1 The recipient does not exist'],
    ['5.1.1', 'smtp; 451 Try later', 'bounced', '5.1.1 The recipient does not exist'],
  ])('%s with %j suppresses no recipient', async (status, diagnostic, code, text) => {
    expect(await brief(mail(status, diagnostic))).toEqual(['failed', code, `smtp:${text}`])
  })

  it.each([
    ['5.1.1', 'smtp; 550 5.1.1 No such user', '5.1.1 The recipient does not exist'],
    ['5.1.0', 'smtp; 550 5.1.1 No such user', '5.1.1 The recipient does not exist'],
    ['5.1.1', 'smtp; 550 5.0.0 No such user', '5.1.1 The recipient does not exist'],
    ['5.1.1', 'smtp; 550 5.1.0 No such user', '5.1.1 The recipient does not exist'],
    [
      '5.1.1',
      'smtp; 550 5.1.1 <quota.spam@limit.example>: unknown',
      '5.1.1 The recipient does not exist',
    ],
    [
      '5.1.1',
      'smtp; 550 5.1.1 blocked.example has no such user',
      '5.1.1 The recipient does not exist',
    ],
    ['5.2.1', 'smtp; 550 5.2.1 Inactive', '5.2.1 The mailbox is disabled'],
  ])('%s with %j suppresses the recipient', async (status, diagnostic, text) => {
    expect(await brief(mail(status, diagnostic))).toEqual([
      'failed',
      'bounced',
      `smtp:${text}`,
      'bounce',
    ])
  })
})

// The words of well-known servers that use the status of a missing mailbox for another cause.
describe('words of another cause', () => {
  it.each([
    'Over quota',
    'user is overquota',
    'The mailbox is full',
    'Inbox full',
    'Greylisted',
    'mailbox full',
    'Insufficient system storage',
    'The recipient receives mail at a rate that prevents delivery',
    '192.0.2.1 has sent to too many recipients this hour',
    'Daily limit exceeded',
    'sender rejected',
    'MailFrom domain is listed',
    'IP blacklisted by recipient',
    'Refused due to recipient preferences',
    '192.0.2.1 is not allowed to send per its SPF Record',
    'http://www.spamhaus.org/query/bl?ip=192.0.2.1',
    'Message blocked',
    'does not pass DMARC',
    'Access denied',
    'Reverse DNS is missing',
  ])('suppress no recipient: %s', async (words) => {
    const mail = fields(
      recipient(`Action: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 ${words}`),
    )
    expect(await receiptOf(mail)).not.toHaveProperty('suppress')
  })

  it.each([
    'User unknown',
    'Recipient address rejected: User unknown in virtual mailbox table',
    'The email account that you tried to reach does not exist. Please try double-checking the address for typos or unnecessary spaces',
    'RESOLVER.ADR.RecipNotFound; not found',
    'Account has been deleted',
    'Unknown user; mail is relayed by privaterelay.example',
  ])('are not: %s', async (words) => {
    const mail = fields(
      recipient(`Action: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 ${words}`),
    )
    expect(await receiptOf(mail)).toHaveProperty('suppress', 'bounce')
  })
})
