import type {
  DetachedPartitions,
  DetachStep,
  Partition,
  PartitionStep,
  TablePartitions,
} from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { usage } from '../process/failure.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'

interface PartitionsOptions {
  database?: string
  months?: string
  dryRun?: boolean
  yes?: boolean
}

const MONTHS_DEFAULT = 3
const MONTHS_MAX = 24

const ADVICE = {
  behind: 'run svc migrate first',
  newer: 'use that version',
  not_partitioned: 'run svc partitions enable first',
  in_use: 'run the command again later',
}

const DETACH_STEPS: Record<DetachStep['step'], string> = {
  check: 'compares the messages with the ledger',
  bulks: 'moves the bulks',
  later: 'moves deliveries of later months',
  bound: 'reads the rows once, while servers write',
  months: 'changes the histories and the totals',
  rest: 'moves parts, files and totals',
}

const STEPS: Record<PartitionStep['step'], string> = {
  bound: 'adds a bound for the rows that exist',
  validate: 'reads the rows once, while servers write',
  attach: 'makes the table a partition',
  months: 'adds the next months',
}

/** Adds `svc partitions` with its commands. */
export function addPartitions(program: Command, context: Context): void {
  const group = program
    .command('partitions')
    .summary('divide the history of a PostgreSQL database by month')
    .description(
      `Messages, attempts, events and deliveries of each month in tables of their own, so that the space of an old month comes back at
once when all its rows are removed. PostgreSQL only; on SQLite, SVC_HISTORY_DAYS removes old history and svc compact shrinks the file. Run these commands as the role that owns the tables.`,
    )
  withExamples(group, 'svc partitions enable', 'svc partitions status')
  addStatus(group, context)
  addEnable(group, context)
  addAdd(group, context)
  addDetach(group, context)
  addAttach(group, context)
}

function addStatus(group: Command, context: Context): void {
  const command = withDatabase(
    group
      .command('status')
      .summary('list the partitions, with rows and sizes')
      .description(
        'Lists the partitions of each history, oldest first. The numbers of rows are approximate.',
      ),
  ).action((options: PartitionsOptions) => status(context, options))
  withExamples(command, 'svc partitions status', 'svc partitions status --json')
}

function addEnable(group: Command, context: Context): void {
  const command = withMonths(
    withDatabase(
      group
        .command('enable')
        .summary('partition the history by month, while servers run')
        .description(
          `Partitions each history; servers go on. The table becomes the first partition, with everything until the end of the next month, and
no row is copied. The rows are read once; a write waits for at most some seconds. A command that was stopped continues the next time.`,
        ),
    ),
  ).action((options: PartitionsOptions) => enable(context, options))
  withExamples(command, 'svc partitions enable', 'svc partitions enable --months 6')
}

function addAdd(group: Command, context: Context): void {
  const command = withMonths(
    withDatabase(
      group
        .command('add')
        .summary('add the partitions of the next months now')
        .description(
          `Adds the missing partitions. A server does so by itself (SVC_PARTITIONS_AHEAD) if its role owns the tables. Without a partition
for their month, rows go to the default partition; this command then makes it the partition of their months.`,
        ),
    ),
  ).action((options: PartitionsOptions) => add(context, options))
  withExamples(command, 'svc partitions add', 'svc partitions add --months 12')
}

function addDetach(group: Command, context: Context): void {
  const command = withConsent(
    withDatabase(
      group
        .command('detach')
        .summary('take the oldest month out of the service, and keep its tables')
        .description(
          `Takes the oldest month out of lists, totals and webhooks, while servers run, and keeps its tables in the schema
svc_detached_<month>. All its messages must be finished and unchanged for 7 days. The ledger stays, so balances do not change and svc
ledger verify succeeds.

SVC_RETENTION_DAYS, SVC_HISTORY_DAYS and svc recipients erase still apply to a detached month: when it is older than SVC_HISTORY_DAYS, it is
removed. svc export does not contain it; pg_dump does. Attach it before an upgrade that changes its tables. A command that was stopped
continues the next time. With the name of a month whose attachment was interrupted before its messages were back, it undoes the attachment.`,
        )
        .argument('[month]', 'such as 2027-01, or first; it must be the oldest month, the default'),
    ),
  ).action((month: string | undefined, options: PartitionsOptions) =>
    detach(context, month, options),
  )
  withExamples(command, 'svc partitions detach --dry-run', 'svc partitions detach 2027-01 --yes')
}

