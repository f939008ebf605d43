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
import { durationMs } from '../input/time.ts'
import { usage } from '../process/failure.ts'
import { counted } from '../show/counted.ts'

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
export function addBulkSend(bulk: Command, context: Context): void {
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
