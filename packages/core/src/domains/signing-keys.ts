import { emailAddress } from '../contract/fields/email-address.ts'
import type { DkimKey } from '../contract/outside/provider.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import { isUsable } from '../rules/sending-domain.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Place, SealedError, type Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'

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

/** The private key of a selector, and the place to which its sealed text is bound. */
export function placeOfDomainKey(
  { workspace_id, id }: Pick<SendingDomainRow, 'workspace_id' | 'id'>,
  selector: string,
): Place {
  // The place has the selector, not the column, because a rotation moves the sealed text to another column.
  return { table: 'sending_domains', column: `private_key ${selector}`, workspace_id, id }
}
