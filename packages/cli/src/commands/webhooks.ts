import type { Client, Subscription } from '@svc/core/contract'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connection.ts'
import { type Context, listOf, withExamples } from '../context.ts'
import { deliveryDocument, deliveryLine } from '../delivery-line.ts'
import { usage } from '../failure.ts'
import { forward } from '../forward.ts'
import type { Output } from '../output.ts'
import { aborted, stopSignalOf } from '../surroundings.ts'
import type { Receiver } from '../webhook-receiver.ts'
import { addWebhookManagement } from './webhooks-manage.ts'

interface ListenOptions extends ConnectionOptions {
  port: string
  events?: string
  forwardTo?: string
  secret?: string
  register: boolean
}

/** Adds `svc webhooks`. */
export function addWebhooks(program: Command, context: Context): void {
  const webhooks = program
    .command('webhooks')
    .summary('receive, manage and test webhooks')
    .description(
      'Receives webhooks while you develop what will receive them, and manages those that exist. The key needs the scope manage_webhooks.',
    )
  withExamples(webhooks, 'svc webhooks listen', 'svc webhooks list')

  const listen = withConnection(
    webhooks
      .command('listen')
      .summary('receive, verify and print webhook deliveries')
      .description(
        `Starts a receiver on this machine, registers it as a webhook at the server, verifies every delivery and prints a
line for each; with --json one document a line. Removes the webhook again on Ctrl-C. The server must be allowed to
reach loopback by http, as svc dev is, and the key needs the scope manage_webhooks.`,
      )
      .option('--port <n>', 'where to listen; 0 takes a free one', '0')
      .option('--events <list>', 'only these, with commas (default: all)')
      .option('--forward-to <url>', 'hand verified deliveries on, and answer what it answers')
      .option('--no-register', 'listen only, for a webhook that exists; needs --secret')
      .option('--secret <whsec>', 'the secret of that webhook (default: SVC_WEBHOOK_SECRET)'),
  ).action((options: ListenOptions) => listenFor(context, options))
  withExamples(
    listen,
    'svc webhooks listen --events message.delivered,message.failed',
    'svc webhooks listen --forward-to http://127.0.0.1:8000/hooks/svc',
    'svc webhooks listen --port 4000 --no-register --secret whsec_…',
  )
  addWebhookManagement(webhooks, context)
}

async function listenFor({ surroundings, output }: Context, options: ListenOptions): Promise<void> {
  const { forwardTo } = options
  const port = portOf(options.port)
  if (forwardTo !== undefined && !/^https?:$/.test(protocolOf(forwardTo))) {
    throw usage(`--forward-to must be an http or https address, got "${forwardTo}"`)
  }
  const secret = options.secret ?? surroundings.env.SVC_WEBHOOK_SECRET
  if (!options.register && !secret) throw usage('--no-register needs --secret whsec_…')
  if (options.register && options.secret) throw usage('--secret is for --no-register')
  const stop = stopSignalOf(surroundings)
  const server = options.register ? await connect(options, surroundings) : null
  const events = await eventsOf(options.events)
  const { startReceiver } = await import('../webhook-receiver.ts')
  const receiver = await startReceiver(port, async (received) => {
    const forwarded =
      forwardTo !== undefined && received.verification.ok
        ? await forward(forwardTo, received)
        : null
    if (output.isJson()) output.document(deliveryDocument(received, forwarded))
    else output.line(deliveryLine(received, forwarded, output.style))
    return forwarded ?? 200
  })
  try {
    const remove = server ? await register(server, receiver, events, output) : null
    if (!server) {
      receiver.trust(secret as string)
      announce(output, { url: receiver.url, webhook_id: null, secret: null })
    }
    await aborted(stop)
    await remove?.()
  } finally {
    await receiver.close()
  }
}

/** Makes the receiver a webhook of the server; answers what takes it away again. */
async function register(
  { client, base_url }: { client: Client; base_url: string },
  receiver: Receiver,
  events: Subscription[] | undefined,
  output: Output,
): Promise<() => Promise<void>> {
  const { url } = receiver
  const description = 'svc webhooks listen'
  const { webhook } = await client.webhooks.create({ url, description, ...(events && { events }) })
  const { id, secret } = webhook
  receiver.trust(secret)
  announce(output, { url, webhook_id: id, secret })
  return async () => {
    try {
      await client.webhooks.delete({ id })
      output.note('The webhook is removed.')
    } catch {
      output.note(`The webhook ${id} could not be removed from ${base_url}.`)
    }
  }
}

function announce(
  output: Output,
  start: { url: string; webhook_id: string | null; secret: string | null },
): void {
  const secret = start.secret === null ? '' : `, secret ${start.secret}`
  if (output.isJson()) output.document({ listening: start })
  else output.note(`Listening on ${start.url}${secret}. Stop with Ctrl-C.`)
}

async function eventsOf(list: string | undefined): Promise<Subscription[] | undefined> {
  if (list === undefined) return undefined
  const { SUBSCRIPTIONS } = await import('@svc/core/contract')
  return listOf(list).map((name) => {
    const known = SUBSCRIPTIONS.find((subscription) => subscription === name)
    if (known) return known
    throw usage(`there is no event ${name}: choose from ${SUBSCRIPTIONS.join(', ')}`)
  })
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw usage(`--port must be a number from 0 to 65535, got "${text}"`)
}

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : ''
}
