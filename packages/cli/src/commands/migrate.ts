import type { MigrationPlan, PlannedMigration, TableWork } from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { Failure, usage } from '../process/failure.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'

interface MigrateOptions {
  database?: string
  status?: boolean
  check?: boolean
  force?: boolean
}

/** Adds `svc migrate`. */
export function addMigrate(program: Command, context: Context): void {
  const command = withDatabase(
    program
      .command('migrate')
      .summary("migrate the database to this program's schema")
      .description(
        `Migrates the database to this program's schema and lists the migrations that ran. svc serve does this at its start; use this
command where servers have no permission to create tables. A migration that is stopped continues the next time.

--check changes nothing: it lists the missing migrations, whether servers of the version before can run meanwhile, and how
long large tables take. It exits with 0 if they can or nothing is missing, and with 4 if all servers must be stopped first.
--status changes nothing, and exits with 1 if the database does not have this program's schema.`,
      ),
  )
    .option('--check', 'only show what the missing migrations do and need')
    .option('--status', 'only list the applied and the missing migrations')
    .option(
      '--force',
      'run migrations that servers of older versions do not survive beside such servers',
    )
    .action((options: MigrateOptions) => migrate(context, options))
  withExamples(
    command,
    'svc migrate --check',
    'svc migrate --status',
    'svc migrate --database postgres://owner@db.example/svc',
  )
}

async function migrate(context: Context, options: MigrateOptions): Promise<void> {
  const { status, check, force } = options
  if (status && check) throw usage('--status and --check cannot be used together')
  if (force && (status || check)) throw usage('--force is only for a migration')
  const url = databaseUrl(context.io, options.database)
  if (check) return showPlan(context, url)
  if (status) return showStatus(context, url)
  const { output } = context
  const { migrateDatabase } = await import('@svc/core/operate')
  const note = (_: object, text: string) => output.note(text)
  const applied = await migrateDatabase(url, { log: { info: note, warn: note }, force }).catch(
    (error) => {
      throw withAdvice(error, { in_use: 'stop it first' })
    },
  )
  if (output.isJson()) return output.document({ applied })
  for (const name of applied) output.line(`${output.style('green', '✓')} ${name}`)
  if (applied.length === 0) output.line("The database has this program's schema.")
}

async function showPlan({ output }: Context, url: string): Promise<void> {
  const { planMigrations } = await import('@svc/core/operate')
  const plan = await planMigrations(url)
  if (output.isJson()) output.document(plan)
  else {
    output.table(
      ['MIGRATION', 'OLDER SERVERS', 'DOES', 'TABLES'],
      plan.pending.map((each) => [
        each.name,
        each.older_servers === 'may_run' ? 'may run' : { text: 'must stop', style: 'yellow' },
        each.does,
        each.tables.map(workText).join('; '),
      ]),
    )
  }
  if (plan.is_newer) throw newer()
  const breaking = plan.pending.filter(({ older_servers }) => older_servers === 'must_stop')
  if (plan.needs_stop) throw new Failure('stop_needed', stopText(plan, breaking), 4)
  if (output.isJson()) return
  output.line(
    plan.pending.length === 0
      ? "The database has this program's schema."
      : 'Servers of the version before may run during these migrations and after them.',
  )
}

function stopText(
  { older_sessions }: MigrationPlan,
  breaking: readonly PlannedMigration[],
): string {
  const names = breaking.map(({ name }) => name).join(', ')
  const running =
    older_sessions > 0
      ? 'servers are connected now'
      : 'no server of an older version is connected now'
  return `stop all servers before the upgrade, because older servers do not survive ${names}; ${running}`
}

const WORK: Record<TableWork['work'], string> = {
  index: 'an index',
  read: 'reads it',
  rewrite: 'writes it again',
}

function workText({ table, rows, work, blocks, estimate_s }: TableWork): string {
  const about = `about ${rows.toLocaleString('en')} rows, ${estimate_s} s`
  const blocked = blocks === 'everything' ? 'reads and writes wait' : `${blocks} wait`
  return `${table}: ${WORK[work]}, ${about}, ${blocks === 'nothing' ? 'nothing waits' : blocked}`
}

async function showStatus({ output }: Context, url: string): Promise<void> {
  const { migrationStatus } = await import('@svc/core/operate')
  const { applied, pending, later, is_newer } = await migrationStatus(url)
  if (output.isJson()) output.document({ applied, pending, later, is_newer })
  else
    output.table(
      ['MIGRATION', 'STATUS'],
      [
        ...applied.map((name) => [name, 'applied']),
        ...pending.map((name) => [name, { text: 'pending', style: 'yellow' as const }]),
        ...later.map((name) => [name, 'of a newer version']),
      ],
    )
  if (is_newer) throw newer()
  if (pending.length > 0) {
    throw new Failure(
      'behind',
      `${pending.length} migrations are missing: svc migrate applies them`,
    )
  }
}

function newer(): Failure {
  return new Failure('newer', 'the database was made by a newer version of svc')
}
