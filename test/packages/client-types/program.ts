// Compiled without the types of Node and with all declarations checked.
import {
  type BulkChunk,
  InsufficientCreditsError,
  type Message,
  Svc,
  unwrapWebhook,
  webhookHandler,
} from '@svc/client'

const svc = new Svc({ apiKey: 'svc_…', baseUrl: 'https://svc.example.com', maxRetries: 2 })

export async function send(): Promise<string> {
  const request = { channel: 'sms', to: '+14155550100', content: { text: 'Hi' } } as const
  const { data, requestId } = await svc.messages
    .send({ ...request, scheduled_at: new Date() }, { idempotencyKey: 'a' })
    .withResponse()
  // @ts-expect-error a recipient is required
  await svc.messages.send({ channel: 'sms', content: { text: 'x' } })
  // @ts-expect-error there is no such endpoint
  await svc.messages.recall()
  // @ts-expect-error there is no such field
  data.credits
  return `${data.message_id} ${data.created_at.slice(0, 10)} ${requestId}`
}

export async function read(): Promise<Message[]> {
  const found: Message[] = []
  for await (const message of svc.messages.list({ status: 'failed', limit: 100 })) {
    found.push(message)
  }
  const { pagination, next_after } = await svc.contacts.list()
  const last: string | null = next_after
  return pagination.total > 0 && last ? found : []
}

export async function sendMany(recipients: AsyncIterable<string>): Promise<BulkChunk[]> {
  const chunks: BulkChunk[] = []
  const run = svc.bulks.sendAll({
    channel: 'email',
    content: { subject: 'A', text: 'B' },
    recipients,
  })
  for await (const chunk of run) {
    if (chunk.error instanceof InsufficientCreditsError) console.log(chunk.error.required)
    else if (chunk.bulk) console.log(chunk.bulk.accepted)
    chunks.push(chunk)
  }
  return chunks
}

export async function receive(raw: string, headers: Record<string, string>): Promise<string> {
  const event = await unwrapWebhook(raw, headers, 'whsec_…')
  if (event.event === 'credits.low') return String(event.data.threshold)
  if (event.event === 'message.failed') return event.data.error_code ?? ''
  return event.event
}

export const hooks = webhookHandler({
  secret: async ({ event_id }) => event_id,
  on: { 'message.received': ({ data }) => console.log(data.sender) },
})
