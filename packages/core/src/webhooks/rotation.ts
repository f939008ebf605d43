/** Of how many webhooks it is remembered that they know their new secret; of others it is found out again. */
const REMEMBERED_MAX = 10_000

/** A webhook's secrets, as a claim gives them. */
interface Secrets {
  webhook_id: string
  secret: string
  previous_secret: string | null
}

/** Which secret signs first, and which one a receiver that refuses that is sent; null outside an overlap. */
export interface SecretsInTurn {
  secret: string
  other_secret: string | null
}

/** What receivers have shown of the secrets they know while a rotation overlaps. Source: contract section 12. */
export interface Rotations {
  /** The secret that last got a 2xx goes first: the old one, until the new one was seen to work. */
  inTurn(secrets: Secrets): SecretsInTurn
  /** Takes note of the secret that signed what got a 2xx. */
  accepted(webhookId: string, secret: string): void
}

/**
 * Remembers in this process only: each process, and each start of one, finds out by one refused try.
 */
export function createRotations(): Rotations {
  const known = new Map<string, string>()
  return {
    inTurn({ webhook_id, secret, previous_secret }) {
      if (previous_secret === null) {
        known.delete(webhook_id)
        return { secret, other_secret: null }
      }
      if (known.get(webhook_id) === secret) return { secret, other_secret: previous_secret }
      return { secret: previous_secret, other_secret: secret }
    },
    accepted(webhookId, secret) {
      known.delete(webhookId)
      known.set(webhookId, secret)
      if (known.size <= REMEMBERED_MAX) return
      for (const oldest of known.keys()) {
        known.delete(oldest)
        return
      }
    },
  }
}
