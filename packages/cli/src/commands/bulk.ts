import { resolve } from 'node:path'
import type { Svc } from '@svc/client'
import { type Command, Option } from 'commander'
import { type BulkMessageOptions, withBulkMessage } from '../bulk/bulk-message.ts'
import type { ProgressStore } from '../bulk/progress.ts'
import type { Run, SendSettings } from '../bulk/run.ts'
import {
  type ConnectionOptions,
  connect,
  findTarget,
  withConnection,
} from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { durationMs } from '../input/time.ts'
import { Failure, usage } from '../process/failure.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { counted, printable } from '../show/text.ts'

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Adds `svc bulk`. */
export function addBulk(program: Command, context: Context): void {
  const bulk = program
    .command('bulk')
    .summary('send to all rows of a CSV file; show, pause, cancel and retry bulks')
    .description(
      'Sends a message to each row of a CSV file. Each request of a run is a separate bulk, whose id is in the result file.',
    )
  withExamples(
    bulk,
    'svc bulk send people.csv --channel sms --text "Hi {{name}}, order {{order_id}} is ready"',
    `svc bulk show ${ID}`,
  )
  addBulkSend(bulk, context)
  addOne(bulk, context, {
    name: 'show',
    summary: 'show a bulk and its progress',
    description: 'Shows a bulk, with the number of its messages by status.',
    question: null,
    run: showBulk,
  })
  addRejected(bulk, context)
  addOne(bulk, context, {
    name: 'pause',
    summary: 'pause a bulk',
    description:
      'Pauses a bulk: its messages that no worker has begun to send stay queued and paid until svc bulk resume. Messages in flight are sent.',
    question: null,
    run: (context, id, options) => changePause(context, 'pause', id, options),
  })
  addOne(bulk, context, {
    name: 'resume',
    summary: 'continue a paused bulk',
    description:
      'Continues a paused bulk. Its held messages go at once, except in quiet hours. A canceled bulk cannot be resumed.',
    question: null,
    run: (context, id, options) => changePause(context, 'resume', id, options),
  })
  addOne(bulk, context, {
    name: 'cancel',
    summary: 'cancel the queued messages of a bulk',
    description:
      'Cancels the queued messages of a bulk, after a confirmation: they fail, and their credits are refunded.',
    question: (id) => `Cancel the queued messages of bulk ${id}?`,
    run: cancelBulk,
  })
  addOne(bulk, context, {
    name: 'retry',
    summary: 'send the failed messages of a bulk again',
    description: `Sends messages of a bulk again as a new bulk, after a confirmation: the messages that failed before a
provider accepted them. Each is charged again. A bulk can be retried only once, and only when none of its messages is queued.`,
    question: (id) => `Send the failed messages of bulk ${id} again, and pay for them again?`,
    run: retryBulk,
  })
}

/** A command about one bulk. */
interface OneBulk {
  name: string
  summary: string
  description: string
  /** The question that the command asks without `--yes`; null if it asks no question. */
  question: ((id: string) => string) | null
  run(context: Context, id: string, options: ConnectionOptions): Promise<void>
}

function addOne(
  bulk: Command,
  context: Context,
  { name, summary, description, question, run }: OneBulk,
): void {
  const command = withConnection(
    bulk
      .command(name)
      .summary(summary)
      .description(description)
      .argument('<bulk_id>', 'the id of the bulk'),
  ).action(async (id: string, { yes, ...options }: ConnectionOptions & { yes?: boolean }) => {
    if (question && !yes) await confirm(context.io, question(printable(id)))
    await run(context, id, options)
  })
  if (question) command.option('--yes', 'do not ask')
  withExamples(command, `svc bulk ${name} ${ID}${question ? ' --yes' : ''}`)
}

