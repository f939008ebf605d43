import { createReadStream, existsSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { ExportOptions, MoveReport, OnProgress } from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { misconfigured, usage } from '../process/failure.ts'
import { type ProcessIo, stopSignalOf } from '../process/process-io.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { writeWhole } from '../settings/replace-file.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'
import { type ProgressBars, progressBars } from '../show/progress-bar.ts'
import { counted } from '../show/text.ts'

interface ExportFlags {
  /** The program and its version. */
  made_by: string
  database?: string
  snapshot?: boolean
  force?: boolean
}

const EXPORT_ADVICE = {
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
    .action((file: string | undefined, options: Omit<ExportFlags, 'made_by'>) =>
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
  { made_by, database, snapshot, force }: ExportFlags,
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
  const { exportArchive, inspectDetached } = await import('@svc/core/operate')
  // The export itself reports a database that cannot be read.
  const isSqlite = database_url.startsWith('file:')
  for (const { month } of isSqlite ? [] : await inspectDetached(database_url).catch(() => [])) {
    output.note(`${month} is detached and not exported: run svc partitions attach ${month} first.`)
  }
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
    const report = isPipe ? await write(stdout) : await writeWhole(path, write)
    bars.end()
    if (output.isJson()) return output.document(documentOf(report, path))
    const text = `Exported ${amountOf(report)}`
    if (isPipe) output.note(`${text}.`)
    else output.line(`${text} to ${shown}. It contains secrets: protect it like the database.`)
  } catch (error) {
    bars.end()
    throw withAdvice(error, EXPORT_ADVICE)
  }
}

const SUFFIXES = { export: '', import: '', verify: ' (verify)' }

/** Progress bars of an export or import, and the callback that updates them. */
function moveProgress(
  io: ProcessIo,
  options: { isQuiet: boolean },
): ProgressBars & { onProgress: OnProgress } {
  const bars = progressBars(io, options)
  return {
    ...bars,
    onProgress({ step, table, rows, rows_total }) {
      bars.report({ name: `${table}${SUFFIXES[step]}`, done: rows, total: rows_total })
    },
  }
}

/** The number of rows and tables, as part of a sentence. */
function amountOf({ tables }: MoveReport): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return `${counted(rows, 'row')} in ${counted(tables.length, 'table')}`
}

/** The counts and checksums in JSON. */
function documentOf({ tables, ...more }: MoveReport, file: string | null): Record<string, unknown> {
  return { ...(file !== null && { file }), ...more, tables }
}

const NOTHING = 'nothing was written'

const IMPORT_ADVICE = {
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
    throw withAdvice(error, IMPORT_ADVICE)
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
