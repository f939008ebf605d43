import type { KeyIdentity } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import { type DecodedCore, requireScope } from '@svc/core/operate'
import type { Gate } from '../../admission/gate.ts'
import { clientOf, type RateLimiter } from '../../admission/rate-limiter.ts'

/** The parts of the API that every door shares: counters and load. */
export interface Shared {
  core: DecodedCore
  limiter: Pick<RateLimiter, 'charge'>
  gate: Pick<Gate, 'checkLoad' | 'during'>
}

/** Decides which clients and mails may enter, by the rules of the API. */
interface Admission {
  /** The identity of a key now. @throws SvcError 401, 403; 429 instead after too many wrong keys of one address. */
  identify(key: string, address: string): Promise<KeyIdentity>
  /** Counts a mail, as a request of its key. @throws SvcError 429. */
  countMail(identity: KeyIdentity): Promise<void>
}

export function createAdmission({ core, limiter, gate }: Shared): Admission {
  /** A wrong key counts as a request without credentials and as a failed attempt, as in the API. */
  async function countRefused(address: string, error: unknown): Promise<never> {
    const client = clientOf({ ip: address })
    await limiter.charge('anonymous', client)
    if (error instanceof SvcError && error.status === 401) {
      await limiter.charge('failed_auth', client)
    }
    throw error
  }

  return {
    async identify(key, address) {
      const { authenticateKnown, authenticate } = core.apiKeys
      try {
        const known = authenticateKnown(key, address)
        const identity = known ?? (await authenticate(key, address))
        requireScope(identity, 'send_messages')
        return identity
      } catch (error) {
        return countRefused(address, error)
      }
    },
    async countMail({ api_key_id, workspace_id }) {
      await limiter.charge('general', api_key_id)
      await limiter.charge('workspace', workspace_id)
      gate.checkLoad('sends')
    },
  }
}
