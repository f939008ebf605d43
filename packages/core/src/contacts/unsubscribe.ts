import { readMessageToken } from '../contract/signing/mail-address-token.ts'
import type { MessageRow } from '../rows/rows.ts'
import { suppressedAddress } from '../rules/suppression.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The unsubscribe link of a mail (RFC 8058). The signed token in the link identifies the mail. */
export interface Unsubscribe {
  /** Returns the sender's name and the masked recipient for a page; null for an invalid token or an erased mail. */
  look(token: string): Promise<{ workspace_name: string; masked_address: string } | null>
  /**
   * Suppresses the recipient's e-mail address in the mail's workspace (`opt_out`); an existing suppression stays unchanged.
   * Returns false for an invalid token or an erased mail.
   */
  take(token: string): Promise<boolean>
}

export function createUnsubscribe({
  storage,
  runtime,
  secret,
}: {
  storage: Storage
  runtime: Runtime
  /** The secret with which providers sign the tokens. */
  secret: () => Promise<string>
}): Unsubscribe {
  const { read } = storage

  async function messageOf(token: string): Promise<MessageRow | null> {
    const ref = readMessageToken(await secret(), 'unsubscribe', token)
    const message = ref && (await read.messages.byId(ref.workspace_id, ref.message_id))
    // A test message reached no recipient, so its link must not stop live messages.
    const isMail = message?.channel === 'email' && message.livemode
    // A mail to several recipients has no link: a click would not show which recipient made it.
    const isToOne = message?.recipients === null
    return isMail && isToOne && message.erased_at === null ? message : null
  }

  return {
    async look(token) {
      const message = await messageOf(token)
      const workspace = message && (await read.workspaces.byId(message.workspace_id))
      if (!message || !workspace) return null
      return { workspace_name: workspace.name, masked_address: masked(message.recipient) }
    },
    async take(token) {
      const message = await messageOf(token)
      if (!message) return false
      const { workspace_id, channel } = message
      const address = suppressedAddress(message)
      const created_at = runtime.now()
      await storage.write(({ suppressions }) =>
        suppressions.add([{ workspace_id, channel, address, reason: 'opt_out', created_at }]),
      )
      return true
    },
  }
}

/** Masks an address so that only its owner recognizes it, because people forward mails together with the links in them. */
function masked(address: string): string {
  const at = address.lastIndexOf('@')
  return `${address.slice(0, 1)}…${address.slice(at)}`
}
