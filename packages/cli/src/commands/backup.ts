import { dirname, extname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { misconfigured, usage } from '../process/failure.ts'
import { type ProcessIo, stopSignalOf } from '../process/process-io.ts'
import { dataFolder, pathFrom } from '../settings/data-folder.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/database-option.ts'
import { contentOf, fileOfDatabase, verdictOf, verificationOf } from '../show/backup-report.ts'
import { progressBars } from '../show/progress-bar.ts'

interface Options {
  database?: string
  to?: string
  keep?: string
  verify: string
}

const KEEP_MAX = 10_000

const ADVICE = {
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
    .action((options: Options) => backup(context, `svc ${program.version()}`, options))
  withExamples(
    command,
    'svc backup',
    'svc backup --to /var/backups/svc --keep 7',
    'svc backup --to before-upgrade.db --verify full --json',
  )
}

async function backup({ io, output }: Context, made_by: string, options: Options): Promise<void> {
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
      throw withAdvice(error, ADVICE)
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
