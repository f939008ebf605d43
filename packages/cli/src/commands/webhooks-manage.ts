import type { Delivery, EventKind, Webhook, WebhooksUpdateBody } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import {
  type Context,
  listOf,
  type PageOptions,
  pageOf,
  withExamples,
  withPage,
} from '../context.ts'
import { usage } from '../process/failure.ts'
import { counted } from '../show/counted.ts'
import { NEXT_REASONS } from '../show/next-reasons.ts'
import type { Cell } from '../show/output.ts'

interface UpdateOptions extends ConnectionOptions {
  to?: string
  events?: string
  mode?: Webhook['mode']
  description?: string
  disable?: boolean
}

interface DeliveriesOptions extends ConnectionOptions, PageOptions {
  status?: Delivery['status']
  event?: EventKind
}

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Adds the commands that manage existing webhooks to `svc webhooks`. */
export function addWebhookManagement(webhooks: Command, context: Context): void {
  const list = withConnection(
    withPage(
      webhooks
        .command('list')
        .summary('list webhooks')
        .description('Lists webhooks, newest first.'),
    ),
  ).action((options: ConnectionOptions & PageOptions) => listWebhooks(context, options))
  withExamples(list, 'svc webhooks list')

  const update = withConnection(
    oneWebhook(webhooks, 'update', 'change a webhook')
      .description('Changes the given fields of a webhook and keeps the others.')
      .option('--to <url>', 'the URL of the receiver')
      .option('--events <list>', 'the events, separated by commas; * for all')
      .addOption(modeOption())
      .option('--description <text>', 'a description')
      .option('--disable', 'stop its deliveries until svc webhooks enable'),
  ).action((id: string, options: UpdateOptions) => updateWebhook(context, id, options))
  withExamples(update, `svc webhooks update ${ID} --events message.delivered,message.failed`)

  const enable = withConnection(
    oneWebhook(webhooks, 'enable', 'enable a disabled webhook').description(
      'Enables a webhook that you disabled, or that was disabled because its receiver failed.',
    ),
  ).action((id: string, options: ConnectionOptions) => enableWebhook(context, id, options))
  withExamples(enable, `svc webhooks enable ${ID}`)

  const rotate = withConnection(
    oneWebhook(webhooks, 'rotate-secret', 'create a new secret for a webhook').description(
      'Creates a new secret and prints it once. The old secret stays valid for 24 hours.',
    ),
  ).action((id: string, options: ConnectionOptions) => rotateSecret(context, id, options))
  withExamples(rotate, `svc webhooks rotate-secret ${ID}`)
  addDeliveries(webhooks, context)
}

function addDeliveries(webhooks: Command, context: Context): void {
  const test = withConnection(
    oneWebhook(webhooks, 'test', 'send a webhook.test event').description(
      'Sends one webhook.test event to a webhook, even if the webhook has no subscription to this event.',
    ),
  ).action((id: string, options: ConnectionOptions) => testWebhook(context, id, options))
  withExamples(test, `svc webhooks test ${ID}`)

  const deliveries = withConnection(
    withPage(
      oneWebhook(webhooks, 'deliveries', 'list the deliveries of a webhook')
        .description('Lists the deliveries of a webhook, newest first.')
        .addOption(
          new Option('--status <status>', 'only deliveries with this status').choices([
            'pending',
            'delivered',
            'failed',
            'discarded',
          ]),
        )
        .option('--event <event>', 'only deliveries of this event'),
    ),
  ).action((id: string, options: DeliveriesOptions) => listDeliveries(context, id, options))
  withExamples(deliveries, `svc webhooks deliveries ${ID} --status failed`)

  const retry = withConnection(
    oneWebhook(webhooks, 'retry', 'retry a delivery now')
      .description('Retries a delivery now, even if it is pending or was delivered.')
      .argument('<delivery-id>', 'the id of the delivery'),
  ).action((id: string, deliveryId: string, options: ConnectionOptions) =>
    retryDelivery(context, id, deliveryId, options),
  )
  withExamples(retry, `svc webhooks retry ${ID} 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02`)
}

/** The option `--mode`, which selects live or test messages. */
export function modeOption(): Option {
  const text = 'the messages that cause events: live ones, those of test keys, or all'
  return new Option('--mode <mode>', text).choices(['all', 'live', 'test'])
}

