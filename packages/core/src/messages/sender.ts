import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Carriers } from '../channels/carriers.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Storage } from '../storage/ports/storage.ts'

type Sending = { channel: Channel; from?: string | undefined }

/** The senders of messages. */
export interface Senders {
  /** The error text if no provider can send from this sender, otherwise null. Test keys may use any sender. */
  fault(identity: Pick<KeyIdentity, 'mode'>, request: Sending): string | null
  /**
   * The sender in the request. If the request has none: for an e-mail, the sender name of the workspace, or else its name;
   * for other channels null, so that the provider's default applies.
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