async function showBulk(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.bulks.get(id)
  if (output.isJson()) return output.document(found)
  const { bulk } = found
  output.fields([
    ['id', bulk.id],
    ['status', bulk.status],
    ['paused', bulk.paused_at && `since ${bulk.paused_at}`],
    ['channel', bulk.channel],
    ['mode', bulk.livemode ? 'live' : 'test'],
    ['accepted', `${bulk.accepted} of ${bulk.total}`],
    ['rejected', String(bulk.rejected)],
    ['duplicates', String(bulk.duplicates)],
    ...Object.entries(bulk.counts).map(([status, count]): [string, Cell] => [
      status,
      String(count),
    ]),
    ['credits', String(bulk.credits_used)],
    ['refunded', String(bulk.credits_refunded)],
    ['created', bulk.created_at],
  ])
}

function addRejected(bulk: Command, context: Context): void {
  const rejected = withConnection(
    withPage(
      bulk
        .command('rejected')
        .summary('list the rejected recipients of a bulk')
        .description(
          'Lists the recipients of a bulk that got no message, in the order of the request, with the reasons. INDEX counts from 0.',
        )
        .argument('<bulk_id>', 'the id of the bulk'),
    ),
  ).action((id: string, options: ConnectionOptions & PageOptions) =>
    listRejected(context, id, options),
  )
  withExamples(
    rejected,
    `svc bulk rejected ${ID}`,
    `svc bulk rejected ${ID} --limit 100 --json | jq -r ".rejected[].to"`,
  )
}

async function listRejected(
  { io, output }: Context,
  id: string,
  { page, limit, ...options }: ConnectionOptions & PageOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.bulks.rejected(id, pageOf({ page, limit }))
  const { rejected, is_stored, pagination } = found
  listing(output, {
    json: () => found,
    headings: ['INDEX', 'TO', 'ERROR', 'MESSAGE'],
    rows: rejected.map(({ index, to, error, message }) => [
      String(index),
      to ?? '',
      error,
      message,
    ]),
    // A list that is not stored is empty.
    none: is_stored
      ? 'No rejected recipients.'
      : 'The rejected recipients are not stored: an earlier version accepted the bulk, or retention removed them.',
    paging: pagingOf(pagination, 'recipient'),
  })
}

async function changePause(
  { io, output }: Context,
  change: 'pause' | 'resume',
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const changed = await client.bulks[change](id)
  if (output.isJson()) return output.document(changed)
  const { bulk } = changed
  const queued = counted(bulk.counts.queued, 'message')
  output.row([bulk.paused_at ? 'paused' : bulk.status, bulk.id, `${queued} queued`])
}

async function cancelBulk(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.bulks.cancel(id)
  if (output.isJson()) return output.document(found)
  const { canceled, bulk } = found
  output.line(`${canceled} of ${counted(bulk.accepted, 'message')} canceled`)
}

async function retryBulk(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const sent = await client.bulks.retry(id)
  const { bulk_id, total, accepted, rejected, credits_used, errors } = sent
  if (output.isJson()) output.document(sent)
  else {
    for (const { to, error, message } of errors) output.row([to ?? '', error, message])
    output.row([
      'queued',
      bulk_id,
      `${accepted} of ${total}`,
      counted(String(credits_used), 'credit'),
    ])
  }
  if (rejected > 0) throw new Failure('rejected', `${rejected} of ${total} were rejected`)
}

/** The largest limit that an operator can set for a bulk. */
const BATCH_MAX = 10_000

interface Options extends ConnectionOptions, BulkMessageOptions {
  defaultCountry?: string
  dryRun?: boolean
  strict?: boolean
  yes?: boolean
  restart?: boolean
  results?: string
  batch: string
  patience: string
  unanswered?: 'send' | 'skip'
}

