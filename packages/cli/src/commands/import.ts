import { createReadStream } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { misconfigured, usage } from '../process/failure.ts'
import { type ProcessIo, stopSignalOf } from '../process/process-io.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/database-option.ts'
import { amountOf, documentOf, moveProgress } from '../show/move-report.ts'

const NOTHING = 'nothing was written'

const ADVICE = {
  not_empty: 'import into a new database, set with --database or SVC_DATABASE_URL',
  in_use: 'stop it first',
  newer: 'install that version',
  foreign: NOTHING,
  truncated: NOTHING,
  altered: NOTHING,
  not_equal: NOTHING,
}

/** Adds `svc import`. */
export function addImport(program: Command, context: Context): void {
  const command = withDatabase(
    program
      .command('import')
      .summary('import an export into an empty database')
      .description(
        `Imports a file of svc export into an empty database, on both engines; creates and migrates the database first. It verifies
the file while it reads it, and the database before it commits: after any failure the database is empty. It refuses a
database that has rows, or on which a server runs.`,
      )
      .argument('<file>', 'a file of svc export, or - for stdin'),
  ).action((file: string, { database }: { database?: string }) =>
    importFrom(context, file, database),
  )
  withExamples(
    command,
    'svc import svc.jsonl.gz --database postgres://svc@db.example/svc',
    'ssh old.example svc export - | svc import -',
  )
}

async function importFrom(
  { io, output }: Context,
  file: string,
  database: string | undefined,
): Promise<void> {
  const database_url = databaseUrl(io, database)
  const from = await openSource(file, io)
  const bars = moveProgress(io, { isQuiet: output.isJson() })
  const { importArchive } = await import('@svc/core/operate')
  try {
    const report = await importArchive({
      database_url,
      from,
      signal: stopSignalOf(io),
      onProgress: bars.onProgress,
    })
    bars.end()
    if (output.isJson()) return output.document(documentOf(report, null))
    output.line(`Imported ${amountOf(report)}; every checksum matches in the new database.`)
  } catch (error) {
    bars.end()
    throw withAdvice(error, ADVICE)
  }
}

async function openSource(file: string, { stdin, cwd }: ProcessIo): Promise<Readable> {
  if (file === '-') {
    if (stdin.isTTY) throw usage('name a file, or pipe an archive in')
    return stdin
  }
  const path = resolve(cwd, file)
  await access(path, constants.R_OK).catch(({ code }: NodeJS.ErrnoException) => {
    throw misconfigured(
      `cannot read ${file}${code === 'ENOENT' ? ': there is no such file' : `: ${code}`}`,
    )
  })
  return createReadStream(path)
}
