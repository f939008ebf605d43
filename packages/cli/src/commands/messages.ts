import type { ExportedMessage, Message, ReceivedMessage, Svc } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { readOptionalPast } from '../input/time.ts'
import { createFollower, followMessages } from '../messages/follow-messages.ts'
import {
  changeLine,
  changeRow,
  changeWords,
  TIMELINE_HEADINGS,
  timelineRow,
} from '../messages/message-rows.ts'
import { failureOf, statusCell, stepsOf } from '../messages/message-steps.ts'
import { usage } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { canOpenView, openView } from '../views/open-view.ts'
import { addCancel, addErase, addReschedule } from './messages-change.ts'
import { addEstimate } from './send.ts'
import { writeExport } from './write-export.ts'

/** The line that is shown in place of messages that were not read. */
const GAP = '… too many messages at once: the oldest ones are not shown …'

interface TailOptions extends ConnectionOptions {
  interval: string
}

/** Adds `svc messages`. */
export function addMessages(program: Command, context: Context): void {
  const messages = program
    .command('messages')
    .summary('list, export, show, follow, estimate, cancel, reschedule and erase messages')
    .description(
      `Shows the messages that the API key may read, cancels and reschedules queued messages, erases messages, and estimates the
cost of a message.`,
    )
  withExamples(messages, 'svc messages list --status failed', 'svc messages tail')
  addList(messages, context)
  addExport(messages, context)
  addShow(messages, context)
  addTimeline(messages, context)
  addTail(messages, context)
  addReceived(messages, context)
  addEstimate(messages, context)
  addCancel(messages, context)
  addReschedule(messages, context)
  addErase(messages, context)
}

function addShow(messages: Command, context: Context): void {
  const show = withConnection(
    messages
      .command('show')
      .summary('show one message')
      .description('Shows one message with the times of its statuses.')
      .argument('<id>', 'the id of the message'),
  ).action((id: string, options: ConnectionOptions) => showMessage(context, id, options))
  withExamples(show, 'svc messages show 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01')
}

function addTail(messages: Command, context: Context): void {
  const tail = withConnection(
    messages
      .command('tail')
      .summary('follow new messages and status changes')
      .description(
        `Prints a line for every new message and every change of a status until Ctrl-C; with --json, each line is one
JSON document. On a terminal, keys filter and pause the list, and open the timeline of a message. The server reports
changes as they happen; a message that waits in the queue appears within ten seconds.`,
      )
      .option(
        '--interval <seconds>',
        'the minimum time between two requests while messages change, 0.1 to 60',
        '2',
      ),
  ).action((options: TailOptions) => tailMessages(context, options))
  withExamples(tail, 'svc messages tail', 'svc messages tail --json | jq -r .status')
}

async function showMessage(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const { message } = await client.messages.get(id)
  if (output.isJson()) return output.document({ message })
  const { segments, encoding } = message
  const optional = (value: string | null): Cell | null => value
  output.fields([
    ['id', message.id],
    ['status', statusCell(message.status)],
    ['error', optional(failureOf(message))],
    ['channel', message.channel],
    ['recipient', message.recipient],
    ['content', JSON.stringify(message.content)],
    ['credits', String(message.credits_used)],
    ['refunded', message.credits_refunded === 0 ? null : String(message.credits_refunded)],
    ['segments', segments === null ? null : `${segments} (${encoding})`],
    ['metadata', JSON.stringify(message.metadata)],
    ['provider', optional(message.provider)],
    ['provider id', optional(message.provider_message_id)],
    ['mode', message.livemode ? 'live' : 'test'],
    ['scheduled', optional(message.scheduled_at)],
    ['quiet hours until', message.deferred_until ?? null],
    ...stepsOf(message).map(({ status, at }): [string, Cell] => [status, at.toISOString()]),
  ])
}

async function tailMessages(
  context: Context,
  { interval, ...options }: TailOptions,
): Promise<void> {
  const { io, output } = context
  const interval_ms = Number(interval) * 1000
  if (!(interval_ms >= 100 && interval_ms <= 60_000)) {
    throw usage('--interval must be 0.1 to 60 seconds')
  }
  const server = await connect(options, io)
  if (canOpenView(context)) return viewMessages(context, server, interval_ms)
  const { client, base_url } = server
  const signal = stopSignalOf(io)
  await followMessages(
    createFollower(client, signal, () => output.note(GAP)),
    {
      interval_ms,
      signal,
      onReady: () => output.note(`Following the messages of ${base_url}. Stop with Ctrl-C.`),
      onChange(change) {
        if (!output.isJson()) return output.row(changeRow(change, { padded: output.isTerminal }))
        const { message, status, at } = change
        output.document({ status, at: at.toISOString(), message: message })
      },
      onOutage: (isOut) =>
        output.note(isOut ? `${base_url} cannot be reached; waiting…` : 'The server is back.'),
    },
  )
}

