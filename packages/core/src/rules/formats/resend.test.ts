import { describe, expect, it } from 'vitest'
import type { FormattedAttempt } from './format.ts'
import { resendFormat } from './resend.ts'

const AT = new Date('2026-05-04T09:00:00Z')
const [TO, CC, BCC] = ['to@example.com', 'cc@example.com', 'bcc@example.com']
const ALSO = 'also@example.com'

/** The body of a request about an e-mail to several recipients, of which the named ones failed. */
function requestFor(event: string, data: { status: string; [field: string]: unknown }) {
  const attempt: FormattedAttempt = {
    workspace_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
    delivery_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02',
    event_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d03',
    event,
    url: 'https://app.example/resend',
    secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
    other_secret: null,
    body: JSON.stringify({
      event,
      data: {
        message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d04',
        recipient: TO,
        channel: 'email',
        error_code: null,
        error_message: null,
        occurred_at: AT.toISOString(),
        recipients: [
          recipient(TO, 'to', 'bounced', 'No mailbox'),
          recipient(CC, 'cc', 'suppressed', 'On the list'),
          recipient(BCC, 'bcc', 'refused', 'Refused'),
          recipient(ALSO, 'to', 'refused', 'Refused'),
        ],
        ...data,
      },
    }),
    message: {
      sender: 'Acme',
      subject: 'Hi',
      from_address: 'a@acme.example',
      callback_method: null,
    },
    attempt: 1,
  }
  const { type, data: made } = JSON.parse(resendFormat.request(attempt, AT).body ?? '')
  const { to, bounce, failed, suppressed } = made
  return { type, to, reason: (bounce ?? suppressed)?.message ?? failed?.reason }
}

function recipient(address: string, role: string, error_code: string, error_message: string) {
  return { address, role, status: 'failed', error_code, error_message }
}

describe('The form of webhooks of Resend', () => {
  it('names the recipients that failed with an event, and their own reason', () => {
    const whole = { error_code: 'bounced', error_message: 'No mailbox' }
    const failed = (address: string) =>
      requestFor('message.failed', { status: 'failed', ...whole, failed_recipients: [address] })
    expect(failed(TO)).toEqual({ type: 'email.bounced', to: [TO], reason: 'No mailbox' })
    expect(failed(CC)).toEqual({ type: 'email.suppressed', to: [CC], reason: 'On the list' })
    expect(failed(BCC)).toEqual({ type: 'email.failed', to: [BCC], reason: 'refused' })
  })

  it('has a failure of some recipients, whatever the status of the e-mail', () => {
    for (const status of ['sent', 'delivered']) {
      expect(requestFor('message.recipients_failed', { status, failed_recipients: [CC] })).toEqual({
        type: 'email.suppressed',
        to: [CC],
        reason: 'On the list',
      })
    }
  })

  it('names only the recipients in To for other events', () => {
    const report = requestFor('message.delivered', { status: 'delivered' })
    expect(report).toMatchObject({ type: 'email.delivered', to: [TO, ALSO] })
  })
})
