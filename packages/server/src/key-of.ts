import type { KeyIdentity } from '@svc/core'
import type { Identity } from './auth.ts'

/** The key of a caller whom the admission let in with one, and with nothing else. */
export function keyOf(identity: Identity | null): KeyIdentity {
  if (identity?.kind !== 'api_key') throw new Error('only API keys send')
  return identity
}
