import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { misconfigured } from '../process/failure.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'

const ADVICE = {
  in_use: 'stop it first',
  no_space: 'nothing was changed; free space first',
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR, or give --database',
}

/** Adds `svc compact`. */
export function addCompact(program: Command, context: Context): void {
  const command = withDatabase(
    program
      .command('compact')
      .summary('give the free space of the SQLite database back to the disk')
      .description(
        `Rewrites the SQLite database without the space of removed rows. Stop the server first. It needs free space of twice
the size of the data that remains, and takes a few seconds for each GB of it. A crash leaves the complete database.
PostgreSQL has its own tools, such as VACUUM FULL.`,
      ),
  ).action((options: { database?: string }) => compact(context, options))
  withExamples(command, 'svc compact', 'svc compact --database file:/var/lib/svc/svc.db')
}

async function compact(
  { io, output }: Context,
  { database }: { database?: string },
): Promise<void> {
  const url = databaseUrl(io, database)
  if (!url.startsWith('file:')) {
    throw misconfigured('the database is PostgreSQL: use VACUUM FULL or pg_repack')
  }
  const file = resolve(io.cwd, url.slice('file:'.length))
  const name = pathFrom(io.cwd, file)
  const { compactDatabase } = await import('@svc/core/operate')
  const isTold = !output.isJson()
  const report = await compactDatabase(file, (step, bytes) => {
    if (!isTold) return
    if (step === 'rewrite') output.line(`Rewriting ${name}: ${megabytes(bytes)} are in use…`)
    else output.line('Shortening the file…')
  }).catch((error) => {
    throw withAdvice(error, ADVICE)
  })
  if (output.isJson()) return output.document({ file, ...report })
  const { before_bytes, after_bytes, duration_ms } = report
  output.line(
    `Compacted ${name} from ${megabytes(before_bytes)} to ${megabytes(after_bytes)} in ${(duration_ms / 1000).toFixed(1)} s.`,
  )
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
}