/** Shows the messages in an interactive view. */
async function viewMessages(
  context: Context,
  { client, base_url }: { client: Svc; base_url: string },
  interval_ms: number,
): Promise<void> {
  const { style } = context.output
  await openView(context, {
    screen: 'inline',
    async load() {
      const [{ lineLog }, { tableLines }] = await Promise.all([
        import('../views/line-log.tsx'),
        import('../views/table-lines.ts'),
      ])
      return lineLog({
        title: base_url,
        style,
        async open(id, columns) {
          const { timeline } = await client.messages.timeline(id)
          const rows = timeline.map((entry) => timelineRow(entry))
          return [style('bold', id), ...tableLines(TIMELINE_HEADINGS, rows, columns, style)]
        },
        follow: (sink, signal) => {
          const onGap = () => sink.add({ words: GAP, line: () => style('yellow', GAP) })
          return followMessages(createFollower(client, signal, onGap), {
            interval_ms,
            signal,
            onReady: () => sink.trouble(null),
            onChange: (change) =>
              sink.add({
                id: change.message.id,
                words: changeWords(change),
                line: (columns) => changeLine(change, columns, style),
              }),
            onOutage: (isOut) => sink.trouble(isOut ? 'server cannot be reached; waiting' : null),
          })
        },
      })
    },
  })
}

/** Adds `svc messages timeline`. */
function addTimeline(messages: Command, context: Context): void {
  const timeline = withConnection(
    messages
      .command('timeline')
      .summary('show the history of a message')
      .description(
        `Shows the history of a message, oldest first: changes of its status, attempts to send it, credits, and webhook
deliveries.`,
      )
      .argument('<id>', 'the id of the message'),
  ).action((id: string, options: ConnectionOptions) => showTimeline(context, id, options))
  withExamples(
    timeline,
    'svc messages timeline 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
    'svc messages timeline 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --json | jq -c ".timeline[]"',
  )
}

async function showTimeline(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.messages.timeline(id)
  if (output.isJson()) return output.document(found)
  output.table(
    TIMELINE_HEADINGS,
    found.timeline.map((entry) => timelineRow(entry)),
    { exact: true },
  )
}

interface Filters {
  status?: 'queued' | 'sent' | 'delivered' | 'failed' | 'canceled'
  channel?: Message['channel']
  recipient?: string
  bulkId?: string
  since?: string
  until?: string
}

interface ListOptions extends ConnectionOptions, PageOptions, Filters {
  cursor?: string
}

/** Adds `svc messages list`. */
function addList(messages: Command, context: Context): void {
  const list = withConnection(
    withPage(
      withFilters(
        messages
          .command('list')
          .summary('list messages, newest first')
          .description('Lists messages, newest first.'),
      ).option('--cursor <cursor>', 'the next page: the next_cursor of the --json output'),
    ),
  ).action((options: ListOptions) => listMessages(context, options))
  withExamples(
    list,
    'svc messages list --status failed --limit 10',
    'svc messages list --since 2h --channel sms',
    'svc messages list --json | jq -r ".messages[].id"',
  )
}

function withFilters(command: Command): Command {
  return command
    .addOption(
      new Option('--status <status>', 'only messages with this status').choices([
        'queued',
        'sent',
        'delivered',
        'failed',
        'canceled',
      ]),
    )
    .addOption(
      new Option('--channel <channel>', 'only messages on this channel').choices([
        'sms',
        'whatsapp',
        'email',
        'voice',
      ]),
    )
    .option('--recipient <recipient>', 'only messages to this number or address')
    .option('--bulk-id <id>', 'only messages of this bulk')
    .option('--since <time>', 'created at or after: ISO 8601, or a duration before now such as 2h')
    .option('--until <time>', 'created at or before, in the same form')
}

async function filterOf({ status, channel, recipient, bulkId, since, until }: Filters) {
  const startDate = await readOptionalPast('--since', since)
  const endDate = await readOptionalPast('--until', until)
  return { status, channel, recipient, bulk_id: bulkId, startDate, endDate }
}

