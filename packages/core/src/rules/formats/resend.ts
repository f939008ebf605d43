import type { WireEventData } from '../../contract/resources/events.ts'
import { signStandard } from '../../contract/signing/sign.ts'
import type { FormattedAttempt, WebhookFormat } from './format.ts'

const FAILED = ['message.failed', 'message.recipients_failed'] as const

/**
 * The events of Resend that this service has, each with the events behind it. A failed e-mail, or a failed recipient of an
 * e-mail with several, is `email.bounced`, `email.suppressed` or `email.failed`, by its error code.
 * Source: https://resend.com/docs/webhooks/event-types
 */
export const RESEND_EVENTS = {
  'email.sent': ['message.sent'],
  'email.delivered': ['message.delivered'],
  'email.opened': ['message.read'],
  'email.failed': FAILED,
  'email.bounced': FAILED,
  'email.suppressed': FAILED,
} as const

type ResendEvent = keyof typeof RESEND_EVENTS

const TAKEN: ReadonlySet<string> = new Set(Object.values(RESEND_EVENTS).flat())

/** The form of Resend's webhooks for e-mails: JSON, signed as the `svix` package verifies it. */
export const resendFormat: WebhookFormat = {
  takes: (event, channel) => event === 'webhook.test' || (TAKEN.has(event) && channel === 'email'),
  request(attempt, at) {
    const body = JSON.stringify(bodyOf(attempt))
    const timestamp = String(Math.floor(at.getTime() / 1000))
    const secrets = [attempt.secret, attempt.other_secret].filter((secret) => secret !== null)
    const signatures = secrets.map(
      (secret) => `v1,${signStandard(secret, attempt.event_id, timestamp, body)}`,
    )
    return {
      body,
      headers: {
        'content-type': 'application/json',
        'svix-id': attempt.event_id,
        'svix-timestamp': timestamp,
        'svix-signature': signatures.join(' '),
      },
    }
  },
}

type Change = WireEventData<'message.failed'>

function bodyOf({ event, body, message }: FormattedAttempt): object {
  if (event === 'webhook.test') return { type: event, data: {} }
  const { data } = JSON.parse(body) as { data: Change }
  const { type, to, error_code, error_message } = reportOf(event, data)
  return {
    type,
    created_at: data.occurred_at,
    data: {
      email_id: data.message_id,
      created_at: data.occurred_at,
      from: fromOf(message),
      to,
      subject: message?.subject ?? '',
      ...(data.tags && {
        tags: Object.fromEntries(data.tags.map(({ name, value }) => [name, value])),
      }),
      ...(type === 'email.bounced' && {
        bounce: { type: 'Permanent', subType: 'General', message: error_message ?? '' },
      }),
      ...(type === 'email.failed' && { failed: { reason: error_code ?? 'failed' } }),
      ...(type === 'email.suppressed' && {
        suppressed: { type: 'OnAccountSuppressionList', message: error_message ?? '' },
      }),
    },
  }
}

/** What an event reports to Resend's receivers. A failure names the recipients that failed with it, of any role. */
function reportOf(
  event: string,
  data: Change,
): Pick<Change, 'error_code' | 'error_message'> & { type: ResendEvent; to: string[] } {
  const { recipients = [], failed_recipients: to = recipientsOf(data) } = data
  // The reason of the message is that of its first recipient, which may have failed earlier and for another reason.
  const first = recipients.find(
    ({ address, status }) => status === 'failed' && address === data.failed_recipients?.[0],
  )
  const { error_code, error_message } = first ?? data
  return { type: typeOf(event, { ...data, error_code }), to, error_code, error_message }
}

function typeOf(event: string, { status, error_code }: Change): ResendEvent {
  if (event !== 'message.recipients_failed') {
    if (status === 'sent' || status === 'delivered') return `email.${status}`
    if (status === 'read') return 'email.opened'
  }
  return error_code === 'bounced' || error_code === 'suppressed'
    ? `email.${error_code}`
    : 'email.failed'
}

function recipientsOf({ recipient, recipients }: Change): string[] {
  if (!recipients) return [recipient]
  return recipients.filter(({ role }) => role === 'to').map(({ address }) => address)
}

function fromOf(message: FormattedAttempt['message']): string {
  const { sender, from_address } = message ?? {}
  if (!sender || !from_address) return sender || from_address || ''
  return `${sender} <${from_address}>`
}
