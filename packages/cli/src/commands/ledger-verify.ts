import type { LedgerDifference, LedgerReport } from '@svc/core/operate'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { Failure } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { databaseUrl, withDatabase } from '../settings/database-option.ts'
import { counted } from '../show/counted.ts'
import { progressBars } from '../show/progress-bar.ts'
import { asUnreadable, withOneWorkspace, workspaceIdOf } from './ledger-options.ts'

interface VerifyOptions {
  database?: string
  workspace?: string
  fast?: boolean
}

/** Adds `svc ledger verify`. */
export function addLedgerVerify(ledger: Command, context: Context): void {
  const command = withDatabase(
    withOneWorkspace(
      ledger
        .command('verify')
        .summary('recompute every balance and compare')
        .description(
          `Recomputes every balance from its entries, and compares the entries with messages, bulks, refunds, purchases,
holds and lots. It reads one consistent snapshot and changes nothing. If it finds differences, it lists all of them and
exits with 1; their amounts are in whole micro-credits.`,
        ),
    ),
  )
    .option('--fast', 'compare rows only where sums differ: for very long histories')
    .action((options: VerifyOptions) => verify(context, options))
  withExamples(
    command,
    'svc ledger verify',
    'svc ledger verify --workspace ops@example.com --json',
    'svc ledger verify --database file:./restored.db',
  )
}

async function verify(
  context: Context,
  { workspace: selector, fast, database }: VerifyOptions,
): Promise<void> {
  const { io, output } = context
  const database_url = databaseUrl(io, database)
  const workspace_id = await workspaceIdOf(context, selector, database_url)
  const bars = progressBars(io, { isQuiet: output.isJson() || !output.isTerminal })
  const { verifyLedger } = await import('@svc/core/operate')
  const report = await verifyLedger(database_url, {
    workspace_id,
    fast,
    signal: stopSignalOf(io),
    onProgress: bars.report,
  })
    .catch((error: unknown) => {
      throw asUnreadable(error)
    })
    .finally(bars.end)
  if (output.isJson()) output.document(report)
  else show(context, report)
  if (!report.ok) {
    const { length } = report.differences
    const found = report.has_more
      ? `more than ${length} differences`
      : counted(length, 'difference')
    throw new Failure('ledger_differs', `the ledger is inconsistent: ${found}`)
  }
}

function show({ output }: Context, report: LedgerReport): void {
  const { workspaces, entries, messages, counter_accounts, differences } = report
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
      ['workspaces', String(entries), decimalOf(report.workspaces_balance)],
    ],
  )
  output.line(
    `The ledger is consistent: ${counted(entries, 'entry', 'entries')} of ${counted(workspaces, 'workspace')}, and ${counted(messages, 'message')}, with refunds, purchases, holds and lots.`,
  )
}

function cellsOf({ check, workspace_id, seq, about, stands, should }: LedgerDifference): string[] {
  return [check, workspace_id, seq === null ? '' : String(seq), about ?? '', stands, should]
}

/** Whole micro-credits as credits. Both are texts, because a sum over all workspaces may be too large for a number. */
function decimalOf(micro: string): string {
  const digits = micro.replace('-', '').padStart(7, '0')
  const decimals = digits.slice(-6).replace(/(?<!0)0+$/, '')
  const whole = `${micro.startsWith('-') ? '-' : ''}${digits.slice(0, -6)}`
  return decimals === '' ? whole : `${whole}.${decimals}`
}
