import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Carriers } from '../channels/carriers.ts'
import type { ErrorDetail } from '../contract/errors.ts'
import { emailAddress } from '../contract/fields/email-address.ts'
import type { Channel, Content, EmailContent } from '../contract/resources/content.ts'
import type { Storage } from '../storage/ports/storage.ts'

type Sending = { channel: Channel; from?: string | undefined; content: Content }

/** The senders of messages. */
export interface Senders {
  /**
   * The fault if no provider can send from this sender or from the address of an e-mail's sender, otherwise null. Test keys
   * may use any sender.
   */
  fault(identity: Pick<KeyIdentity, 'mode'>, request: Sending): ErrorDetail | null
  /**
   * The sender in the request. If the request has none: for an e-mail, the sender name of the workspace, or else its name;
   * for other channels null, so that the provider's default applies.
   */
  of(workspaceId: string, request: Pick<Sending, 'channel' | 'from'>): Promise<string | null>
}

export function createSenders({
  storage,
  carriers,
}: {
  storage: Pick<Storage, 'read'>
  carriers: Pick<Carriers, 'senderFault' | 'serves'>
}): Senders {
  return {
    fault({ mode }, request) {
      if (mode !== 'live') return null
      const { channel, from } = request
      const message = carriers.senderFault(channel, from)
      if (message !== null) return { path: 'from', message }
      return carriers.serves(channel) ? addressFault(request) : null
    },
    async of(workspaceId, { channel, from }) {
      if (from !== undefined || channel !== 'email') return from ?? null
      const workspace = await storage.read.workspaces.byId(workspaceId)
      return workspace?.sender_name ?? workspace?.name ?? null
    },
  }
}

/** An address is accepted from a verified domain only, because its mail speaks for the domain. */
function addressFault({ channel, content }: Sending): ErrorDetail | null {
  const address = channel === 'email' ? (content as EmailContent).from_address : undefined
  if (address === undefined) return null
  const domain = emailAddress(address)?.domain ?? address
  return {
    path: 'content.from_address',
    message: `The domain ${domain} is not a verified sending domain of this workspace`,
  }
}
