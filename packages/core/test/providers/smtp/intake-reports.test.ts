import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../../src/contract/outside/provider.ts'
import { reportsOf } from '../../../src/providers/smtp/bounce-outcome.ts'
import { readMailReport } from '../../../src/providers/smtp/bounce-report.ts'
import {
  AWAY,
  exchangeReport,
  feedbackReport,
  gmailReport,
  multipart,
  passedOn,
  postfixReport,
} from './intake-mails.ts'
import { newRef } from './intake-stage.ts'

const about = newRef()

const read = (mail: string | Uint8Array) =>
  readMailReport(typeof mail === 'string' ? Buffer.from(mail) : mail)

/** The reports of a mail as they count for a message with one recipient. */
async function reportsIn(mail: string) {
  const report = await read(mail)
  return report && reportsOf(report, about).map(ofOne)
}

function ofOne(report: Report) {
  if (report.type === 'suppress') return { type: report.type, about, reason: report.reason }
  if (report.type !== 'receipt') return report
  const { recipients: _, ...receipt } = report.receipt
  return { ...report, receipt }
}

/** The state of each recipient that a report names. */
async function recipientsIn(mail: string) {
  const report = await read(mail)
  const found = report ? reportsOf(report, about) : []
  return found.flatMap((one) => (one.type === 'receipt' ? (one.receipt.recipients ?? []) : []))
}

function receipt(status: string, error_code: string | null = null, text: string | null = null) {
  return {
    type: 'receipt',
    about,
    provider_message_id: null,
    receipt: { status, provider_message_id: null, error_code, error_message: text },
  }
}

function gone(error_message: string) {
  const { receipt: failed, ...rest } = receipt('failed', 'bounced', error_message)
  return { ...rest, receipt: { ...failed, suppress: 'bounce' } }
}

/** A report of several recipients. */
const many = (groups: readonly string[]) =>
  multipart({}, [
    {
      type: 'message/delivery-status',
      body: ['Reporting-MTA: dns; a.example', ...groups].join('\n\n'),
    },
  ])

describe('a report about several recipients', () => {
  it('has the addresses and the state of each', async () => {
    const mail = many([
      'Final-Recipient: rfc822; moved@new.example\nOriginal-Recipient: rfc822;asha@a.example\nAction: failed\nStatus: 5.1.1',
      'Final-Recipient: rfc822;<juma@a.example>\nAction: delayed\nStatus: 4.4.1',
      'Final-Recipient: x400; /C=de/\nAction: failed\nStatus: 5.2.2',
    ])
    expect(await recipientsIn(mail)).toMatchObject([
      {
        addresses: ['moved@new.example', 'asha@a.example'],
        status: 'failed',
        error_code: 'bounced',
        suppress: 'bounce',
      },
      { addresses: ['juma@a.example'], status: 'sent', error_code: null },
      { addresses: [], status: 'failed', error_code: 'bounced' },
    ])
  })
})

describe('a report of a real server', () => {
  it('of Postfix is read', async () => {
    expect(await reportsIn(postfixReport())).toEqual([
      gone('smtp:5.1.1 The recipient does not exist'),
    ])
  })

  it('of Exchange is read', async () => {
    expect(await reportsIn(exchangeReport())).toEqual([
      gone('smtp:5.1.10 The recipient does not exist'),
    ])
  })

  it('of Gmail is read with the status of the refusing server, if its own has no meaning', async () => {
    expect(await reportsIn(gmailReport())).toEqual([gone('smtp:5.2.1 The mailbox is disabled')])
  })

  it('of RFC 5965 is a complaint', async () => {
    expect(await reportsIn(feedbackReport())).toEqual([
      { type: 'suppress', about, reason: 'complaint' },
    ])
    expect(await reportsIn(feedbackReport({ kind: 'Abuse' }))).toHaveLength(1)
  })

  it.each(['not-spam', 'fraud', 'virus', 'other', 'auth-failure'])(
    'of type %s changes nothing',
    async (kind) => {
      expect(await reportsIn(feedbackReport({ kind }))).toEqual([])
    },
  )
})

