import type { Svc, Webhook } from '@svc/client'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, listOf, withExamples } from '../context.ts'
import { usage } from '../process/failure.ts'
import { aborted, stopSignalOf } from '../process/process-io.ts'
import type { Output } from '../show/output.ts'
import type { Style } from '../show/style.ts'
import { createLogFeed } from '../views/log-feed.ts'
import { canOpenView, openView } from '../views/open-view.ts'
import { deliveryDocument, deliveryLine } from '../webhooks/delivery-line.ts'
import { forward, NO_ANSWER_STATUS } from '../webhooks/forward.ts'
import { openRecordings } from '../webhooks/recordings.ts'
import type { Receiver } from '../webhooks/webhook-receiver.ts'
import { receiverUrl, usableSecret } from '../webhooks/webhook-secret.ts'
import { addVerify } from './verify.ts'
import { addConformance } from './webhooks-conformance.ts'
import { addWebhookManagement, modeOption } from './webhooks-manage.ts'
import { addReplay } from './webhooks-replay.ts'
import { addSign } from './webhooks-sign.ts'
import { addTrigger } from './webhooks-trigger.ts'

interface ListenOptions extends ConnectionOptions {
  port: string
  events?: string
  mode?: Webhook['mode']
  forwardTo?: string
  printSecret?: boolean
  save?: string
  secret?: string
  register: boolean
}

/** Adds `svc webhooks`. */
export function addWebhooks(program: Command, context: Context): void {
  const webhooks = program
    .command('webhooks')
    .summary('receive, manage and test webhooks')
    .description(
      'Manages webhooks, and helps to develop a receiver. The API key needs the scope manage_webhooks.',
    )
  withExamples(webhooks, 'svc webhooks listen', 'svc webhooks list')

  const listen = withConnection(
    webhooks
      .command('listen')
      .summary('receive, verify and print webhook deliveries')
      .description(
        `Starts a receiver on this machine, registers it as a webhook, verifies every delivery and prints a line for
each; with --json, each line is one JSON document. On a terminal, keys filter and pause the list. Ctrl-C removes the
webhook. The server must allow http to loopback, as svc dev does, and the API key needs the scope manage_webhooks.`,
      )
      .option('--port <n>', 'the port to listen on; 0 for a free one', '0')
      .option('--events <list>', 'the events, separated by commas (default: all)')
      .addOption(modeOption())
      .option(
        '--forward-to <url>',
        'forward verified deliveries to a receiver, and return its status',
      )
      .option('--print-secret', 'print the secret as the first line')
      .option('--save <file>', 'append verified deliveries to a file, for svc webhooks replay')
      .option('--no-register', 'listen only, for an existing webhook; needs --secret')
      .option('--secret <whsec>', 'the secret of that webhook (default: SVC_WEBHOOK_SECRET)'),
  ).action((options: ListenOptions) => listenForDeliveries(context, options))
  withExamples(
    listen,
    'svc webhooks listen --events message.delivered,message.failed',
    'svc webhooks listen --forward-to http://127.0.0.1:8000/hooks/svc --save deliveries.jsonl',
    'svc webhooks listen --port 4000 --no-register --secret whsec_…',
  )
  addTrigger(webhooks, context)
  addReplay(webhooks, context)
  addSign(webhooks, context)
  addVerify(webhooks, context, 'svc webhooks verify')
  addConformance(webhooks, context)
  addWebhookManagement(webhooks, context)
}

async function listenForDeliveries(context: Context, options: ListenOptions): Promise<void> {
  const { io, output } = context
  const { forwardTo, save } = options
  const port = portOf(options.port)
  if (forwardTo !== undefined) receiverUrl(forwardTo, '--forward-to')
  const secret = options.secret ?? io.env.SVC_WEBHOOK_SECRET
  if (!options.register && !secret) throw usage('--no-register needs --secret whsec_…')
  if (!options.register && secret) await usableSecret(secret)
  if (options.register && options.secret) throw usage('--secret is for --no-register')
  if (!options.register && options.events) throw usage('--events is not for --no-register')
  if (!options.register && options.mode) throw usage('--mode is not for --no-register')
  const stop = stopSignalOf(io)
  const server = options.register ? await connect(options, io) : null
  const events = await eventsOf(options.events)
  const subscription = { ...(events && { events }), ...(options.mode && { mode: options.mode }) }
  const recordings = save === undefined ? null : await openRecordings(save, io)
  const { startReceiver } = await import('../webhooks/webhook-receiver.ts')
  const feed = canOpenView(context) ? createLogFeed() : null
  const receiver = await startReceiver(port, async (received) => {
    if (received.verification.ok) await recordings?.record(received)
    const forwarded =
      forwardTo !== undefined && received.verification.ok
        ? await forward(forwardTo, received)
        : undefined
    const lineIn = (style: Style) => deliveryLine(received, forwarded, style)
    if (output.isJson()) output.document(deliveryDocument(received, forwarded))
    else if (feed) feed.add({ line: () => lineIn(output.style), words: lineIn((_, text) => text) })
    else output.line(lineIn(output.style))
    return forwarded === null ? NO_ANSWER_STATUS : (forwarded ?? 200)
  })
  try {
    const registered = server ? await register(server, receiver, subscription, output) : null
    receiver.trust(registered?.secret ?? (secret as string))
    if (options.printSecret && !output.isJson()) output.line(registered?.secret ?? secret)
    announce(output, {
      url: receiver.url,
      webhook_id: registered?.id ?? null,
      secret: registered?.secret ?? null,
    })
    await (feed ? viewDeliveries(context, feed, receiver) : aborted(stop))
    await registered?.remove()
  } finally {
    await receiver.close()
  }
}

/** Shows the deliveries in a view; resolves when the view is closed. */
function viewDeliveries(
  context: Context,
  { follow }: ReturnType<typeof createLogFeed>,
  { url }: Receiver,
): Promise<void> {
  const { style } = context.output
  return openView(context, {
    screen: 'inline',
    load: async () =>
      (await import('../views/line-log.tsx')).lineLog({ title: url, style, follow }),
  })
}

/** Registers the receiver as a webhook; `remove` deletes the webhook. */
async function register(
  { client, base_url }: { client: Svc; base_url: string },
  { url }: Receiver,
  subscription: { events?: Webhook['events']; mode?: Webhook['mode'] },
  output: Output,
): Promise<{ id: string; secret: string; remove(): Promise<void> }> {
  const description = 'svc webhooks listen'
  const { webhook } = await client.webhooks.create({ url, description, ...subscription })
  const { id, secret } = webhook
  return {
    id,
    secret,
    async remove() {
      try {
        await client.webhooks.delete(id)
        output.note('The webhook is removed.')
      } catch {
        output.note(`The webhook ${id} could not be removed from ${base_url}.`)
      }
    },
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

async function eventsOf(list: string | undefined): Promise<Webhook['events'] | undefined> {
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
