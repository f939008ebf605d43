import { ERASED } from '../contract/resources/message.ts'

/** The members of the `data` of an event about a person that erasure reads. */
interface PersonData {
  recipient?: unknown
  recipients?: { address: unknown }[]
  failed_recipients?: unknown[]
  sender?: unknown
  /** The address of a verification. */
  to?: unknown
  provider_message_id?: unknown
}

/**
 * The body of an event without the person and the content; its form stays. Null if there is nothing to erase, as in other
 * kinds of events and in erased events.
 */
export function erasedBody(body: string): string | null {
  const { event, data } = read(body)
  const name = nameOf({ event, data })
  if (!data || name === ERASED) return null
  if (isVerification(event)) {
    return name === null
      ? null
      : JSON.stringify({ event, data: { ...data, to: ERASED, metadata: {} } })
  }
  const provider_message_id = withoutNumber(data.provider_message_id)
  if (event === 'message.received') {
    const content = { text: null, media: [] }
    return JSON.stringify({
      event,
      data: { ...data, sender: ERASED, content, provider_message_id },
    })
  }
  const taken = { recipient: ERASED, metadata: {}, provider_message_id, error_message: null }
  const recipients = data.recipients?.map((one) => ({
    ...one,
    address: ERASED,
    error_message: null,
  }))
  const several = {
    ...(recipients && { recipients }),
    ...(data.failed_recipients && { failed_recipients: data.failed_recipients.map(() => ERASED) }),
  }
  return JSON.stringify({ event, data: { ...data, ...taken, ...several, tags: undefined } })
}

/** The body of an event without the content of a received message. Null if the event has none. */
export function redactedBody(body: string): string | null {
  const { event, data } = read(body)
  if (!data || event !== 'message.received') return null
  return JSON.stringify({ event, data: { ...data, content: { text: null, media: [] } } })
}

/** Whether the person was erased from the body of an event. */
export function isErasedBody(body: string): boolean {
  return nameOf(read(body)) === ERASED
}

/**
 * The person in an event: the sender of a received message, the address of a verification, otherwise the recipient. Null for
 * events about no person.
 */
function nameOf({ event, data }: ReturnType<typeof read>): unknown {
  if (isVerification(event)) return data?.to ?? null
  return (event === 'message.received' ? data?.sender : data?.recipient) ?? null
}

/** The persons in an event: several in an event about an e-mail to several recipients. */
export function namesOf(event: ReturnType<typeof read>): unknown[] {
  const others = event.data?.recipients?.map(({ address }) => address) ?? []
  return [nameOf(event), ...others]
}

/** Parses the body of an event. `data` is null if the event is about neither a message nor a verification. */
export function read(body: string): { event: string; data: PersonData | null } {
  const { event, data } = JSON.parse(body) as { event: string; data: PersonData }
  return { event, data: event.startsWith('message.') || isVerification(event) ? data : null }
}

function isVerification(event: string): boolean {
  return event.startsWith('verification.')
}

/** WhatsApp's ids contain the recipient's number in base64. */
function withoutNumber(id: unknown): unknown {
  return typeof id === 'string' && id.startsWith('wamid.') ? null : id
}
