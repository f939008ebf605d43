import type { Svc, Webhook } from '@svc/client'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, listOf, withExamples } from '../context.ts'
import { Failure, unreachable, usage } from '../process/failure.ts'
import { aborted, stopSignalOf } from '../process/process-io.ts'
import type { Output } from '../show/output.ts'
import type { Style } from '../show/text.ts'
import type { LogItem, LogSink } from '../views/line-log.tsx'
import { canOpenView, openView } from '../views/open-view.ts'
import { deliveryDocument, deliveryLine, forward, NO_ANSWER_STATUS } from '../webhooks/forward.ts'
import { openRecordings, type Recording, readRecordings } from '../webhooks/recordings.ts'
import type { Receiver } from '../webhooks/webhook-receiver.ts'
import { receiverUrl, usableSecret } from '../webhooks/webhook-secret.ts'
import { addConformance } from './webhooks-conformance.ts'
import { addWebhookManagement, modeOption } from './webhooks-manage.ts'
import { addSign, addTrigger, addVerify } from './webhooks-offline.ts'

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
  addVerify(webhooks, context)
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

interface ReplayOptions extends ConnectionOptions {
  webhook?: string
  to?: string
  secret?: string
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02'

/** Adds `svc webhooks replay`. */
function addReplay(webhooks: Command, context: Context): void {
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

/** The maximum number of items that wait for the view. */
const EARLY_MAX = 1_000

/** Passes items to the view of a log. Items wait while the view is not open. */
function createLogFeed(): {
  add(item: LogItem): void
  follow: (sink: LogSink, signal: AbortSignal) => Promise<void>
} {
  const early: LogItem[] = []
  let open: LogSink | null = null
  return {
    add(item) {
      if (open) open.add(item)
      else if (early.length < EARLY_MAX) early.push(item)
    },
    async follow(sink, signal) {
      open = sink
      for (const item of early.splice(0)) sink.add(item)
      await aborted(signal)
      open = null
    },
  }
}
