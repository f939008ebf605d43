import {
  formatCredits,
  type Message,
  type ReceivedMessage,
  type SmsContent,
  sidOf,
  twilioAddress,
  twilioDate,
  twilioErrorOf,
  twilioStatusOf,
  type Units,
  type WhatsappContent,
} from '@svc/core/contract'

/** The version in the paths of Twilio's API. */
export const API_VERSION = '2010-04-01'

/** The unit of prices: credits are no currency, and `XXX` is the code of ISO 4217 for that. */
export const PRICE_UNIT = 'XXX'

/** A path of Twilio's API, without the prefix of the door: the official packages add the prefix themselves. */
export function pathOf(workspace_id: string, rest = ''): string {
  return `/${API_VERSION}/Accounts/${sidOf('account', workspace_id)}${rest}.json`
}

/** A sent message in Twilio's form. `content` may be null if it is too long for a list. */
export function sentRecord(
  message: Omit<Message, 'content'> & { content: Message['content'] | null },
  now: Date,
): object {
  const { id, workspace_id, channel, status, error_code } = message
  const content = (message.content ?? {}) as Partial<SmsContent & WhatsappContent>
  const error = status === 'failed' ? twilioErrorOf(error_code) : null
  const { scheduled_at, created_at, updated_at } = message
  const isScheduled = status === 'queued' && scheduled_at !== null && scheduled_at > now
  const date_created = twilioDate(created_at)
  const isUnchanged = updated_at.getTime() === created_at.getTime()
  return record(workspace_id, id, {
    status: isScheduled ? 'scheduled' : twilioStatusOf(status, error_code),
    body: content.text ?? content.media?.caption ?? '',
    to: twilioAddress(channel, message.recipient),
    from: twilioAddress(channel, message.sender),
    direction: 'outbound-api',
    num_segments: String(message.segments ?? 1),
    num_media: content.media ? '1' : '0',
    price: status === 'queued' ? null : priceOf(message),
    error_code: error,
    error_message: error === null ? null : message.error_message,
    date_created,
    date_updated: isUnchanged ? date_created : twilioDate(updated_at),
    date_sent: message.sent_at && twilioDate(message.sent_at),
  })
}

/** A received message in Twilio's form. */
export function receivedRecord(workspace_id: string, message: ReceivedMessage): object {
  const { id, channel, content } = message
  const date = twilioDate(message.created_at)
  return record(workspace_id, id, {
    status: 'received',
    body: content.text ?? '',
    to: twilioAddress(channel, message.recipient),
    from: twilioAddress(channel, message.sender),
    direction: 'inbound',
    num_segments: '1',
    num_media: String(content.media.length),
    price: null,
    error_code: null,
    error_message: null,
    date_created: date,
    date_updated: date,
    date_sent: date,
  })
}

/** The fields of a message that sent and received messages fill differently. */
interface OwnFields {
  status: string
  body: string
  to: string | null
  from: string | null
  direction: 'inbound' | 'outbound-api'
  num_segments: string
  num_media: string
  price: string | null
  error_code: number | null
  error_message: string | null
  date_created: string
  date_updated: string
  date_sent: string | null
}

/** Names each field: `JSON.stringify` takes twice as long for an object that was made with a spread. */
function record(workspace_id: string, id: string, own: OwnFields): object {
  const sid = sidOf('message', id)
  const account_sid = sidOf('account', workspace_id)
  const path = `/${API_VERSION}/Accounts/${account_sid}/Messages/${sid}`
  return {
    sid,
    account_sid,
    api_version: API_VERSION,
    messaging_service_sid: null,
    price_unit: PRICE_UNIT,
    status: own.status,
    body: own.body,
    to: own.to,
    from: own.from,
    direction: own.direction,
    num_segments: own.num_segments,
    num_media: own.num_media,
    price: own.price,
    error_code: own.error_code,
    error_message: own.error_message,
    date_created: own.date_created,
    date_updated: own.date_updated,
    date_sent: own.date_sent,
    uri: `${path}.json`,
    subresource_uris: { media: `${path}/Media.json` },
  }
}

function priceOf({
  credits_used,
  credits_refunded,
}: Pick<Message, 'credits_used' | 'credits_refunded'>) {
  const amount = (credits_used - credits_refunded) as Units
  return amount === 0 ? '0' : `-${formatCredits(amount)}`
}
