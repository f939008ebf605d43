import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import type { ExportOptions, MoveReport } from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { usage } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/database-option.ts'
import { amountOf, documentOf, moveProgress } from '../show/move-report.ts'

interface Options {
  /** The program and its version. */
  made_by: string
  database?: string
  snapshot?: boolean
  force?: boolean
}

const ADVICE = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR, or give --database',
  behind: 'run svc migrate',
  newer: 'export it with that version',
  in_use: 'stop it first, or use --snapshot if later messages may be missing',
}

/** Adds `svc export`. */
export function addExport(program: Command, context: Context): void {
  const command = withDatabase(
    program
      .command('export')
      .summary('export the whole database to one file')
      .description(
        `Exports the whole database to one file, which svc import reads on both engines: accounts, keys, ledger,
messages, queues and secrets, with a checksum for each table. The database does not change. The file contains secrets
and messages: only its owner can read it.

The command refuses a database on which a server runs, because later messages would be missing. --snapshot exports a
consistent snapshot of it anyway: use it for a backup, never for a move.`,
      )
      .argument('[file]', 'the file to write, or - for stdout (default: svc-<time>.jsonl.gz)'),
  )
    .option('--snapshot', 'export while a server runs: later messages are missing')
    .option('--force', 'overwrite the file')
    .action((file: string | undefined, options: Omit<Options, 'made_by'>) =>
      exportTo(context, file, { made_by: `svc ${program.version()}`, ...options }),
    )
  withExamples(
    command,
    'svc export svc.jsonl.gz',
    'svc export --database file:data/svc.db - |\n  svc import --database postgres://svc@db.example/svc -',
  )
}

async function exportTo(
  context: Context,
  file: string | undefined,
  { made_by, database, snapshot, force }: Options,
): Promise<void> {
  const { io, output } = context
  const { stdout, cwd } = io
  const isPipe = file === '-'
  if (isPipe && stdout.isTTY) throw usage('a terminal cannot show an archive: name a file')
  if (isPipe && output.isJson()) throw usage('--json needs a file: stdout is the archive')
  const path = resolve(
    cwd,
    file ?? `svc-${new Date().toISOString().replace(/[:.]/g, '-')}.jsonl.gz`,
  )
  const shown = pathFrom(cwd, path)
  if (!isPipe && !force && existsSync(path)) {
    throw usage(`${shown} exists: choose another name, or overwrite it with --force`)
  }
  const database_url = databaseUrl(io, database)
  const bars = moveProgress(io, { isQuiet: output.isJson() })
  const { exportArchive } = await import('@svc/core/operate')
  const write = (to: ExportOptions['to']) =>
    exportArchive({
      database_url,
      to,
      made_by,
      snapshot,
      signal: stopSignalOf(io),
      onProgress: bars.onProgress,
    })
  try {
    const report = isPipe ? await write(stdout) : await writeFile(path, write)
    bars.end()
    if (output.isJson()) return output.document(documentOf(report, path))
    const text = `Exported ${amountOf(report)}`
    if (isPipe) output.note(`${text}.`)
    else output.line(`${text} to ${shown}. It contains secrets: protect it like the database.`)
  } catch (error) {
    bars.end()
    throw withAdvice(error, ADVICE)
  }
}

/** Writes a temporary file and renames it when it is complete and on disk; a failure leaves no file. */
async function writeFile(
  path: string,
  write: (to: ExportOptions['to']) => Promise<MoveReport>,
): Promise<MoveReport> {
  const part = `${path}.part-${randomBytes(4).toString('hex')}`
  const stream = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true })
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  try {
    const report = await write(stream)
    stream.end()
    await finished(stream)
    await closed
    await rename(part, path)
    return report
  } catch (error) {
    stream.destroy()
    await closed
    await rm(part, { force: true })
    throw error
  }
}