function addAttach(group: Command, context: Context): void {
  const command = withConsent(
    withDatabase(
      group
        .command('attach')
        .summary('bring a detached month back')
        .description(
          `Brings the newest detached month back into lists and totals, while servers run. Its messages are first compared with the ledger: after
SVC_LEDGER_DAYS its entries are folded, and it cannot come back. Positions in the log of events do not come back, so a program that
reads events does not get those of the month again. A command that was stopped continues the next time.`,
        )
        .argument('<month>', 'such as 2027-01, or first'),
    ),
  ).action((month: string, options: PartitionsOptions) => attach(context, month, options))
  withExamples(command, 'svc partitions attach 2027-01 --yes')
}

function withConsent(command: Command): Command {
  return command
    .option('--dry-run', 'only show whether it can be done')
    .option('--yes', 'do not ask')
}

function withMonths(command: Command): Command {
  return command.option(
    '--months <n>',
    `the months after the current one that have a partition afterwards (default: SVC_PARTITIONS_AHEAD, or ${MONTHS_DEFAULT})`,
  )
}

async function status({ io, output }: Context, { database }: PartitionsOptions): Promise<void> {
  const { inspectDetached, inspectPartitions } = await import('@svc/core/operate')
  const url = databaseUrl(io, database)
  const tables = await advised(inspectPartitions(url))
  const detached = await advised(inspectDetached(url))
  if (output.isJson()) return output.document({ tables, detached })
  output.table(
    ['TABLE', 'PARTITION', 'FROM', 'UNTIL', 'ROWS', 'MB'],
    tables.flatMap(({ table, partitions }) =>
      partitions.length === 0
        ? [[table, 'not partitioned', '', '', '', '']]
        : partitions.map((each) => [table, each.name, ...cellsOf(each)]),
    ),
  )
  for (const text of warningsOf(tables)) output.line(output.style('yellow', text))
  for (const each of detached) output.line(detachedText(each))
}

