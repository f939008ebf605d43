import type { Delivery, EventKind, Webhook, WebhooksUpdateBody } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, listOf, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { readPast } from '../input/time.ts'
import { NEXT_REASONS } from '../messages/message-rows.ts'
import { pairsOf } from '../messages/send-request.ts'
import { usage } from '../process/failure.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { counted, printable } from '../show/text.ts'

interface UpdateOptions extends ConnectionOptions {
  to?: string
  events?: string
  mode?: Webhook['mode']
  description?: string
  disable?: boolean
}

interface CreateOptions extends ConnectionOptions {
  events?: string
  mode?: Webhook['mode']
  description?: string
  header?: string[]
  format?: Webhook['format']
  signingKey?: string
}

interface RecoverOptions extends ConnectionOptions {
  since: string
  until?: string
}

interface HealthOptions extends ConnectionOptions {
  period: '24h' | '7d' | '30d'
}

interface DeliveriesOptions extends ConnectionOptions, PageOptions {
  status?: Delivery['status']
  event?: EventKind
}

/** The characters of an answer in a line of the list of failures. */
const BODY_SHOWN = 60

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Adds the commands that manage webhooks to `svc webhooks`. */
export function addWebhookManagement(webhooks: Command, context: Context): void {
  addCreate(webhooks, context)
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

  const disable = withConnection(
    oneWebhook(webhooks, 'disable', 'disable a webhook').description(
      'Stops the deliveries of a webhook until svc webhooks enable. Pending deliveries stay.',
    ),
  ).action((id: string, options: ConnectionOptions) =>
    updateWebhook(context, id, { ...options, disable: true }),
  )
  withExamples(disable, `svc webhooks disable ${ID}`)

  const remove = withConnection(
    oneWebhook(webhooks, 'delete', 'delete a webhook')
      .description('Deletes a webhook and its deliveries, after a confirmation.')
      .option('--yes', 'do not ask'),
  ).action((id: string, options: ConnectionOptions & { yes?: boolean }) =>
    deleteWebhook(context, id, options),
  )
  withExamples(remove, `svc webhooks delete ${ID} --yes`)

  const rotate = withConnection(
    oneWebhook(webhooks, 'rotate-secret', 'create a new secret for a webhook').description(
      'Creates a new secret and prints it once. The old secret stays valid for 24 hours.',
    ),
  ).action((id: string, options: ConnectionOptions) => rotateSecret(context, id, options))
  withExamples(rotate, `svc webhooks rotate-secret ${ID}`)
  addDeliveries(webhooks, context)
}

function addCreate(webhooks: Command, context: Context): void {
  const create = withConnection(
    webhooks
      .command('create')
      .summary('create a webhook and print its secret')
      .description('Creates a webhook and prints its secret, which is shown only once.')
      .argument('<url>', 'the URL of the receiver')
      .option('--events <list>', 'the events, separated by commas (default: all)')
      .addOption(modeOption())
      .option('--description <text>', 'a description')
      .option('--header <name=value...>', 'headers of every delivery')
      .addOption(
        new Option('--format <format>', 'the form of the requests').choices([
          'svc',
          'twilio',
          'resend',
        ]),
      )
      .option('--signing-key <id>', 'for the format twilio: the API key that signs'),
  ).action((url: string, options: CreateOptions) => createWebhook(context, url, options))
  withExamples(
    create,
    'svc webhooks create https://app.example.com/hooks/svc',
    'svc webhooks create https://app.example.com/hooks/svc --events message.delivered,message.failed --mode live',
  )

  const show = withConnection(
    oneWebhook(webhooks, 'show', 'show a webhook').description(
      'Shows a webhook, its state and the times of its last success and failure.',
    ),
  ).action((id: string, options: ConnectionOptions) => showWebhook(context, id, options))
  withExamples(show, `svc webhooks show ${ID}`)

  const health = withConnection(
    oneWebhook(webhooks, 'health', 'show how the receiver answers')
      .description(
        'Shows how many attempts succeeded in a period, how fast the receiver answers, and its last failed answers.',
      )
      .addOption(
        new Option('--period <period>', 'the period until now')
          .choices(['24h', '7d', '30d'])
          .default('24h'),
      ),
  ).action((id: string, options: HealthOptions) => showHealth(context, id, options))
  withExamples(health, `svc webhooks health ${ID}`, `svc webhooks health ${ID} --period 30d`)
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

  const delivery = withConnection(
    oneWebhook(webhooks, 'delivery', 'show a delivery and its attempts')
      .description('Shows a delivery of a webhook, with the answer to each attempt.')
      .argument('<delivery-id>', 'the id of the delivery'),
  ).action((id: string, deliveryId: string, options: ConnectionOptions) =>
    showDelivery(context, id, deliveryId, options),
  )
  withExamples(delivery, `svc webhooks delivery ${ID} 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02`)

  const retry = withConnection(
    oneWebhook(webhooks, 'retry', 'retry a delivery now')
      .description('Retries a delivery now, even if it is pending or was delivered.')
      .argument('<delivery-id>', 'the id of the delivery'),
  ).action((id: string, deliveryId: string, options: ConnectionOptions) =>
    retryDelivery(context, id, deliveryId, options),
  )
  withExamples(retry, `svc webhooks retry ${ID} 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02`)

  const recover = withConnection(
    oneWebhook(webhooks, 'recover', 'retry all failed deliveries since a time')
      .description(
        'Queues the failed and discarded deliveries of a webhook again, those that began in a period.',
      )
      .requiredOption('--since <when>', 'the beginning: 2h, 7d or a date')
      .option('--until <when>', 'the end (default: now)'),
  ).action((id: string, options: RecoverOptions) => recoverDeliveries(context, id, options))
  withExamples(recover, `svc webhooks recover ${ID} --since 2h`)
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
  listing(output, {
    json: () => found,
    headings: ['ID', 'STATUS', 'URL', 'EVENTS', 'MODE'],
    rows: found.webhooks.map(webhookRow),
    none: 'No webhooks.',
    paging: pagingOf(found.pagination, 'webhook'),
  })
}

