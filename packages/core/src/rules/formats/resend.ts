import type { WireEventData } from '../../contract/resources/events.ts'
import { signStandard } from '../../contract/signing/sign.ts'
import type { FormattedAttempt, WebhookFormat } from './format.ts'

/**
 * The events of Resend that this service has, each with the event behind it. A failed e-mail is `email.bounced`,
 * `email.suppressed` or `email.failed`, by its error code.
 * Source: https://resend.com/docs/webhooks/event-types
 */
export const RESEND_EVENTS = {
  'email.sent': 'message.sent',
  'email.delivered': 'message.delivered',
  'email.opened': 'message.read',
  'email.failed': 'message.failed',
  'email.bounced': 'message.failed',
  'email.suppressed': 'message.failed',
} as const

type ResendEvent = keyof typeof RESEND_EVENTS

const TAKEN: ReadonlySet<string> = new Set(Object.values(RESEND_EVENTS))

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

function bodyOf({ event, body, message }: FormattedAttempt): object {
  if (event === 'webhook.test') return { type: event, data: {} }
  const { data } = JSON.parse(body) as { data: WireEventData<'message.failed'> }
  const type = typeOf(data)
  return {
    type,
    created_at: data.occurred_at,
    data: {
      email_id: data.message_id,
      created_at: data.occurred_at,
      from: fromOf(message),
      to: recipientsOf(data),
      subject: message?.subject ?? '',
      ...(data.tags && {
        tags: Object.fromEntries(data.tags.map(({ name, value }) => [name, value])),
      }),
      ...(type === 'email.bounced' && {
        bounce: { type: 'Permanent', subType: 'General', message: data.error_message ?? '' },
      }),
      ...(type === 'email.failed' && { failed: { reason: data.error_code ?? 'failed' } }),
      ...(type === 'email.suppressed' && {
        suppressed: { type: 'OnAccountSuppressionList', message: data.error_message ?? '' },
      }),
    },
  }
}

function typeOf({ status, error_code }: WireEventData<'message.failed'>): ResendEvent {
  switch (status) {
    case 'sent':
    case 'delivered':
      return `email.${status}`
    case 'read':
      return 'email.opened'
    default:
      return error_code === 'bounced' || error_code === 'suppressed'
        ? `email.${error_code}`
        : 'email.failed'
  }
}

function recipientsOf({ recipient, recipients }: WireEventData<'message.failed'>): string[] {
  if (!recipients) return [recipient]
  return recipients.filter(({ role }) => role === 'to').map(({ address }) => address)
}

function fromOf(message: FormattedAttempt['message']): string {
  const { sender, from_address } = message ?? {}
  if (!sender || !from_address) return sender || from_address || ''
  return `${sender} <${from_address}>`
}
