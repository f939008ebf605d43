import type { ClaimedDelivery } from '../storage/ports/hot.ts'
import { fingerprintOf, type Opened } from './sealed-webhook.ts'

/** Which secret signs first, and which one a receiver that refuses that is sent; null outside an overlap. */
export interface SecretsInTurn {
  secret: string
  other_secret: string | null
}

/**
 * While a rotation overlaps, the secret that last got a 2xx goes first: the old one, until the new one was seen to work.
 * Source: contract section 12.
 */
export function secretsInTurn({
  secret,
  previous_secret,
  accepted_secret,
}: Pick<Opened<ClaimedDelivery>, 'secret' | 'previous_secret' | 'accepted_secret'>): SecretsInTurn {
  if (previous_secret === null) return { secret, other_secret: null }
  if (accepted_secret === fingerprintOf(secret)) return { secret, other_secret: previous_secret }
  return { secret: previous_secret, other_secret: secret }
}