describe('the action and status of a report', () => {
  it.each([
    ['5.1.2', 'The recipient does not exist'],
    ['5.1.6 (moved)', 'The recipient does not exist'],
    ['5.2.1', 'The mailbox is disabled'],
  ])('failed %s bounces and suppresses', async (status, text) => {
    const mail = postfixReport({ status, diagnostic: 'x; y' })
    expect(await reportsIn(mail)).toEqual([gone(`smtp:${status.split(' ')[0]} ${text}`)])
  })

  it.each([
    ['5.2.2', 'bounced', 'The mailbox is full'],
    // RFC 3463, section 3.2: another address status, which is no missing mailbox.
    ['5.1.0', 'bounced', 'The mail server does not accept the address'],
    ['5.2.0', 'bounced', 'The mailbox does not accept the mail'],
    ['5.1.8', 'undelivered', 'The mail server does not accept mail from this domain or address'],
    ['5.2.3', 'undelivered', 'The mail is too large for the mail server'],
    ['5.3.4', 'undelivered', 'The mail is too large for the mail server'],
    ['5.4.4', 'undelivered', 'No mail server of the recipient could be reached'],
    ['5.7.26', 'undelivered', 'The mail violates a policy of the mail server'],
    ['5.0.0', 'undelivered', 'The mail server refuses the mail'],
    ['5.6.1', 'undelivered', 'The mail server refuses the mail'],
    ['4.1.1', 'undelivered', 'The mail could not be delivered in time'],
    ['2.1.5', 'undelivered', 'The mail server refuses the mail'],
  ])('failed %s is %s and does not suppress', async (status, code, text) => {
    const mail = postfixReport({ status, diagnostic: 'x; y' })
    expect(await reportsIn(mail)).toEqual([receipt('failed', code, `smtp:${status} ${text}`)])
  })

  it.each([
    ['', 'smtp; 550 5.1.1 Unknown', gone('smtp:5.1.1 The recipient does not exist')],
    ['5.0.0', 'smtp; 550-5.1.1 Unknown', gone('smtp:5.1.1 The recipient does not exist')],
    ['5.0.0', 'smtp; 550 #5.1.1 Unknown', gone('smtp:5.1.1 The recipient does not exist')],
    [
      '5.0.0',
      'smtp; 450 4.1.1 Unknown',
      receipt('failed', 'undelivered', 'smtp:5.0.0 The mail server refuses the mail'),
    ],
    [
      '5.7.1',
      'smtp; 550 5.1.1 Unknown',
      receipt('failed', 'bounced', 'smtp:5.1.1 The recipient does not exist'),
    ],
    [
      'none',
      'smtp; 550 Unknown',
      receipt(
        'failed',
        'undelivered',
        'smtp: The mail came back, and the report does not state the reason',
      ),
    ],
  ])('failed %j with the diagnostic %j', async (status, diagnostic, expected) => {
    expect(await reportsIn(postfixReport({ status, diagnostic }))).toEqual([expected])
  })

  it.each([
    ['delivered', 'delivered'],
    ['Delivered', 'delivered'],
    ['relayed (no DSN there)', 'sent'],
    ['expanded', 'sent'],
    ['delayed', 'sent'],
  ])('%s is %s, whatever the status', async (action, status) => {
    expect(await reportsIn(postfixReport({ action }))).toEqual([receipt(status)])
  })

  it.each([
    [['failed 5.1.1', 'failed 5.1.1'], gone('smtp:5.1.1 The recipient does not exist')],
    [
      ['failed 5.1.1', 'failed 5.2.2'],
      receipt('failed', 'bounced', 'smtp:5.1.1 The recipient does not exist'),
    ],
    [['failed 5.1.1', 'delivered 2.0.0'], receipt('delivered')],
    [['relayed 2.0.0', 'failed 5.1.1'], receipt('sent')],
    [['expanded 2.0.0', 'delayed 4.4.1', 'failed 5.1.1'], receipt('sent')],
    [['delayed 4.4.1', 'delayed 4.4.7'], receipt('sent')],
    [
      ['delayed 4.4.1', 'failed 5.1.1'],
      receipt('failed', 'bounced', 'smtp:5.1.1 The recipient does not exist'),
    ],
  ])('of several recipients make one receipt: %j', async (groups, expected) => {
    const mail = many(
      groups.map((group) => {
        const [action, status] = group.split(' ')
        return `Final-Recipient: rfc822; a@b.example\nAction: ${action}\nStatus: ${status}`
      }),
    )
    expect(await reportsIn(mail)).toEqual([expected])
  })
})

