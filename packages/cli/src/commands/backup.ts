import { existsSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import type { BackupCheck, Verification } from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { misconfigured, usage } from '../process/failure.ts'
import { type ProcessIo, stopSignalOf } from '../process/process-io.ts'
import { dataFolder, pathFrom, settingsOf } from '../settings/data-folder.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'
import { type ProgressBars, progressBars } from '../show/progress-bar.ts'
import { counted } from '../show/text.ts'

interface BackupOptions {
  database?: string
  to?: string
  keep?: string
  verify: string
}

const KEEP_MAX = 10_000

const BACKUP_ADVICE = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR, or give --database',
  no_folder: 'choose another folder with --to',
  no_space: 'choose another folder with --to, or free space',
  exists: 'choose another name with --to',
  newer: 'back it up with that version',
}

/** Adds `svc backup`. */
export function addBackup(program: Command, context: Context): void {
  const command = withDatabase(
    program
      .command('backup')
      .summary('back up the SQLite database to one verified file')
      .description(
        `Copies a consistent snapshot of the SQLite database to one file; the server may run meanwhile. The copy gets
its name after its verification, so a file named svc-<time>.db is always complete. It contains secrets and messages:
only its owner can read it. svc restore restores it. PostgreSQL has its own tools, such as pg_dump.`,
      ),
  )
    .option(
      '--to <path>',
      'a folder, or the name of a new file that ends in .db (default: SVC_BACKUP_DIR, or backups in the data folder)',
    )
    .option(
      '--keep <n>',
      'keep this many backups in the folder and remove the oldest (default: all)',
    )
    .option(
      '--verify <how>',
      'fast: checksum, structure and sums of the ledger; full: also every row; none',
      'fast',
    )
    .action((options: BackupOptions) => backup(context, `svc ${program.version()}`, options))
  withExamples(
    command,
    'svc backup',
    'svc backup --to /var/backups/svc --keep 7',
    'svc backup --to before-upgrade.db --verify full --json',
  )
}

async function backup(
  { io, output }: Context,
  made_by: string,
  options: BackupOptions,
): Promise<void> {
  const database = fileOfDatabase(
    databaseUrl(io, options.database),
    'back it up with pg_dump or pg_basebackup',
  )
  // The default folder is in the server's data folder, or beside the file that `--database` names.
  const home = options.database === undefined ? dataFolder(io) : dirname(database)
  const verify = verificationOf(options.verify)
  const keep = options.keep === undefined ? null : countOf(options.keep)
  const bars = progressBars(io, { isQuiet: output.isJson() || !output.isTerminal })
  const { backupDatabase, makeFolder } = await import('@svc/core/operate')
  const report = await backupDatabase({
    ...{ database, keep, verify, made_by },
    to: targetOf(io, home, { option: options.to, hasKeep: keep !== null, makeFolder }),
    signal: stopSignalOf(io),
    onProgress: bars.report,
  })
    .catch((error: unknown) => {
      throw withAdvice(error, BACKUP_ADVICE)
    })
    .finally(bars.end)
  if (output.isJson()) return output.document(report)
  const shown = pathFrom(io.cwd, report.file)
  output.line(`Backed up to ${shown}, ${contentOf(report)}; ${verdictOf(report)}.`)
  output.note(
    'It contains secrets: protect it like the database, and keep a copy on another machine.',
  )
  for (const name of report.removed) output.note(`Removed the older ${name}.`)
}

