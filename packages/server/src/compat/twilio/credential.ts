import type { IncomingHttpHeaders } from 'node:http'
import { isSidOf } from '@svc/core/contract'
import type { KeyCredential } from '../../admission/authenticator.ts'

/** More than any user name and key of the service. */
const LENGTH_MAX = 1024

/**
 * Reads Basic credentials: the user is the account SID, or the SID of the key; the password is an API key. Null without
 * them. A text that is not such a pair is a wrong key.
 */
export function readBasicKey({ authorization }: IncomingHttpHeaders): KeyCredential | null {
  if (authorization === undefined) return null
  const [, encoded = ''] = /^basic +([\w+/-]+=*) *$/i.exec(authorization.slice(0, LENGTH_MAX)) ?? []
  const pair = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = pair.indexOf(':')
  const user = colon === -1 ? '' : pair.slice(0, colon)
  const key = colon === -1 ? '' : pair.slice(colon + 1)
  return {
    kind: 'api_key',
    key,
    belongsTo: ({ workspace_id, api_key_id }) =>
      isSidOf('account', user, workspace_id) || isSidOf('api_key', user, api_key_id),
  }
}