function oneWebhook(webhooks: Command, name: string, summary: string): Command {
  return webhooks.command(name).summary(summary).argument('<id>', 'the id of the webhook')
}

async function listWebhooks(
  { io, output }: Context,
  { page, limit, ...options }: ConnectionOptions & PageOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.webhooks.list({ ...pageOf({ page, limit }) })
  if (output.isJson()) return output.document(found)
  output.table(['ID', 'STATUS', 'URL', 'EVENTS', 'MODE'], found.webhooks.map(webhookRow))
  const { total, pages, page: shown } = found.pagination
  if (total === 0) output.note('No webhooks.')
  if (pages > shown)
    output.note(`${counted(total, 'webhook')}; more: --page ${shown + 1} (of ${pages})`)
}

async function updateWebhook(
  { io, output }: Context,
  id: string,
  { to, events, mode, description, disable, ...options }: UpdateOptions,
): Promise<void> {
  const hasFields = [to, events, mode, description].some((value) => value !== undefined)
  if (!hasFields && !disable) {
    throw usage('name a field to change: --to, --events, --mode, --description or --disable')
  }
  // The server checks the names of the events.
  const kinds = events && (listOf(events) as WebhooksUpdateBody['events'])
  const change: WebhooksUpdateBody = {
    ...(to !== undefined && { url: to }),
    ...(events !== undefined && { events: kinds || [] }),
    ...(mode !== undefined && { mode }),
    ...(description !== undefined && { description }),
    ...(disable && { is_active: false }),
  }
  const { client } = await connect(options, io)
  const changed = await client.webhooks.update(id, change)
  if (output.isJson()) return output.document(changed)
  output.row(webhookRow(changed.webhook))
}

async function enableWebhook(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const enabled = await client.webhooks.enable(id)
  if (output.isJson()) return output.document(enabled)
  output.row(webhookRow(enabled.webhook))
}

async function rotateSecret(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const rotated = await client.webhooks.rotateSecret(id)
  if (output.isJson()) return output.document(rotated)
  const { secret, previous_secret_ends_at } = rotated.webhook
  output.line(output.style('bold', secret))
  output.note(
    `The secret is shown only once. The old one is valid until ${previous_secret_ends_at}.`,
  )
}

async function testWebhook(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const queued = await client.webhooks.test(id)
  if (output.isJson()) return output.document(queued)
  output.row(deliveryRow(queued.delivery))
  output.note(`svc webhooks deliveries ${id} shows the result.`)
}

async function listDeliveries(
  { io, output }: Context,
  id: string,
  { status, event, page, limit, ...options }: DeliveriesOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.webhooks.deliveries(id, { status, event, ...pageOf({ page, limit }) })
  if (output.isJson()) return output.document(found)
  output.table(
    ['ID', 'TIME', 'EVENT', 'STATUS', 'TRIES', 'ANSWER', 'NEXT TRY'],
    found.deliveries.map(deliveryRow),
  )
  const { total, pages, page: shown } = found.pagination
  if (total === 0) output.note('No deliveries.')
  if (pages > shown)
    output.note(
      `${counted(total, 'delivery', 'deliveries')}; more: --page ${shown + 1} (of ${pages})`,
    )
}

async function retryDelivery(
  { io, output }: Context,
  id: string,
  delivery_id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const queued = await client.webhooks.retry(id, delivery_id)
  if (output.isJson()) return output.document(queued)
  output.row(deliveryRow(queued.delivery))
}

function webhookRow({ id, status, disabled_reason, url, events, mode }: Webhook): Cell[] {
  const text = disabled_reason === null ? status : `${status} (${disabled_reason})`
  const style = { active: 'green', failing: 'yellow', disabled: 'red' } as const
  return [id, { text, style: style[status] }, url, events.join(','), mode]
}

function deliveryRow(delivery: Delivery): Cell[] {
  const { id, created_at, event, status, attempt_count, response_status, error } = delivery
  const { next_attempt_at, next_attempt_reason } = delivery
  const style = { pending: 'yellow', delivered: 'green', failed: 'red', discarded: 'dim' } as const
  const answer = error ?? response_status?.toString() ?? ''
  const next: Cell[] =
    next_attempt_at === null || next_attempt_reason === null
      ? []
      : [next_attempt_at, NEXT_REASONS[next_attempt_reason]]
  const state = { text: status, style: style[status] }
  return [id, created_at, event, state, `${attempt_count}`, answer, ...next]
}