function detachedText({ month, schema, step, messages, bytes }: DetachedPartitions): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB in the schema ${schema}`
  if (step === 'detached') {
    return `${month} is detached: ${messages.toLocaleString('en')} messages, ${size}`
  }
  const isBack = step === 'attaching' || step === 'returning'
  const [noun, command] = isBack ? ['attachment', 'attach'] : ['detachment', 'detach']
  return `the ${noun} of ${month} runs now or was interrupted: run svc partitions ${command} ${month} to continue it; ${size}`
}

function cellsOf({ from, until, rows, bytes }: Partition): string[] {
  const day = (at: Date | null) => at?.toISOString().slice(0, 10) ?? ''
  return [day(from), day(until), Math.round(rows).toLocaleString('en'), (bytes / 1e6).toFixed(1)]
}

function warningsOf(tables: readonly TablePartitions[]): string[] {
  return tables.flatMap(({ table, default_rows, bound }) => [
    ...(default_rows > 0
      ? [`${default_rows} rows of ${table} are in the default partition: run svc partitions add`]
      : []),
    ...(bound
      ? [`a change of ${bound.holder} was interrupted: run svc partitions enable again`]
      : []),
  ])
}

async function enable({ io, output }: Context, options: PartitionsOptions): Promise<void> {
  const { enablePartitions, inspectPartitions } = await import('@svc/core/operate')
  const url = databaseUrl(io, options.database)
  const told = output.isJson() ? () => {} : (text: string) => output.line(text)
  await advised(
    enablePartitions(url, {
      now: new Date(),
      ahead: monthsOf(io.env, options),
      log: { info: (_: object, text: string) => output.note(text) },
      onStep: ({ table, step, rows }) =>
        told(
          `${table}: ${STEPS[step]}${step === 'validate' ? `, about ${Math.round(rows).toLocaleString('en')}` : ''}…`,
        ),
    }),
  )
  const tables = await advised(inspectPartitions(url))
  if (output.isJson()) return output.document({ tables })
  output.line(`${output.style('green', '✓')} ${tables.length} histories are partitioned by month.`)
}

async function add({ io, output }: Context, options: PartitionsOptions): Promise<void> {
  const { addPartitions } = await import('@svc/core/operate')
  const added = await advised(
    addPartitions(databaseUrl(io, options.database), {
      now: new Date(),
      ahead: monthsOf(io.env, options),
      log: { info: (_: object, text: string) => output.note(text) },
    }),
  )
  if (output.isJson()) return output.document({ added })
  for (const name of added) output.line(`${output.style('green', '✓')} ${name}`)
  if (added.length === 0) output.line('Every month has its partitions.')
}

async function detach(
  { io, output }: Context,
  month: string | undefined,
  options: PartitionsOptions,
): Promise<void> {
  const { detachPartitions } = await import('@svc/core/operate')
  const url = databaseUrl(io, options.database)
  const wanted = { month: month === undefined ? undefined : readMonth(month), now: new Date() }
  const found = await advised(detachPartitions(url, { ...wanted, dry_run: true }))
  if (options.dryRun && output.isJson()) return output.document(found)
  const what = `${found.month} with ${found.messages.toLocaleString('en')} messages`
  if (options.dryRun) return output.line(`${what} can be detached.`)
  if (!options.yes) await confirm(io, `Detach ${what}?`)
  const done = await advised(
    detachPartitions(url, { ...wanted, month: found.month, ...progressOf({ output }) }),
  )
  if (output.isJson()) return output.document(done)
  output.line(`${output.style('green', '✓')} ${what} is detached.`)
}

async function attach(
  { io, output }: Context,
  month: string,
  options: PartitionsOptions,
): Promise<void> {
  const { attachPartitions } = await import('@svc/core/operate')
  const url = databaseUrl(io, options.database)
  const wanted = { month: readMonth(month), now: new Date() }
  const found = await advised(attachPartitions(url, { ...wanted, dry_run: true }))
  if (options.dryRun && output.isJson()) return output.document(found)
  const what = `${found.month} with ${found.messages.toLocaleString('en')} messages`
  if (options.dryRun) return output.line(`${what} can be attached.`)
  if (!options.yes) await confirm(io, `Attach ${what}?`)
  const done = await advised(attachPartitions(url, { ...wanted, ...progressOf({ output }) }))
  if (output.isJson()) return output.document(done)
  output.line(`${output.style('green', '✓')} ${what} is attached.`)
}

/** Lines for the steps, each only once in a row. */
function progressOf({ output }: Pick<Context, 'output'>) {
  let last: DetachStep['step'] | null = null
  return {
    log: { info: (_: object, text: string) => output.note(text) },
    onStep({ step, month }: DetachStep) {
      if (step !== last && !output.isJson()) output.line(`${month}: ${DETACH_STEPS[step]}…`)
      last = step
    },
  }
}

function readMonth(text: string): string {
  if (text === 'first' || /^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return text
  throw usage(`"${text}" is not a month such as 2027-01, or first`)
}

function monthsOf(env: NodeJS.ProcessEnv, { months }: PartitionsOptions): number {
  const text = months ?? (env.SVC_PARTITIONS_AHEAD?.trim() || String(MONTHS_DEFAULT))
  const count = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= MONTHS_MAX) return count
  throw usage(`--months must be a whole number from 1 to ${MONTHS_MAX}, got "${text}"`)
}

async function advised<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw withAdvice(error, ADVICE)
  })
}