/** Adds `svc messages export`. */
function addExport(messages: Command, context: Context): void {
  const command = withConnection(
    withFilters(
      messages
        .command('export')
        .summary('export messages to a file')
        .description(
          'Exports messages to a file or to stdout, newest first, while they are read. In CSV, the text of a content longer than 32 KB is empty.',
        )
        .argument('[file]', 'the file (default: stdout)'),
    ).addOption(new Option('--format <format>', 'the format of the file').choices(['csv', 'json'])),
  ).action((file: string | undefined, options: ConnectionOptions & Filters & { format?: string }) =>
    exportMessages(context, file, options),
  )
  withExamples(
    command,
    'svc messages export failed.csv --status failed --since 720h',
    'svc messages export --format json | jq -r ".messages[].recipient"',
  )
}

/** The messages of one request: with contents of 1 KB, 2 MB are in memory. */
const EXPORT_ROWS = 2_000

async function exportMessages(
  context: Context,
  file: string | undefined,
  {
    format = context.output.isJson() ? 'json' : 'csv',
    ...options
  }: ConnectionOptions & Filters & { format?: string },
): Promise<void> {
  const filter = await filterOf(options)
  const { client } = await connect(options, context.io)
  const { MESSAGES_CSV_HEADER: header, writeMessagesCsv } = await import('@svc/core/operate')
  const { exportedMessage } = await import('@svc/core/contract')
  await writeExport<ExportedMessage>(context, {
    file,
    name: 'messages',
    csv:
      format === 'csv'
        ? {
            header,
            linesOf: (rows) => writeMessagesCsv(rows.map((row) => exportedMessage.decode(row))),
          }
        : null,
    async pageAfter(after) {
      const page = { ...filter, limit: EXPORT_ROWS, ...(after && { after }) }
      const { messages: rows, next_after } = await client.messages.export(page)
      return { rows, next_after }
    },
  })
}

async function listMessages(
  { io, output }: Context,
  { page, limit, cursor, ...options }: ListOptions,
): Promise<void> {
  const filter = await filterOf(options)
  const { client } = await connect(options, io)
  const found = await client.messages.list({ ...filter, ...pageOf({ page, limit }), cursor })
  listing(output, {
    json: () => found,
    headings: ['TIME', 'CHANNEL', 'RECIPIENT', 'STATUS', 'ID', 'ERROR'],
    rows: found.messages.map((message) => [
      message.created_at,
      message.channel,
      message.recipient,
      statusCell(message.status),
      message.id,
      message.error_code ?? '',
    ]),
    none: 'No messages.',
    // A cursor has no page number.
    paging: {
      ...pagingOf(found.pagination, 'message'),
      ...(cursor !== undefined && { more: null }),
    },
  })
}

interface ReceivedOptions extends ConnectionOptions, PageOptions {
  channel?: ReceivedMessage['channel']
  sender?: string
  since?: string
  until?: string
}

/** Adds `svc messages received`. */
function addReceived(messages: Command, context: Context): void {
  const received = withConnection(
    withPage(
      messages
        .command('received')
        .summary('list messages from recipients, newest first')
        .description('Lists the messages that recipients sent to the service, newest first.')
        .addOption(
          new Option('--channel <channel>', 'only messages on this channel').choices([
            'sms',
            'whatsapp',
            'email',
            'voice',
          ]),
        )
        .option('--sender <sender>', 'only messages from this number or address')
        .option(
          '--since <time>',
          'received at or after: ISO 8601, or a duration before now such as 2h',
        )
        .option('--until <time>', 'received at or before, in the same form'),
    ),
  ).action((options: ReceivedOptions) => listReceived(context, options))
  withExamples(
    received,
    'svc messages received --since 2h',
    'svc messages received --sender +14155552671 --json | jq -r ".received[].content.text"',
  )
}

async function listReceived(
  { io, output }: Context,
  { channel, sender, since, until, page, limit, ...options }: ReceivedOptions,
): Promise<void> {
  const startDate = await readOptionalPast('--since', since)
  const endDate = await readOptionalPast('--until', until)
  const { client } = await connect(options, io)
  const found = await client.received.list({
    channel,
    sender,
    startDate,
    endDate,
    ...pageOf({ page, limit }),
  })
  listing(output, {
    json: () => found,
    headings: ['TIME', 'CHANNEL', 'SENDER', 'RECIPIENT', 'KEYWORD', 'CONTENT'],
    rows: found.received.map((one) => [
      one.created_at,
      one.channel,
      one.sender,
      one.recipient,
      one.keyword ?? '',
      contentOf(one),
    ]),
    none: 'No messages.',
    paging: pagingOf(found.pagination, 'message'),
  })
}

/** The text and the number of media in one line. */
function contentOf({ content: { text, media } }: ReceivedMessage): string {
  const parts = text === null ? [] : [JSON.stringify(text)]
  if (media.length > 0) parts.push(`(${media.length} media)`)
  return parts.join(' ')
}