/** Adds `svc bulk send`. */
function addBulkSend(bulk: Command, context: Context): void {
  const command = withConnection(
    withBulkMessage(
      bulk
        .command('send')
        .summary('send a message to each row of a CSV file')
        .description(
          `Sends one message for each row of a CSV file. The address is in the column "to", else in a column whose heading means
a phone number or an e-mail address ("phone", "Mobile", "E-Mail-Adresse", …); the column "contact_id" names a contact instead. The column "name" and all other columns fill {{placeholders}}; columns
whose names begin with "metadata." become metadata. A result file records the result of each row: after a crash, an
outage or Ctrl-C the same command continues, and sends nothing twice.`,
        )
        .argument('<file>', 'CSV or tab-separated text with a header row; - for stdin'),
    ),
  )
    .option(
      '--default-country <code>',
      'the country (ISO 3166-1) of phone numbers without a country code, such as DE',
    )
    .option('--dry-run', 'send nothing: show the cost and the rejected rows')
    .option('--strict', 'check all rows first, and send nothing if a row would be rejected')
    .option('--yes', 'do not show the cost and do not ask before sending')
    .option('--results <file>', 'the result file (default: <file>.results.jsonl)')
    .option('--restart', 'rename the result file and send all rows again')
    .option('--batch <n>', `rows in one request, 1 to ${BATCH_MAX}`, '1000')
    .option('--patience <duration>', 'the longest outage of the server to wait for', '5m')
    .addOption(
      new Option(
        '--unanswered <what>',
        'the choice for a batch whose answer was lost more than 24 hours ago',
      ).choices(['send', 'skip']),
    )
    .action((file: string, options: Options) => send(context, file, options))
  withExamples(
    command,
    'svc bulk send people.csv --channel sms --text "Hi {{name|there}}, order {{order_id}} is ready" --dry-run',
    'svc bulk send people.csv --channel sms --text "Hi {{name|there}}, order {{order_id}} is ready"',
    'svc bulk send people.csv --channel email --subject "Order {{order_id}}" --html "<p>It is ready.</p>" --yes',
    'svc bulk send people.csv --channel whatsapp --content template.json --defaults name=there --json --yes',
  )
}

async function send(context: Context, file: string, options: Options): Promise<void> {
  const { io } = context
  const settings = settingsOf(file, options)
  const target = await findTarget(options, io)
  const { client } = await connect(options, io)
  const run = await openRun(context, { file, options, settings, target, client })
  try {
    const { checkOnly, sendAll } = await import('../bulk/run.ts')
    await (options.dryRun ? checkOnly(run) : sendAll(run))
  } finally {
    await run.input.close()
  }
}

function settingsOf(file: string, options: Options): SendSettings {
  const batch = Number(options.batch)
  if (!Number.isInteger(batch) || batch < 1 || batch > BATCH_MAX) {
    throw usage(`--batch must be 1 to ${BATCH_MAX}`)
  }
  const outage_ms = durationMs(options.patience)
  if (outage_ms === null) throw usage('--patience must be a duration such as 30s or 5m')
  const { dryRun, strict = false, yes = false, restart = false, results, unanswered } = options
  if (file === '-' && results === undefined && !dryRun) {
    throw usage('the rows come from stdin: set the result file with --results')
  }
  return {
    batch,
    outage_ms,
    strict,
    yes,
    restart,
    unanswered,
    results: results ?? `${file}.results.jsonl`,
  }
}

async function openRun(
  context: Context,
  {
    file,
    options,
    settings,
    target,
    client,
  }: {
    file: string
    options: Options
    settings: SendSettings
    target: Run['target']
    client: Svc
  },
): Promise<Run> {
  const { io } = context
  const [{ limitsOf, readBulkMessage }, { columnsOf }, { openInputFile }, { showProgress }] =
    await Promise.all([
      import('../bulk/bulk-message.ts'),
      import('../bulk/columns.ts'),
      import('../bulk/input-file.ts'),
      import('../views/bulk-progress.ts'),
    ])
  const message = await readBulkMessage(options, io, { isStdinTaken: file === '-' })
  const { channel, content } = message.request
  const { toColumn: to_column, defaultCountry: country } = options
  const input = await openInputFile(file, io, (header, name) =>
    columnsOf(header, { file: name, channel, content, to_column, country }),
  )
  const { faults } = input
  if (faults) {
    const rows = counted(faults.count, 'row has', 'rows have')
    context.output.note(
      `${input.name}: ${rows} a phone number that cannot be read; ${faults.first.replace('set default_country', 'set --default-country')}`,
    )
  }
  const path = resolve(io.cwd, settings.results)
  const limits = limitsOf(message, settings.batch)
  const show = (progress: ProgressStore) => showProgress(context, progress)
  return { context, input, message, limits, client, target, settings, path, showProgress: show }
}
