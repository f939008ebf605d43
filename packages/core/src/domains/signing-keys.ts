import { emailAddress } from '../contract/fields/email-address.ts'
import type { DkimKey } from '../contract/outside/provider.ts'
import { isUsable } from '../rules/sending-domain.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { SealedError, type Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { placeOfDomainKey } from './sealed-domain.ts'

/** `unverified`: the workspace has no verified domain of that name. `unreadable`: the key cannot be decrypted. */
export type SigningKey = DkimKey | 'unverified' | 'unreadable'

/** Finds the keys that sign mails. A key is read from the database for each batch of mails; it is kept nowhere. */
export interface SigningKeys {
  /** The key for mails from this address of a workspace. */
  of(workspaceId: string, from_address: string): Promise<SigningKey>
}

export function createSigningKeys({
  storage,
  runtime,
  sealer,
}: {
  storage: Pick<Storage, 'read'>
  runtime: Pick<Runtime, 'now'>
  sealer: Sealer
}): SigningKeys {
  return {
    async of(workspaceId, from_address) {
      const name = emailAddress(from_address)?.domain ?? ''
      const row = await storage.read.sendingDomains.byName(workspaceId, name)
      if (!row || !isUsable(row, runtime.now())) return 'unverified'
      const { domain, selector, private_key } = row
      try {
        const key = sealer.open(placeOfDomainKey(row, selector), private_key)
        return { domain, selector, private_key: key }
      } catch (error) {
        if (error instanceof SealedError) return 'unreadable'
        throw error
      }
    },
  }
}
