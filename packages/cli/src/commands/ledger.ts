import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import type { LedgerDifference, LedgerReport } from '@svc/core/operate'
import { type Command, Option } from 'commander'
import { onWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { LINE_MAX_BYTES, linesOf } from '../input/read-input.ts'
import { readOptionalPast } from '../input/time.ts'
import { Failure, usage } from '../process/failure.ts'
import { type ProcessIo, stopSignalOf } from '../process/process-io.ts'
import { pathFrom, settingsOf } from '../settings/data-folder.ts'
import { writeWhole } from '../settings/replace-file.ts'
import { databaseUrl, withAdvice, withDatabase } from '../settings/service-options.ts'
import { progressBars } from '../show/progress-bar.ts'
import { counted } from '../show/text.ts'

/** Adds `svc ledger`. Its commands read the ledger from the database and never change it. */
export function addLedger(program: Command, context: Context): void {
  const ledger = program
    .command('ledger')
    .summary('verify and export the ledger (operator)')
    .description(
      'Verifies and exports the ledger. It works on the database; the server may run meanwhile.',
    )
  withExamples(ledger, 'svc ledger verify', 'svc ledger export --out ledger.csv')
  addLedgerVerify(ledger, context)
  addLedgerExport(ledger, context)
}

interface Options {
  database?: string
  workspace?: string
  format: 'csv' | 'jsonl'
  since?: string
  until?: string
  out: string
}

/** Adds `svc ledger export`. */
function addLedgerExport(ledger: Command, context: Context): void {
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
    const entries = await (isPipe ? write(stdout) : writeWhole(path, write))
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

/** Adds the option that limits a command to one workspace. */
function withOneWorkspace(command: Command): Command {
  return command.option('--workspace <id-or-email>', 'only this workspace (default: all)')
}

/** Advice for a database that cannot be read. */
const ADVICE: Readonly<Record<string, string>> = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR',
  behind: 'run svc migrate',
  newer: 'use that version',
  invalid_file: 'export it with svc ledger export --format jsonl',
}

/** Explains a database that cannot be read. The exit code is 2, because 1 means an inconsistent ledger. */
function asUnreadable(thrown: unknown): unknown {
  const failure = withAdvice(thrown, ADVICE)
  return failure instanceof Failure && failure.code in ADVICE
    ? new Failure(failure.code, failure.message, 2)
    : failure
}

/** The id of the workspace of this database that `selector` names; undefined if there is no selector. */
async function workspaceIdOf(
  { io }: Context,
  selector: string | undefined,
  database_url: string,
): Promise<string | undefined> {
  if (selector === undefined) return undefined
  const there = {
    ...io,
    env: { ...io.env, SVC_DATABASE_URL: database_url, SVC_DATABASE_DIRECT_URL: undefined },
  }
  return onWorkspace(there, selector, async (_, { id }) => id)
}

interface VerifyOptions {
  database?: string
  file?: string[]
  workspace?: string
  fast?: boolean
}

/** Adds `svc ledger verify`. */
function addLedgerVerify(ledger: Command, context: Context): void {
  const command = withDatabase(
    withOneWorkspace(
      ledger
        .command('verify')
        .summary('recompute every balance and compare')
        .description(
          `Recomputes every balance from its entries, and compares the entries with messages, bulks, refunds, purchases,
holds and lots, and the openings of folded ledgers with their signatures. It reads one consistent snapshot and changes nothing.
If it finds differences, it lists all of them and exits with 1; their amounts are in whole micro-credits.
With --file it compares files of svc ledger export --format jsonl with the openings: whether they have every entry that was folded.`,
        ),
    ),
  )
    .option('--fast', 'compare rows only where sums differ: for very long histories')
    .option('--file <files...>', 'compare these exported files, oldest first, with the openings')
    .action((options: VerifyOptions) => verify(context, options))
  withExamples(
    command,
    'svc ledger verify',
    'svc ledger verify --workspace ops@example.com --json',
    'svc ledger verify --database file:./restored.db',
    'svc ledger verify --file ledger-2025.jsonl ledger-2026.jsonl',
  )
}

async function verify(
  context: Context,
  { workspace: selector, fast, database, file }: VerifyOptions,
): Promise<void> {
  const { io, output } = context
  const database_url = databaseUrl(io, database)
  const openKey = keyOpener(io)
  if (file) {
    if (selector !== undefined) throw usage('--workspace cannot be used with --file')
    await verifyFiles(context, file, { database_url, openKey })
    return
  }
  const workspace_id = await workspaceIdOf(context, selector, database_url)
  const bars = progressBars(io, { isQuiet: output.isJson() || !output.isTerminal })
  const { verifyLedger } = await import('@svc/core/operate')
  const report = await verifyLedger(database_url, {
    workspace_id,
    fast,
    openKey,
    signal: stopSignalOf(io),
    onProgress: bars.report,
  })
    .catch((error: unknown) => {
      throw asUnreadable(error)
    })
    .finally(bars.end)
  if (output.isJson()) output.document(report)
  else show(context, report)
  warnOfSignatures(context, report)
  if (!report.ok) {
    const { length } = report.differences
    const found = report.has_more
      ? `more than ${length} differences`
      : counted(length, 'difference')
    throw new Failure('ledger_differs', `the ledger is inconsistent: ${found}`)
  }
}

type OpenKey = (value: string) => Promise<string | null>

/** Decrypts the key of the openings with the keys of the settings, which are read only if there are openings. */
function keyOpener(io: ProcessIo): OpenKey {
  return async (value) => {
    const [{ readConfig }, { LEDGER_SECRET, readSecretsKeys, secretOpener }] = await Promise.all([
      import('@svc/server'),
      import('@svc/core/operate'),
    ])
    const keys = readSecretsKeys(readConfig(settingsOf(io)).secrets_keys)
    return secretOpener(LEDGER_SECRET, keys)(value)
  }
}

function warnOfSignatures(
  { output }: Context,
  { openings, signatures_checked }: { openings: number; signatures_checked: boolean },
): void {
  if (signatures_checked || openings === 0) return
  output.note(
    `The signatures of ${counted(openings, 'opening')} were not checked: set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE to the keys of the server.`,
  )
}

async function* entryLines(file: string, name: string): AsyncGenerator<string> {
  const tooLong = () =>
    usage(`${name} has a line of more than ${LINE_MAX_BYTES} bytes: ${ADVICE.invalid_file}`)
  for await (const { text } of linesOf(file, tooLong)) yield text
}

/** Compares exported files with the openings of the database. */
async function verifyFiles(
  context: Context,
  paths: readonly string[],
  options: { database_url: string; openKey: OpenKey },
): Promise<void> {
  const { io, output } = context
  const files = paths.map((path) => {
    const file = resolve(io.cwd, path)
    const name = pathFrom(io.cwd, file)
    const found = statSync(file, { throwIfNoEntry: false })
    if (!found) throw usage(`${name} does not exist`)
    if (found.isDirectory()) throw usage(`${name} is a folder: give its files`)
    return { name, lines: entryLines(file, name) }
  })
  const { verifyLedgerFiles } = await import('@svc/core/operate')
  const { database_url, openKey } = options
  const report = await verifyLedgerFiles(database_url, files, {
    ...{ openKey, signal: stopSignalOf(io) },
  }).catch((error: unknown) => {
    throw asUnreadable(error)
  })
  const { ok, workspaces, entries, openings, differences } = report
  if (output.isJson()) output.document(report)
  else if (ok) {
    output.line(
      `The files are complete: ${counted(entries, 'entry', 'entries')} of ${counted(workspaces, 'workspace')}, which prove ${counted(openings, 'opening')}.`,
    )
  } else {
    output.table(
      ['CHECK', 'WORKSPACE', 'SEQ', 'STANDS', 'SHOULD BE'],
      differences.map(({ check, workspace_id, seq, stands, should }) => {
        return [check, workspace_id, String(seq), stands, should]
      }),
    )
  }
  warnOfSignatures(context, report)
  if (!ok) {
    throw new Failure(
      'ledger_differs',
      `the files and the ledger differ: ${counted(differences.length, 'difference')}`,
    )
  }
}

function show({ output }: Context, report: LedgerReport): void {
  const { workspaces, entries, messages, counter_accounts, differences } = report
  const { openings, folded_entries } = report
  if (differences.length > 0) {
    output.table(
      ['CHECK', 'WORKSPACE', 'SEQ', 'ABOUT', 'STANDS', 'SHOULD BE'],
      differences.map(cellsOf),
    )
    return
  }
  output.table(
    ['COUNTER ACCOUNT', 'ENTRIES', 'CREDITS'],
    [
      ...counter_accounts.map(({ counter_account, entries, balance }) => [
        counter_account,
        String(entries),
        decimalOf(balance),
      ]),
      ['workspaces', String(entries + folded_entries), decimalOf(report.workspaces_balance)],
    ],
  )
  output.line(
    `The ledger is consistent: ${counted(entries, 'entry', 'entries')} of ${counted(workspaces, 'workspace')}, and ${counted(messages, 'message')}, with refunds, purchases, holds and lots.`,
  )
  if (openings > 0) {
    output.line(
      `${counted(openings, 'opening')} ${openings === 1 ? 'stands' : 'stand'} for ${counted(folded_entries, 'older entry', 'older entries')}.`,
    )
  }
}

function cellsOf({ check, workspace_id, seq, about, stands, should }: LedgerDifference): string[] {
  return [check, workspace_id, seq === null ? '' : String(seq), about ?? '', stands, should]
}

/** Whole micro-credits as credits. Both are texts, because a sum over all workspaces may be too large for a number. */
function decimalOf(micro: string): string {
  const digits = micro.replace('-', '').padStart(7, '0')
  const decimals = String(Number(`0.${digits.slice(-6)}`)).slice(2)
  const whole = `${micro.startsWith('-') ? '-' : ''}${digits.slice(0, -6)}`
  return decimals === '' ? whole : `${whole}.${decimals}`
}
