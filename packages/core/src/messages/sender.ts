import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Carriers } from '../channels/carriers.ts'
import type { ErrorDetail } from '../contract/errors.ts'
import type { Channel, Content } from '../contract/resources/content.ts'
import { fromAddressOf } from '../domains/from-address.ts'
import type { FromRule } from '../domains/from-rule.ts'
import type { Awaitable } from '../runtime/awaitable.ts'
import type { Storage } from '../storage/ports/storage.ts'

type Sending = { channel: Channel; from?: string | undefined; content: Content }

/** The senders of messages. */
export interface Senders {
  /**
   * The fault if no provider can send from this sender or from the address of an e-mail's sender, otherwise null. Test keys
   * may use any sender.
   */
  fault(
    identity: Pick<KeyIdentity, 'mode' | 'workspace_id'>,
    request: Sending,
  ): Awaitable<ErrorDetail | null>
  /**
   * The sender in the request. If the request has none: for an e-mail, the sender name of the workspace, or else its name;
   * for other channels null, so that the provider's default applies.
   */
  of(workspaceId: string, request: Pick<Sending, 'channel' | 'from'>): Promise<string | null>
}

export function createSenders({
  storage,
  carriers,
  fromRule,
}: {
  storage: Pick<Storage, 'read'>
  fromRule: FromRule
  carriers: Pick<Carriers, 'senderFault' | 'serves'>
}): Senders {
  return {
    fault({ mode, workspace_id }, request) {
      if (mode !== 'live') return null
      const { channel, from } = request
      const message = carriers.senderFault(channel, from)
      if (message !== null) return { path: 'from', message }
      const address = fromAddressOf(request)
      // The sandbox sends no mail, so it accepts any address.
      if (address === null || !carriers.serves(channel)) return null
      return fromRule.fault(workspace_id, address)
    },
    async of(workspaceId, { channel, from }) {
      if (from !== undefined || channel !== 'email') return from ?? null
      const workspace = await storage.read.workspaces.byId(workspaceId)
      return workspace?.sender_name ?? workspace?.name ?? null
    },
  }
}
