import type { Channel, Content, EmailContent } from '../contract/resources/content.ts'

/** The address that the request set for the header `From`; null if the service chooses it. */
export function fromAddressOf({
  channel,
  content,
}: {
  channel: Channel
  content: Content
}): string | null {
  if (channel !== 'email') return null
  return (content as EmailContent).from_address ?? null
}
