import { isLoopback } from '../fields/client-network.ts'
import type { MessageRef, ProviderContext } from '../outside/provider.ts'
import type { Channel, Content, EmailContent } from '../resources/content.ts'
import { messageToken } from './mail-address-token.ts'

/** The name of the placeholder for the unsubscribe link of an e-mail. */
export const UNSUBSCRIBE_URL = 'unsubscribe_url'

/** Stands for the unsubscribe link of an e-mail, in templates and in stored contents: the link names the message. */
const PLACEHOLDER = `{{${UNSUBSCRIBE_URL}}}`

/** The address at which the recipient of an e-mail unsubscribes. */
export function unsubscribeUrl(
  { public_url, secret }: Pick<ProviderContext, 'public_url' | 'secret'>,
  ref: MessageRef,
): string {
  return `${public_url}/unsubscribe/${messageToken(secret, 'unsubscribe', ref)}`
}

/** The fields in which the link takes the place of the placeholder. */
const FIELDS: ReadonlySet<string> = new Set(['html', 'text'])

/** Whether mailbox providers call an address at this public URL: RFC 8058 section 3.1 requires https. Trials run on this machine. */
export function takesOneClick(public_url: string): boolean {
  const { protocol, hostname } = new URL(public_url)
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))
}

/**
 * The value of the placeholder for the unsubscribe link in a field of an e-mail: the placeholder itself. Null for every other
 * placeholder, and in a field that has no link, such as the subject.
 */
export function unsubscribeValue(channel: Channel, name: string, field: string): string | null {
  return channel === 'email' && name === UNSUBSCRIBE_URL && FIELDS.has(field) ? PLACEHOLDER : null
}

/** Whether an e-mail shows its unsubscribe link. */
export function hasUnsubscribeUrl(content: Content): boolean {
  const { html, text } = content as EmailContent
  return `${html ?? ''}${text ?? ''}`.includes(PLACEHOLDER)
}

/** An e-mail with the link in place of the placeholder. */
export function withUnsubscribeUrl(content: Content, url: string): Content {
  const { html, text } = content as EmailContent
  return {
    ...content,
    ...(html && { html: html.replaceAll(PLACEHOLDER, url) }),
    ...(text && { text: text.replaceAll(PLACEHOLDER, url) }),
  } as Content
}
