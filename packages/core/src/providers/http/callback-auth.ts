import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type {
  CallbackRequest,
  MessageRef,
  ProviderContext,
} from '../../contract/outside/provider.ts'
import { signatureOf } from './request.ts'
import type { CallbackSettings } from './settings.ts'

/** The query parameters of a message's callback URL: workspace, message, signature. */
const NAMES = { workspace_id: 'w', message_id: 'm', signature: 's' } as const

/** The URL that a gateway calls about one message. The signature makes the URL useless for other messages. */
export function callbackUrlOf(
  ref: MessageRef,
  context: ProviderContext,
  callback: CallbackSettings | undefined,
): string {
  const query = new URLSearchParams({
    [NAMES.workspace_id]: ref.workspace_id,
    [NAMES.message_id]: ref.message_id,
    [NAMES.signature]: signatureFor(ref, context),
  })
  const auth = callback?.auth
  if (auth?.type === 'token' && auth.in === 'query') query.set(auth.name, auth.token)
  return `${context.callback_url}?${query}`
}

/** 128 bits of a keyed hash, which cannot be guessed. */
function signatureFor({ workspace_id, message_id }: MessageRef, context: ProviderContext): string {
  return createHmac('sha256', context.secret)
    .update(JSON.stringify(['http-callback', context.callback_url, workspace_id, message_id]))
    .digest('hex')
    .slice(0, 32)
}

/** The message that a callback's URL names; null if it names none or its signature is not ours. */
export function signedRef(query: URLSearchParams, context: ProviderContext): MessageRef | null {
  const workspace_id = query.get(NAMES.workspace_id)
  const message_id = query.get(NAMES.message_id)
  const signature = query.get(NAMES.signature)
  if (workspace_id === null || message_id === null || signature === null) return null
  const ref = { workspace_id, message_id }
  return isSame(signature, signatureFor(ref, context)) ? ref : null
}

/** Whether the sender of this request knows the gateway's secret. */
export function isAuthentic(
  { headers, body }: CallbackRequest,
  query: URLSearchParams,
  { auth, ref }: { auth: CallbackSettings['auth']; ref: MessageRef | null },
): boolean {
  switch (auth.type) {
    case 'url':
      return ref !== null
    case 'hmac':
      return isSame(headers[auth.header.toLowerCase()], signatureOf(auth, body))
    case 'token': {
      const token = auth.in === 'query' ? query.get(auth.name) : headers[auth.name.toLowerCase()]
      return isSame(token, auth.token)
    }
  }
}

/** Compares in a time that depends neither on the place of the first difference nor on the lengths. */
function isSame(actual: string | null | undefined, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(actual ?? ''), hash(expected)) && typeof actual === 'string'
}
