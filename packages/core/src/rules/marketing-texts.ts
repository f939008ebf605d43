import type { Channel, Content, EmailContent, SmsContent } from '../contract/resources/content.ts'
import { escapeHtml } from './template.ts'

/** What ends the marketing messages of a workspace. */
export interface MarketingTexts {
  /** The end of e-mails; null: none. */
  postal_address: string | null
  /** The last line of SMS; null: none. */
  sms_opt_out_text: string | null
}

/** The content of a marketing message with the texts that end it. Placeholders stay as they are. */
export function withMarketingTexts(
  channel: Channel,
  content: Content,
  { postal_address, sms_opt_out_text }: MarketingTexts,
): Content {
  if (channel === 'sms' && sms_opt_out_text !== null) {
    return { ...content, text: `${(content as SmsContent).text}\n${sms_opt_out_text}` } as Content
  }
  if (channel !== 'email' || postal_address === null) return content
  const { text, html } = content as EmailContent
  return {
    ...content,
    ...(text && { text: `${text}\n\n${postal_address}` }),
    ...(html && { html: withFooter(html, postal_address) }),
  } as Content
}

/** The footer is the last element of the body. */
function withFooter(html: string, address: string): string {
  const lines = escapeHtml(address).split(/\r\n|\r|\n/)
  const footer = `<p style="font-size:12px">${lines.join('<br>')}</p>`
  const end = [...html.matchAll(/<\/(?:body|html)\s*>/gi)]
  // A document may leave out its end tags.
  const body = end.findLast(([tag]) => /body/i.test(tag)) ?? end.at(-1)
  const at = body?.index ?? html.length
  return html.slice(0, at) + footer + html.slice(at)
}
