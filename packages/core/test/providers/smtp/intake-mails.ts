/** Reports as real servers write them, with the names and addresses of these tests. */

/** One part of a `multipart/report`. */
interface Part {
  type: string
  body: string
  encoding?: string
}

/** A mail of several parts, with the line ends of SMTP. */
export function multipart(
  {
    type = 'multipart/report; report-type=delivery-status',
    headers = '',
    boundary = 'b1_7f3a/report.example.test',
  },
  parts: readonly Part[],
): string {
  const text = [
    `${headers}MIME-Version: 1.0`,
    `Content-Type: ${type};`,
    `\tboundary="${boundary}"`,
    '',
    'This is a MIME-encapsulated message.',
    '',
    ...parts.flatMap(({ type: partType, encoding, body }) => [
      `--${boundary}`,
      `Content-Type: ${partType}`,
      ...(encoding ? [`Content-Transfer-Encoding: ${encoding}`] : []),
      '',
      body,
    ]),
    `--${boundary}--`,
    '',
  ]
  return text.join('\n').replace(/\r?\n/g, '\r\n')
}

export interface ReportFields {
  action?: string
  status?: string
  diagnostic?: string
  envelope_id?: string
  /** Further returned headers. */
  returned?: string
}

/** The report of Postfix 3.7.11 on a recipient that another server refused. */
export function postfixReport({
  action = 'failed',
  status = '5.1.1',
  diagnostic = `smtp; 550 5.1.1 <gone@receiver.example.test>: User unknown in
    local recipient table of this server, described in a long line`,
  envelope_id = 'm1',
  returned = 'Subject: News',
}: ReportFields = {}): string {
  const headers = `Received: by relay.example.test (Postfix)
	id 4F65041C0E3; Sat, 21 Nov 2026 22:52:16 +0000 (UTC)
Date: Sat, 21 Nov 2026 22:52:16 +0000 (UTC)
From: Mail Delivery System <MAILER-DAEMON@relay.example.test>
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
`
  return multipart({ headers }, [
    { type: 'text/plain; charset=utf-8', body: 'This is the mail system at host relay.\n' },
    {
      type: 'message/delivery-status',
      body: `Reporting-MTA: dns; relay.example.test
Original-Envelope-Id: ${envelope_id}
X-Postfix-Queue-ID: 2961841C2E2
Arrival-Date: Sat, 21 Nov 2026 22:52:16 +0000 (UTC)

Final-Recipient: rfc822; gone@receiver.example.test
Original-Recipient: rfc822;gone@receiver.example.test
Action: ${action}
Status: ${status}
Remote-MTA: dns; 127.0.0.1
Diagnostic-Code: ${diagnostic}
`,
    },
    {
      type: 'text/rfc822-headers',
      body: `Received: from [127.0.0.1] (localhost [127.0.0.1])
	by relay.example.test (Postfix) with ESMTP id 2961841C2E2
From: Shop <shop@example.test>
${returned}
`,
    },
  ])
}

/** The report of Exchange: first a page for people, and a status with the name of its own rule. */
export function exchangeReport(): string {
  return multipart(
    { headers: 'From: postmaster@contoso.example\nSubject: Undeliverable: News\n' },
    [
      {
        type: 'text/html; charset="us-ascii"',
        encoding: 'quoted-printable',
        body: `<html>${'<p>Your message couldn=\n=27t be delivered</p>\n'.repeat(400)}</html>`,
      },
      {
        type: 'message/delivery-status',
        body: `Reporting-MTA: dns;AM0PR01.prod.exchange.example
Received-From-MTA: dns;relay.example.test
Arrival-Date: Sat, 21 Nov 2026 22:52:16 +0000

Final-Recipient: rfc822;gone@contoso.example
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient
 not found by SMTP address lookup
X-Display-Name: gone
`,
      },
      { type: 'message/rfc822', body: 'From: Shop <shop@example.test>\nSubject: News\n\nNews\n' },
    ],
  )
}

/** The report of Gmail: the code with a hyphen, over several lines, in base64. */
export function gmailReport(): string {
  const status = `Reporting-MTA: dns; googlemail.example
Arrival-Date: Sat, 21 Nov 2026 14:52:16 -0800 (PST)
X-Original-Message-ID: <m1@example.test>

Final-Recipient: rfc822; gone@gmail.example
Action: failed
Status: 5.0.0
Remote-MTA: dns; gmail-smtp-in.l.google.example. (192.0.2.26, the server for
 the domain gmail.example.)
Diagnostic-Code: smtp; 550-5.2.1 The email account that you tried to reach is
 inactive. For more
 550-5.2.1 information, go to
 550 5.2.1 https://support.google.example/mail/?p=DisabledUser
Last-Attempt-Date: Sat, 21 Nov 2026 14:52:17 -0800 (PST)
`.replaceAll('\n', '\r\n')
  const encoded = Buffer.from(status).toString('base64').replace(/.{76}/g, '$&\n')
  return multipart({ headers: 'From: Mail Delivery Subsystem <mailer-daemon@google.example>\n' }, [
    { type: 'text/plain; charset="UTF-8"', body: '** Address not found **\n' },
    { type: 'message/delivery-status', encoding: 'base64', body: encoded },
    { type: 'message/rfc822', body: 'From: Shop <shop@example.test>\n\nNews\n' },
  ])
}

/** The report of RFC 5965, appendix B.2, shortened. */
export function feedbackReport({
  kind = 'abuse',
  mail_from = '',
  returned = 'Subject: News',
} = {}) {
  return multipart(
    {
      type: 'multipart/report; report-type=feedback-report',
      headers: 'From: <abusedesk@example.com>\nSubject: FW: News\nTo: <abuse@example.net>\n',
    },
    [
      { type: 'text/plain; charset="US-ASCII"', body: 'This is an email abuse report.\n' },
      {
        type: 'message/feedback-report',
        body: `Feedback-Type: ${kind}
User-Agent: SomeGenerator/1.0
Version: 1
Original-Mail-From: <${mail_from}>
Original-Rcpt-To: <user@example.com>
Arrival-Date: Thu, 8 Mar 2005 14:00:00 EDT
Source-IP: 192.0.2.1
`,
      },
      {
        type: 'message/rfc822',
        body: `From: <somespammer@example.net>\n${returned}\n\nNews\n`,
      },
    ],
  )
}

/** An automatic answer for a person who is away. */
export const AWAY = `From: ben@receiver.example.test
Subject: Away: News
Auto-Submitted: auto-replied
Content-Type: text/plain

I am away. Action: failed, Status: 5.1.1
`.replaceAll('\n', '\r\n')

/** An answer with a whole report of another mail attached. */
export function passedOn(report: string): string {
  return multipart({ type: 'multipart/mixed', boundary: 'b2_of_ben' }, [
    { type: 'text/plain', body: 'What is this?\n' },
    { type: 'message/rfc822', body: report },
  ])
}
