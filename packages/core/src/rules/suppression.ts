import { emailKey } from '../contract/fields/email-address.ts'
import type { Channel } from '../contract/resources/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import { addressesOf } from './recipients.ts'
import { whatsappForms } from './whatsapp-numbers.ts'

export function suppressionKey(suppression: {
  workspace_id: string
  channel: Channel
  address: string
}): string {
  return `${suppression.workspace_id}\n${suppression.channel}\n${suppression.address}`
}

/** The text of the error, which must not name the recipient. */
export const SUPPRESSED_TEXT = 'The recipient is suppressed on this channel'

/** The address under which a recipient is suppressed: for e-mail, in the form of `emailKey`. */
export function suppressedAddress(to: { channel: Channel; recipient: string }): string {
  return to.channel === 'email' ? emailKey(to.recipient) : to.recipient
}

/** The addresses for which a suppression of the address holds: on WhatsApp all forms of the number. */
export function suppressedForms(to: { channel: Channel; address: string }): string[] {
  return to.channel === 'whatsapp' ? whatsappForms(to.address) : [to.address]
}

/** The addresses under which the recipients of a message are suppressed. */
export function suppressedAddresses(
  message: Pick<MessageRow, 'channel' | 'recipient' | 'recipients'>,
): string[] {
  const { channel } = message
  return addressesOf(message).map((recipient) => suppressedAddress({ channel, recipient }))
}

/**
 * Whether the message is the service's own answer to STOP, START or HELP, which suppressed recipients get too. Only
 * such messages have no API key and cost nothing.
 */
export function isReply({
  api_key_id,
  credits_used,
}: Pick<MessageRow, 'api_key_id' | 'credits_used'>): boolean {
  return api_key_id === null && credits_used === 0
}
