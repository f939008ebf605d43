import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BackupCheck, Verification } from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { pathFrom, settingsOf } from '../settings/data-folder.ts'
import { databaseUrl, withAdvice } from '../settings/database-option.ts'
import { contentOf, fileOfDatabase, verdictOf, verificationOf } from '../show/backup-report.ts'
import { type ProgressBars, progressBars } from '../show/progress-bar.ts'

interface Options {
  verify?: string | boolean
  to?: string
  unsealed?: boolean
  yes?: boolean
}

const ADVICE = {
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
    .action((file: string, options: Options) => restore(context, file, options))
  withExamples(
    command,
    'svc restore --verify backups/svc-2026-01-31T23-59-59-000Z.db',
    'svc restore backups/svc-2026-01-31T23-59-59-000Z.db --to /var/lib/svc',
  )
}

async function restore(context: Context, path: string, options: Options): Promise<void> {
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
    throw withAdvice(error, ADVICE)
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
  { to, yes, unsealed, bars, ...work }: Omit<Options, 'verify'> & Work & { bars: ProgressBars },
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
