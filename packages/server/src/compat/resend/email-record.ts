import type { EmailContent, Message } from '@svc/core/contract'

/** The last event of an e-mail, in Resend's words. */
export function lastEventOf(
  { status, error_code, scheduled_at }: Pick<Message, 'status' | 'error_code' | 'scheduled_at'>,
  now: Date,
): string {
  if (status === 'queued') return scheduled_at && scheduled_at > now ? 'scheduled' : 'queued'
  if (status === 'read') return 'opened'
  if (status !== 'failed') return status
  return error_code === 'canceled' || error_code === 'bounced' || error_code === 'suppressed'
    ? error_code
    : 'failed'
}

/** The fields of an e-mail that a list has. */
export function emailSummary(message: Message, now: Date) {
  const { id, created_at, scheduled_at } = message
  const content = message.content as Partial<EmailContent>
  return {
    id,
    to: recipientsOf(message),
    from: fromOf(message),
    created_at: created_at.toISOString(),
    subject: content.subject ?? '',
    bcc: content.bcc ?? null,
    cc: content.cc ?? null,
    reply_to: listOf(content.reply_to),
    last_event: lastEventOf(message, now),
    scheduled_at: scheduled_at?.toISOString() ?? null,
  }
}

/** The record of one e-mail. */
export function emailRecord(message: Message, now: Date) {
  const { html = null, text = null, tags = [] } = message.content as Partial<EmailContent>
  return {
    object: 'email',
    ...emailSummary(message, now),
    html,
    text,
    tags,
    message_id: message.provider_message_id,
    topic_id: null,
  }
}

function recipientsOf({ recipient, recipients }: Message): string[] {
  if (!recipients) return [recipient]
  return recipients.filter(({ role }) => role === 'to').map(({ address }) => address)
}

function fromOf({ sender, content }: Message): string {
  const { from_address = '' } = content as Partial<EmailContent>
  if (sender === null || sender === '') return from_address
  return from_address === '' ? sender : `${sender} <${from_address}>`
}

function listOf(given: string | string[] | undefined): string[] | null {
  if (given === undefined) return null
  return typeof given === 'string' ? [given] : given
}
