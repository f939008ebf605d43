import type { Message } from '@svc/client'
import type { AnyContent } from './content.tsx'

/** The body of a request that would send the same message again. Records have no attachments, only their sizes. */
export function bodyOf(message: Message): Record<string, unknown> {
  const { channel, recipient, recipients, sender, metadata } = message
  const { attachments: _, ...content } = message.content as AnyContent
  const to = recipients?.filter(({ role }) => role === 'to').map(({ address }) => address)
  return {
    to: to && to.length > 1 ? to : recipient,
    channel,
    ...(sender && { from: sender }),
    content,
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The command that sends the same message. Its key comes from the environment, so that no key is copied. */
export function curlOf(message: Message): string {
  const json = JSON.stringify(bodyOf(message), null, 2)
  return [
    'curl -X POST "$SVC_URL/api/v1/messages/send"',
    '-H "X-API-Key: $SVC_API_KEY"',
    "-H 'Content-Type: application/json'",
    `-d '${json.replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ')
}