/** The folder or file of the backup. A name means a file only if it ends in .db. */
function targetOf(
  { cwd, env }: ProcessIo,
  home: string,
  {
    option,
    hasKeep,
    makeFolder,
  }: { option: string | undefined; hasKeep: boolean; makeFolder: (path: string) => void },
): string {
  const named = option ?? (env.SVC_BACKUP_DIR?.trim() || undefined)
  const target = named === undefined ? join(home, 'backups') : resolve(cwd, named)
  if (option !== undefined && !hasKeep && extname(target) === '.db') return target
  try {
    makeFolder(target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw usage(`${pathFrom(cwd, target)} is not a folder`)
    throw misconfigured(`cannot create the folder ${pathFrom(cwd, target)} (${code})`)
  }
  return target
}

function countOf(text: string): number {
  const count = Number(text)
  if (/^\d{1,5}$/.test(text) && count >= 1 && count <= KEEP_MAX) return count
  throw usage(`--keep must be a whole number from 1 to ${KEEP_MAX}, got "${text}"`)
}

const LEVELS: readonly Verification[] = ['full', 'fast', 'none']

/** Reads the value of `--verify`. @throws Failure for any other word. */
function verificationOf(text: string): Verification {
  const found = LEVELS.find((level) => level === text)
  if (!found) throw usage(`--verify must be one of ${LEVELS.join(', ')}, got "${text}"`)
  return found
}

/** Returns the path in the URL of a SQLite database. @throws Failure with the advice `instead` for PostgreSQL. */
function fileOfDatabase(url: string, instead: string): string {
  if (url.startsWith('file:')) return url.slice('file:'.length)
  throw misconfigured(`the database is PostgreSQL: ${instead}`)
}

/** The size and contents of a backup, as part of a sentence. */
function contentOf({ bytes, ledger }: Pick<BackupCheck, 'bytes' | 'ledger'>): string {
  const size = `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
  if (!ledger) return size
  const { messages, entries } = ledger
  return `${size}: ${counted(messages, 'message')}, ${counted(entries, 'ledger entry', 'ledger entries')}`
}

/** The result of the verification, as part of a sentence. */
function verdictOf({ verified, ledger, as_of_from }: BackupCheck): string {
  if (verified === 'none') return 'not verified'
  const intact = as_of_from === 'mark' ? 'are intact' : 'is intact'
  const parts = as_of_from === 'mark' ? 'checksum and structure' : 'the structure'
  return ledger
    ? `${parts} ${intact}, and the ledger is consistent`
    : `${parts} ${intact}; a restore verifies the ledger, which has an older schema`
}

interface RestoreOptions {
  verify?: string | boolean
  to?: string
  unsealed?: boolean
  yes?: boolean
}

const RESTORE_ADVICE = {
  in_use: 'stop it first',
  newer: 'install that version',
  damaged: 'nothing was changed; use another backup',
  foreign: 'nothing was changed',
  no_space: 'free space first',
  unsealed: 'add --unsealed to restore it anyway',
}

/** Adds `svc restore`. */
export function addRestore(program: Command, context: Context): void {
  const command = program
    .command('restore')
    .summary('restore the SQLite database from a backup')
    .description(
      `Verifies a backup and replaces the SQLite database with it. Stop the server first. The old database is kept beside the new
one. The server that starts next accepts messages, but sends and delivers nothing until svc resume: messages that were queued in the
backup may have been sent since. svc resume --dry-run shows them.

--verify only verifies the file and changes nothing.`,
    )
    .argument('<file>', 'a file of svc backup')
    .option('--verify', 'only verify the file')
    .option('--to <folder>', 'the data folder to restore into (default: that of the server)')
    .option('--unsealed', 'accept a copy without a checksum, which svc backup did not make')
    .option('--yes', 'do not ask')
    .action((file: string, options: RestoreOptions) => restore(context, file, options))
  withExamples(
    command,
    'svc restore --verify backups/svc-2026-01-31T23-59-59-000Z.db',
    'svc restore backups/svc-2026-01-31T23-59-59-000Z.db --to /var/lib/svc',
  )
}

async function restore(context: Context, path: string, options: RestoreOptions): Promise<void> {
  const { io, output } = context
  const file = resolve(io.cwd, path)
  const bars = progressBars(io, { isQuiet: output.isJson() || !output.isTerminal })
  const work = {
    signal: stopSignalOf(io),
    onProgress: bars.report,
    verify: verificationOf('full'),
  }
  try {
    if (options.verify) await verifyOnly(context, file, work)
    else await putInPlace(context, file, { ...options, ...work, bars })
  } catch (error) {
    bars.end()
    throw withAdvice(error, RESTORE_ADVICE)
  }
}

interface Work {
  verify: Verification
  signal: AbortSignal
  onProgress: ProgressBars['report']
}

async function verifyOnly(context: Context, file: string, work: Work): Promise<void> {
  const { output } = context
  const { verifyBackup } = await import('@svc/core/operate')
  const check = await verifyBackup(file, work)
  if (output.isJson()) return output.document(check)
  output.line(`The backup is good: ${verdictOf(check)}.`)
  output.fields([
    [
      'as of',
      `${check.as_of.toISOString()}${check.as_of_from === 'rows' ? ' (by its newest row)' : ''}`,
    ],
    ['made by', check.made_by],
    ['contains', contentOf(check)],
    ['sha256', check.sha256],
    ['migrations missing', check.migrations_missing.join(', ') || null],
    ['secrets keys', check.secrets_keys?.join(', ') || null],
  ])
  await warnOfKeys(context, check)
}

/** Warns of keys that the backup's secrets need and the settings do not have: the next server would not start. */
async function warnOfKeys({ io, output }: Context, { secrets_keys }: BackupCheck): Promise<void> {
  if (!secrets_keys?.length) return
  const [{ readConfig }, { readSecretsKeys }] = await Promise.all([
    import('@svc/server'),
    import('@svc/core/operate'),
  ])
  const set = readSecretsKeys(readConfig(settingsOf(io)).secrets_keys).map(({ id }) => id)
  const missing = secrets_keys.filter((id) => !set.includes(id))
  if (missing.length === 0) return
  output.line(`
The secrets of the backup are encrypted with ${missing.length === 1 ? 'a key' : 'keys'} that this machine's settings do not have: ${missing.join(', ')}.
The server does not start on it without: add ${missing.length === 1 ? 'the key' : 'the keys'} to SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE, after the first key.`)
}

async function putInPlace(
  context: Context,
  file: string,
  {
    to,
    yes,
    unsealed,
    bars,
    ...work
  }: Omit<RestoreOptions, 'verify'> & Work & { bars: ProgressBars },
): Promise<void> {
  const { io, output } = context
  const { cwd } = io
  const database =
    to === undefined
      ? fileOfDatabase(databaseUrl(io, undefined), 'restore it with pg_restore')
      : join(resolve(cwd, to), 'svc.db')
  const { restoreDatabase, verifyBackup } = await import('@svc/core/operate')
  const found = await verifyBackup(file, { ...work, verify: 'none' })
  if (!yes) await confirm(io, questionOf(found, pathFrom(cwd, database), existsSync(database)))
  const report = await restoreDatabase({ ...work, backup: file, database, unsealed })
  bars.end()
  if (output.isJson()) return output.document(report)
  const as_of = report.as_of.toISOString()
  output.line(
    `Restored ${pathFrom(cwd, database)} as of ${as_of}, ${contentOf(report)}; ${verdictOf(report)}.`,
  )
  if (report.kept !== null) {
    output.line(`The old database is kept as ${pathFrom(cwd, report.kept)}.`)
  }
  for (const name of report.migrated) output.line(`Migrated: ${name}`)
  output.line(`
The next server sends and delivers nothing until svc resume. Before that, run:
  svc resume --dry-run   shows messages that may have been sent after ${as_of}
  svc billing sync       adds payments since that time
Changes after that time are lost: API keys, accounts and suppressions. A recipient who has written STOP since then gets
messages again, except if you add the suppression before svc resume.`)
  await warnOfKeys(context, report)
}

function questionOf(found: BackupCheck, database: string, exists: boolean): string {
  const question = `Restore ${database} as of ${found.as_of.toISOString()}?`
  return exists ? `${question} The old database is kept beside it.` : question
}
