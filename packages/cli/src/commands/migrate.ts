import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { Failure } from '../process/failure.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'

interface MigrateOptions {
  database?: string
  status?: boolean
}

/** Adds `svc migrate`. */
export function addMigrate(program: Command, context: Context): void {
  const command = withDatabase(
    program
      .command('migrate')
      .summary("migrate the database to this program's schema")
      .description(
        `Migrates the database to this program's schema and lists the migrations that ran. svc serve does this at its start; use this
command where servers have no permission to create tables. --status changes nothing, and exits with 1 if the database does
not have this program's schema.`,
      ),
  )
    .option('--status', 'only list the applied and the missing migrations')
    .action((options: MigrateOptions) => migrate(context, options))
  withExamples(
    command,
    'svc migrate --status',
    'svc migrate --database postgres://owner@db.example/svc',
  )
}

async function migrate(
  { io, output }: Context,
  { database, status }: MigrateOptions,
): Promise<void> {
  const { migrateDatabase, migrationStatus } = await import('@svc/core/operate')
  const url = databaseUrl(io, database)
  if (!status) {
    const applied = await migrateDatabase(url).catch((error) => {
      throw withAdvice(error, { in_use: 'stop it first' })
    })
    if (output.isJson()) return output.document({ applied })
    for (const name of applied) output.line(`${output.style('green', '✓')} ${name}`)
    if (applied.length === 0) output.line("The database has this program's schema.")
    return
  }
  const { applied, pending, is_newer } = await migrationStatus(url)
  if (output.isJson()) output.document({ applied, pending, is_newer })
  else
    output.table(
      ['MIGRATION', 'STATUS'],
      [
        ...applied.map((name) => [name, 'applied']),
        ...pending.map((name) => [name, { text: 'pending', style: 'yellow' as const }]),
      ],
    )
  if (is_newer) throw new Failure('newer', 'the database was made by a newer version of svc')
  if (pending.length > 0) {
    throw new Failure(
      'behind',
      `${pending.length} migrations are missing: svc migrate applies them`,
    )
  }
}
