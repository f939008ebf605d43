import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type {
  CallbackRequest,
  MessageRef,
  ProviderContext,
} from '../../contract/outside/provider.ts'
import { signatureOf } from './request.ts'
import type { CallbackSettings } from './settings.ts'

/** Workspace, message and signature in the address of a message's own callback. */
const NAMES = { workspace_id: 'w', message_id: 'm', signature: 's' } as const

/** The address that a gateway calls about one message: signed, so that nobody can tell of another one with it. */
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

/** 128 bits of a keyed hash: nobody can guess one. */
function signatureFor({ workspace_id, message_id }: MessageRef, context: ProviderContext): string {
  return createHmac('sha256', context.secret)
    .update(JSON.stringify(['http-callback', context.callback_url, workspace_id, message_id]))
    .digest('hex')
    .slice(0, 32)
}

/** Which message a callback's address names; null where it names none, or was not made by us. */
export function signedRef(query: URLSearchParams, context: ProviderContext): MessageRef | null {
  const workspace_id = query.get(NAMES.workspace_id)
  const message_id = query.get(NAMES.message_id)
  const signature = query.get(NAMES.signature)
  if (workspace_id === null || message_id === null || signature === null) return null
  const ref = { workspace_id, message_id }
  return isSame(signature, signatureFor(ref, context)) ? ref : null
}

/** Whether the gateway made this request, as far as its secret tells. */
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
      const given = auth.in === 'query' ? query.get(auth.name) : headers[auth.name.toLowerCase()]
      return isSame(given, auth.token)
    }
  }
}

/** In a time that does not depend on where they differ, nor on their lengths. */
function isSame(given: string | null | undefined, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given ?? ''), hash(expected)) && given !== null && given !== undefined
}
