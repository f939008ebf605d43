import type { Svc } from '@svc/client'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { Failure, unreachable, usage } from '../process/failure.ts'
import { forward } from '../webhooks/forward.ts'
import { type Recording, readRecordings } from '../webhooks/recordings.ts'
import { receiverUrl, usableSecret } from '../webhooks/webhook-secret.ts'

interface ReplayOptions extends ConnectionOptions {
  webhook?: string
  to?: string
  secret?: string
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02'

/** Adds `svc webhooks replay`. */
export function addReplay(webhooks: Command, context: Context): void {
  const replay = withConnection(
    webhooks
      .command('replay')
      .summary('resend a delivery, or the deliveries of a file')
      .description(
        `For the id of a delivery, the server sends the delivery to its webhook again. For a file of svc webhooks listen
--save, the command posts the deliveries to a receiver and needs no server. They are unchanged, or signed again with
--secret. Receivers refuse signatures that are older than five minutes.`,
      )
      .argument('<delivery-id|file>', 'the id of a delivery, or a file')
      .option('--webhook <id>', 'the webhook of the delivery (default: search all webhooks)')
      .option('--to <url>', 'for a file: the receiver')
      .option(
        '--secret <whsec>',
        'for a file: sign with the current time (default: SVC_WEBHOOK_SECRET)',
      ),
  ).action((target: string, options: ReplayOptions) =>
    UUID.test(target)
      ? replayDelivery(context, target, options)
      : replayFile(context, target, options),
  )
  withExamples(
    replay,
    `svc webhooks replay ${ID}`,
    'svc webhooks replay deliveries.jsonl --to http://127.0.0.1:8000/hooks/svc --secret whsec_…',
  )
}

async function replayDelivery(
  { io, output }: Context,
  delivery_id: string,
  { webhook, to, secret, ...options }: ReplayOptions,
): Promise<void> {
  if (to !== undefined || secret !== undefined) {
    throw usage('--to and --secret are for a file: the server sends a delivery to its webhook')
  }
  const { client } = await connect(options, io)
  const id = webhook ?? (await webhookOf(client, delivery_id))
  const queued = await client.webhooks.retry(id, delivery_id)
  if (output.isJson()) return output.document(queued)
  const { event, status } = queued.delivery
  output.row([delivery_id, event, status])
  output.note(`svc webhooks deliveries ${id} shows the result.`)
}

/** Finds the webhook of a delivery. It asks for each webhook, because the API has no search by delivery. */
async function webhookOf(client: Svc, delivery_id: string): Promise<string> {
  for (let page = 1, pages = 1; page <= pages; page++) {
    const found = await client.webhooks.list({ page, limit: 100 })
    pages = found.pagination.pages
    for (const { id } of found.webhooks) {
      if (await has(client, id, delivery_id)) return id
    }
  }
  throw new Failure('not_found', 'Delivery not found')
}

async function has(client: Svc, id: string, delivery_id: string): Promise<boolean> {
  try {
    await client.webhooks.delivery(id, delivery_id)
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'not_found') return false
    throw error
  }
}

async function replayFile(
  { io, output }: Context,
  path: string,
  { to, webhook, ...options }: ReplayOptions,
): Promise<void> {
  if (to === undefined) throw usage(`give the receiver of ${path} with --to <url>`)
  if (webhook !== undefined) throw usage('--webhook is for the id of a delivery')
  const url = receiverUrl(to, '--to')
  const secretText = options.secret ?? io.env.SVC_WEBHOOK_SECRET
  const secret = secretText && (await usableSecret(secretText))
  const recordings = await readRecordings(path, io)
  let refused = 0
  for (const recording of recordings) {
    const { headers, body } = secret ? await signAgain(recording, secret) : recording
    const status = await forward(url, { headers, body: Buffer.from(body) })
    if (status === null) throw unreachable(`${to} does not answer: is the receiver running?`)
    const event = String(headers['x-svc-event'] ?? '')
    const delivery_id = String(headers['x-svc-delivery'] ?? '')
    const isAcknowledged = status >= 200 && status < 300
    if (!isAcknowledged) refused += 1
    if (output.isJson()) output.document({ event, delivery_id, status })
    else
      output.row([
        event,
        delivery_id,
        { text: `${status}`, style: isAcknowledged ? 'green' : 'red' },
      ])
  }
  if (recordings.length === 0) output.note(`${path} has no deliveries.`)
  if (refused > 0) {
    throw new Failure('refused', `${refused} of ${recordings.length} were not acknowledged`)
  }
}

/** Signs the same event and attempt with the current time. */
async function signAgain(
  { headers, body, ...rest }: Recording,
  secret: string,
): Promise<Recording> {
  const { sign } = await import('@svc/core/webhooks')
  const headerOf = (name: string) => String(headers[name] ?? '')
  const signed = sign({
    secret,
    body,
    event: headerOf('x-svc-event'),
    event_id: headerOf('webhook-id'),
    delivery_id: headerOf('x-svc-delivery'),
    attempt: Number(headerOf('x-svc-attempt')) || 1,
    at: new Date(),
  })
  const lower = Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value])
  return { ...rest, body, headers: { ...headers, ...Object.fromEntries(lower) } }
}