async function createWebhook(
  { io, output }: Context,
  url: string,
  { events, mode, description, header, format, signingKey, ...options }: CreateOptions,
): Promise<void> {
  const headers = header && pairsOf('--header', header)
  // The server checks the names of the events.
  const kinds = events === undefined ? undefined : (listOf(events) as WebhooksUpdateBody['events'])
  const { client } = await connect(options, io)
  const created = await client.webhooks.create({
    url,
    ...(kinds && { events: kinds }),
    ...(mode !== undefined && { mode }),
    ...(description !== undefined && { description }),
    ...(headers && { headers }),
    ...(format !== undefined && { format }),
    ...(signingKey !== undefined && { api_key_id: signingKey }),
  })
  if (output.isJson()) return output.document(created)
  const { webhook, warning } = created
  output.fields([
    ['id', webhook.id],
    ['url', webhook.url],
    ['events', webhook.events.join(', ')],
    ['mode', webhook.mode],
    ...(webhook.secret === ''
      ? []
      : [['secret', { text: webhook.secret, style: 'bold' }] as [string, Cell]]),
  ])
  if (webhook.secret !== '') output.note('The secret is shown only once.')
  if (warning !== undefined) output.note(warning)
}

async function showWebhook(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.webhooks.get(id)
  if (output.isJson()) return output.document(found)
  const { webhook } = found
  output.fields([
    ['id', webhook.id],
    ['url', webhook.url],
    ['description', webhook.description ?? ''],
    ['events', webhook.events.join(', ')],
    ['mode', webhook.mode],
    ['format', webhook.format],
    ['status', webhook.status],
    ['disabled', webhook.disabled_reason ?? 'no'],
    ['secret', `${webhook.secret_prefix}…`],
    ['headers', webhook.headers.join(', ')],
    ['failures', String(webhook.consecutive_failures)],
    ['last success', webhook.last_success_at ?? 'never'],
    ['last failure', webhook.last_failure_at ?? 'never'],
    ['created', webhook.created_at],
  ])
}

async function showHealth(
  { io, output }: Context,
  id: string,
  { period, ...options }: HealthOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.webhooks.health(id, { period })
  if (output.isJson()) return output.document(found)
  const { health } = found
  const { attempts, succeeded, success_rate } = health
  const share = success_rate === null ? '-' : `${(success_rate * 100).toFixed(1)} %`
  output.fields([
    ['attempts', `${attempts} in ${period}`],
    ['succeeded', `${succeeded} (${share})`],
    ['p50', milliseconds(health.p50_ms)],
    ['p99', milliseconds(health.p99_ms)],
    ['first failure since success', health.failing_since ?? 'no'],
    [
      'disabled',
      health.disabled_reason ? `${health.disabled_reason} ${health.disabled_at ?? ''}` : 'no',
    ],
  ])
  if (health.failures.length === 0) return
  output.table(
    ['failed', 'event', 'answer', 'time', 'body', 'delivery'],
    health.failures.map((failure) => [
      failure.at,
      failure.event,
      failure.response_status === null ? (failure.error ?? '') : String(failure.response_status),
      milliseconds(failure.duration_ms),
      printable(failure.response_body ?? '').slice(0, BODY_SHOWN),
      failure.delivery_id,
    ]),
  )
}

function milliseconds(value: number | null): string {
  return value === null ? '-' : `${value} ms`
}

async function deleteWebhook(
  { io, output }: Context,
  id: string,
  { yes, ...options }: ConnectionOptions & { yes?: boolean },
): Promise<void> {
  if (!yes) await confirm(io, `Delete the webhook ${printable(id)}, and its deliveries?`)
  const { client } = await connect(options, io)
  const deleted = await client.webhooks.delete(id)
  if (output.isJson()) return output.document(deleted)
  output.line(deleted.message)
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
  listing(output, {
    json: () => found,
    headings: ['ID', 'TIME', 'EVENT', 'STATUS', 'TRIES', 'ANSWER', 'NEXT TRY'],
    rows: found.deliveries.map(deliveryRow),
    none: 'No deliveries.',
    paging: pagingOf(found.pagination, 'delivery', 'deliveries'),
  })
}

async function showDelivery(
  { io, output }: Context,
  id: string,
  delivery_id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.webhooks.delivery(id, delivery_id)
  if (output.isJson()) return output.document(found)
  output.row(deliveryRow(found.delivery))
  output.table(
    ['ATTEMPT', 'TIME', 'MS', 'ANSWER', 'BODY'],
    found.delivery.attempts.map((attempt) => [
      String(attempt.number),
      attempt.started_at,
      String(attempt.duration_ms),
      attempt.error ?? attempt.response_status?.toString() ?? '',
      attempt.response_body ?? '',
    ]),
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

async function recoverDeliveries(
  { io, output }: Context,
  id: string,
  { since, until, ...options }: RecoverOptions,
): Promise<void> {
  const body = {
    since: await readPast('--since', since),
    ...(until !== undefined && { until: await readPast('--until', until) }),
  }
  const { client } = await connect(options, io)
  const found = await client.webhooks.recover(id, body)
  if (output.isJson()) return output.document(found)
  output.line(`${counted(found.recovered, 'delivery', 'deliveries')} queued again`)
  if (found.has_more) output.note('There are more: run the command again.')
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