describe('a mail that is not a report', () => {
  it.each([
    ['an answer of a machine', AWAY],
    ['a forwarded report on another mail', passedOn(postfixReport())],
    ['a forwarded complaint about another mail', passedOn(feedbackReport())],
    ['a report without recipients', many([])],
    ['a mail without a header', '\r\n\r\nAction: failed\r\n'],
    ['nothing', ''],
  ])('is ignored: %s', async (_, mail) => {
    expect(await read(mail)).toBeNull()
  })

  it('of any bytes does not throw', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 4_000 }), async (bytes) => {
        expect(await read(bytes)).toBeNull()
      }),
    )
  })

  it('or a report with any changes does not throw, and gives at most one report', async () => {
    const mails = [postfixReport(), exchangeReport().slice(-1_500), gmailReport(), feedbackReport()]
    const change = fc.record({
      at: fc.nat(3_000),
      length: fc.nat(40),
      put: fc.oneof(
        fc.string({ maxLength: 20 }),
        fc.constantFrom(
          '\r\n',
          '\n\n',
          '--b1_7f3a/report.example.test',
          ':',
          '\0',
          'Action: failed',
        ),
      ),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...mails),
        fc.array(change, { maxLength: 6 }),
        async (mail, changes) => {
          const changed = changes.reduce(
            (text, { at, length, put }) => text.slice(0, at) + put + text.slice(at + length),
            mail,
          )
          expect(((await reportsIn(changed)) ?? []).length).toBeLessThanOrEqual(1)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('a mail beyond the limits', () => {
  const HEAD = 'Content-Type: multipart/report; boundary=b\r\n\r\n'

  it.each([
    ['lines', '\n'.repeat(1_000_000)],
    ['parts', `${HEAD}${'--b\n\nx\n'.repeat(140_000)}`],
    ['headers', 'A: b\r\n'.repeat(160_000)],
    ['one line', 'x'.repeat(1_000_000)],
    [
      'parts within parts',
      HEAD +
        Array.from(
          { length: 10_000 },
          (_, i) => `--b${i || ''}\nContent-Type: multipart/mixed; boundary=b${i + 1}\n\n`,
        ).join(''),
    ],
  ])('is ignored: %s', async (_, mail) => {
    expect(await read(mail)).toBeNull()
  })

  it('is read if it begins with a report', async () => {
    const mail = postfixReport().replace(/--\r\n$/, '')
    const long = `${mail}\r\nContent-Type: text/plain\r\n\r\n${'x\r\n'.repeat(300_000)}`
    expect(await reportsIn(long)).toEqual([gone('smtp:5.1.1 The recipient does not exist')])
  })

  it('is read for its first recipients and fields', async () => {
    const group = 'Final-Recipient: rfc822; a@b.example\nAction: failed\nStatus: 5.1.1'
    const report = await read(many(Array.from({ length: 1_000 }, () => group)))
    expect(report?.type === 'delivery_status' && report.recipients.length).toBe(99)
    const fields = Array.from({ length: 1_000 }, (_, i) => `X-${i}: y`).join('\n')
    expect(await reportsIn(many([`Action: failed\nStatus: 5.1.1\n${fields}`]))).toHaveLength(1)
  })
})
