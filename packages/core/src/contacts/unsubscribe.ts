import { readMessageToken } from '../contract/signing/mail-address-token.ts'
import type { MessageRow, SuppressionRow } from '../rows/rows.ts'
import { suppressedAddress } from '../rules/recipients.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Reads, Storage } from '../storage/ports/storage.ts'

/** The unsubscribe link of a mail (RFC 8058). The signed token in the link identifies the mail. */
export interface Unsubscribe {
  /** Returns the state of the link for a page; null for an invalid token or an erased mail. Changes nothing. */
  look(token: string): Promise<UnsubscribeLink | null>
  /**
   * Suppresses the recipient's e-mail address in the mail's workspace (`opt_out`); an existing suppression stays unchanged.
   * Returns false for an invalid token or an erased mail.
   */
  take(token: string): Promise<boolean>
  /**
   * Ends the recipient's opt-out within a day after it, for a recipient who unsubscribed by mistake. The reader of a forwarded
   * mail must not end an old opt-out. Returns whether an opt-out ended.
   */
  undo(token: string): Promise<boolean>
}

/** The state of an unsubscribe link. */
export interface UnsubscribeLink {
  /** The name of the sender. */
  workspace_name: string
  /** The recipient, masked so that only the recipient recognizes it. */
  masked_address: string
  /** Whether the sender sends no e-mail to the recipient, for any reason. */
  is_suppressed: boolean
  /** Whether `undo` would end the opt-out. */
  may_undo: boolean
}

/** Enough for a mistake. Later the sender may have relied on the opt-out. */
const UNDO_MS = 24 * 60 * 60 * 1000

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

  function mayUndo(suppression: SuppressionRow | null): boolean {
    if (suppression?.reason !== 'opt_out') return false
    return runtime.now().getTime() - suppression.created_at.getTime() < UNDO_MS
  }

  return {
    async look(token) {
      const message = await messageOf(token)
      const workspace = message && (await read.workspaces.byId(message.workspace_id))
      if (!message || !workspace) return null
      const suppression = await suppressionOf(read, message)
      return {
        workspace_name: workspace.name,
        masked_address: masked(message.recipient),
        is_suppressed: suppression !== null,
        may_undo: mayUndo(suppression),
      }
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
    async undo(token) {
      const message = await messageOf(token)
      if (!message) return false
      const { workspace_id, channel } = message
      const address = suppressedAddress(message)
      return storage.write(async (stores) => {
        if (!mayUndo(await suppressionOf(stores, message))) return false
        return stores.suppressions.remove(workspace_id, { channel, address, reason: 'opt_out' })
      })
    },
  }
}

async function suppressionOf(
  { suppressions }: Pick<Reads, 'suppressions'>,
  message: MessageRow,
): Promise<SuppressionRow | null> {
  const rows = await suppressions.of(message.workspace_id, [suppressedAddress(message)])
  return rows.find(({ channel }) => channel === message.channel) ?? null
}

/** Masks an address so that only its owner recognizes it, because people forward mails together with the links in them. */
function masked(address: string): string {
  const at = address.lastIndexOf('@')
  return `${address.slice(0, 1)}…${address.slice(at)}`
}
