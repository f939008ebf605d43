import { readMessageToken } from '../contract/signing/mail-address-token.ts'
import type { MessageRow } from '../rows/rows.ts'
import { suppressedAddress } from '../rules/suppression.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** What the link to unsubscribe in a mail leads to (RFC 8058): its token names the mail, and nobody else can make one. */
export interface Unsubscribe {
  /** Who wrote to whom, for the recipient to see; null for a token that is none, or whose mail was erased. Changes nothing. */
  look(token: string): Promise<{ workspace_name: string; masked_address: string } | null>
  /**
   * From then on the mail's workspace writes no mail to its recipient (`opt_out`); a suppression that stands already
   * stays as it is. False for a token that is none, or whose mail was erased.
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
  /** What providers sign with. */
  secret: () => Promise<string>
}): Unsubscribe {
  const { read } = storage

  async function messageOf(token: string): Promise<MessageRow | null> {
    const ref = readMessageToken(await secret(), 'unsubscribe', token)
    const message = ref && (await read.messages.byId(ref.workspace_id, ref.message_id))
    // A test message reached no recipient: what follows from it must not change who gets live ones.
    const isMail = message?.channel === 'email' && message.livemode
    return isMail && message.erased_at === null ? message : null
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

/** The address as whoever has it knows it again, and others do not: mails are passed on, and their links with them. */
function masked(address: string): string {
  const at = address.lastIndexOf('@')
  return `${address.slice(0, 1)}…${address.slice(at)}`
}
