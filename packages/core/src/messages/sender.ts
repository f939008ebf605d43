import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Carriers } from '../channels/carriers.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Storage } from '../storage/ports/storage.ts'

type Sending = { channel: Channel; from?: string | undefined }

/** From whom messages are sent. */
export interface Senders {
  /** Why nobody may send from there, for people; null where somebody may. Test keys send from anywhere. */
  fault(identity: Pick<KeyIdentity, 'mode'>, request: Sending): string | null
  /**
   * What the request names, else, of an e-mail, the workspace's sender name or its own. Null where the provider shall
   * choose.
   */
  of(workspaceId: string, request: Sending): Promise<string | null>
}

export function createSenders({
  storage,
  carriers,
}: {
  storage: Pick<Storage, 'read'>
  carriers: Pick<Carriers, 'senderFault'>
}): Senders {
  return {
    fault: ({ mode }, { channel, from }) =>
      mode === 'live' ? carriers.senderFault(channel, from) : null,
    async of(workspaceId, { channel, from }) {
      if (from !== undefined || channel !== 'email') return from ?? null
      const workspace = await storage.read.workspaces.byId(workspaceId)
      return workspace?.sender_name ?? workspace?.name ?? null
    },
  }
}
