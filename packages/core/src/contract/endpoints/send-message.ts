import type { z } from 'zod'
import type { api } from '../api.ts'
import type { WireSendRequest } from '../resources/send-request.ts'
import { type CallOptions, type ClientOptions, exchange, unexpectedAnswer } from './exchange.ts'

export type { WireSendRequest } from '../resources/send-request.ts'
export type { CallOptions, ClientOptions, Fetch, FetchedAnswer } from './exchange.ts'

const PATH = '/api/v1/messages/send'

/** The data of an accepted send in JSON: the amount in credits, the time as ISO 8601. */
export type WireSent = z.input<typeof api.messages.send.data>

/**
 * Sends one message like `messages.send` of `createClient`, and returns the data in JSON instead of decoded data. A
 * program that only sends starts in half the CPU time with it, because it loads none of the API's schemas.
 * @throws SvcError that the server sent, SvcError `internal_error` for another answer, or the error of `fetch`.
 *
 * @example
 * const options = { base_url: 'http://127.0.0.1:3000', api_key: 'svc_…' }
 * await sendMessage(options, { channel: 'sms', to: '+14155552671', content: { text: 'Hi' } })
 */
export async function sendMessage(
  options: ClientOptions,
  request: WireSendRequest,
  more: CallOptions = {},
): Promise<WireSent> {
  const body = JSON.stringify(request)
  const answer = await exchange(
    options,
    { method: 'POST', path: PATH, auth: 'api_key', body },
    more,
  )
  const { data } = (answer ?? {}) as { data?: Partial<WireSent> | null }
  const { message_id, status, credits_used, created_at } = data ?? {}
  const isWhole =
    typeof message_id === 'string' &&
    status === 'queued' &&
    typeof credits_used === 'number' &&
    typeof created_at === 'string'
  if (!isWhole) throw unexpectedAnswer(PATH)
  return { message_id, status, credits_used, created_at }
}
