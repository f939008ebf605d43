import { ERASED } from '../contract/resources/message.ts'

/** The `data` of an event about somebody who was written to, or who wrote; as far as it matters here. */
interface Named {
  recipient?: unknown
  sender?: unknown
  provider_message_id?: unknown
}

/**
 * The body of an event without whom it is about and what was written; its form stays. Null where there is nothing to
 * take out: of other kinds of events, and of those that were erased before.
 */
export function erasedBody(body: string): string | null {
  const { event, data } = read(body)
  if (!data || nameOf({ event, data }) === ERASED) return null
  const provider_message_id = withoutNumber(data.provider_message_id)
  if (event === 'message.received') {
    const content = { text: null, media: [] }
    return JSON.stringify({
      event,
      data: { ...data, sender: ERASED, content, provider_message_id },
    })
  }
  const taken = { recipient: ERASED, metadata: {}, provider_message_id, error_message: null }
  return JSON.stringify({ event, data: { ...data, ...taken } })
}

/** Whether whom it is about was taken out of the body of an event. */
export function isErasedBody(body: string): boolean {
  return nameOf(read(body)) === ERASED
}

/** Whom the body of an event is about: who was written to, or who wrote. Null of events about nobody. */
export function nameOf({ event, data }: ReturnType<typeof read>): unknown {
  return (event === 'message.received' ? data?.sender : data?.recipient) ?? null
}

/** An event about a message, taken apart; without `data` for any other. */
export function read(body: string): { event: string; data: Named | null } {
  const { event, data } = JSON.parse(body) as { event: string; data: Named }
  return { event, data: event.startsWith('message.') ? data : null }
}

/** WhatsApp's ids hold the recipient's number, in base64. */
function withoutNumber(id: unknown): unknown {
  return typeof id === 'string' && id.startsWith('wamid.') ? null : id
}
