import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { readOptionalPast } from '../input/time.ts'
import { usage } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { databaseUrl, withDatabase } from '../settings/database-option.ts'
import { counted } from '../show/counted.ts'
import { asUnreadable, withOneWorkspace, workspaceIdOf } from './ledger-options.ts'

interface Options {
  database?: string
  workspace?: string
  format: 'csv' | 'jsonl'
  since?: string
  until?: string
  out: string
}

/** Adds `svc ledger export`. */
export function addLedgerExport(ledger: Command, context: Context): void {
  const command = withDatabase(
    withOneWorkspace(
      ledger
        .command('export')
        .summary('export the entries')
        .description(
          'Exports every entry of the ledger from one consistent snapshot, ordered by workspace and number. Amounts are exact credits.',
        ),
    ),
  )
    .addOption(
      new Option('--format <format>', 'the format').choices(['csv', 'jsonl']).default('csv'),
    )
    .option('--since <time>', 'entries at or after: ISO 8601, or a duration before now such as 2h')
    .option('--until <time>', 'entries before, in the same form')
    .option('--out <file>', 'the file; - for stdout', '-')
    .action((options: Options) => exportLedger(context, options))
  withExamples(
    command,
    'svc ledger export --since 2026-05-01T00:00:00Z --until 2026-06-01T00:00:00Z --out may.csv',
    'svc ledger export --workspace ops@example.com --format jsonl | jq .amount',
  )
}

async function exportLedger(context: Context, options: Options): Promise<void> {
  const { io, output } = context
  const { stdout, cwd } = io
  const isPipe = options.out === '-'
  if (isPipe && output.isJson()) throw usage('--json needs --out: stdout is the ledger')
  const path = resolve(cwd, options.out)
  if (!isPipe && existsSync(path)) {
    throw usage(`${pathFrom(cwd, path)} exists: choose another name`)
  }
  const since = await readOptionalPast('--since', options.since)
  const until = await readOptionalPast('--until', options.until)
  const database_url = databaseUrl(io, options.database)
  const workspace_id = await workspaceIdOf(context, options.workspace, database_url)
  const { LEDGER_CSV_HEADER, ledgerCsvLine, ledgerJsonLine, readLedger } = await import(
    '@svc/core/operate'
  )
  const isCsv = options.format === 'csv'
  const lineOf = isCsv ? ledgerCsvLine : ledgerJsonLine
  const write = async (to: Writable) => {
    if (isCsv) await put(to, LEDGER_CSV_HEADER)
    const reading = { workspace_id, since, until, signal: stopSignalOf(io) }
    return readLedger(database_url, reading, (entries) => put(to, entries.map(lineOf).join('')))
  }
  try {
    const entries = await (isPipe ? write(stdout) : toFile(path, write))
    if (output.isJson()) output.document({ file: path, entries })
    else output.note(`${counted(entries, 'entry', 'entries')}.`)
  } catch (error) {
    throw asUnreadable(error)
  }
}

/** Writes a text. It waits for a slow reader, so that memory does not grow. */
async function put(to: Writable, text: string): Promise<void> {
  if (!to.write(text)) await once(to, 'drain')
}

/** Writes a temporary file and renames it when it is complete; a failure leaves no file. */
async function toFile(path: string, write: (to: Writable) => Promise<number>): Promise<number> {
  const part = `${path}.part`
  const stream = createWriteStream(part, { flags: 'w', mode: 0o600, flush: true })
  try {
    const entries = await write(stream)
    stream.end()
    await finished(stream)
    await rename(part, path)
    return entries
  } catch (error) {
    stream.destroy()
    await rm(part, { force: true })
    throw error
  }
}
