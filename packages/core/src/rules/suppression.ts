import { emailKey } from '../contract/fields/email-address.ts'
import type { Channel } from '../contract/resources/messages.ts'
import type { MessageRow } from '../rows/rows.ts'

export function suppressionKey(suppression: {
  workspace_id: string
  channel: Channel
  address: string
}): string {
  return `${suppression.workspace_id}\n${suppression.channel}\n${suppression.address}`
}

/** What is said of a recipient that must not be written to, and never who it is. */
export const SUPPRESSED_TEXT = 'The recipient is suppressed on this channel'

/** Under which address a recipient is suppressed: e-mail addresses are one whatever their case. */
export function suppressedAddress(to: { channel: Channel; recipient: string }): string {
  return to.channel === 'email' ? emailKey(to.recipient) : to.recipient
}

/**
 * Whether the service itself wrote a message, to answer STOP, START or HELP: it is sent to whoever is suppressed too.
 * No key asked for it and nobody pays for it, which no other message is.
 */
export function isReply({
  api_key_id,
  credits_used,
}: Pick<MessageRow, 'api_key_id' | 'credits_used'>): boolean {
  return api_key_id === null && credits_used === 0
}
