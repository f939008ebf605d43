import type { Context } from '../context.ts'
import type { Cell } from '../show/output.ts'
import type { Check } from './check-rows.ts'
import type { RunState } from './read-results.ts'
import type { RowResult, Totals } from './totals.ts'

/** The maximum number of rejected rows that are shown to people. */
const SHOWN_MAX = 50

/** Shows a check: first the rejected rows, then the cost of the others. */
export async function reportCheck({ output }: Context, check: Check): Promise<void> {
  const { formatCredits } = await import('@svc/core/contract')
  const { totals, rejected, suppressed, balance, block_reason } = check
  if (rejected.length > 0) {
    output.table(['LINE', 'TO', 'REASON'], rejected.slice(0, SHOWN_MAX).map(rejectedCells))
    const more = totals.rejected - Math.min(rejected.length, SHOWN_MAX)
    if (more > 0) output.note(`… and ${more} more`)
  }
  output.fields([
    ['rows', String(totals.rows)],
    ['to be sent', String(totals.accepted)],
    ['rejected', String(totals.rejected)],
    ['suppressed', suppressed > 0 ? `${suppressed} of them` : null],
    ['duplicates', String(totals.duplicates)],
    ['credits', formatCredits(totals.credits)],
    ['balance', formatCredits(balance)],
    ['blocked', block_reason === null ? null : { text: block_reason, style: 'red' }],
  ])
}

/** A check in JSON, with the first 1,000 rejected rows. */
export async function checkDocument(check: Check): Promise<Record<string, unknown>> {
  const { creditsOf } = await import('@svc/core/contract')
  const { totals, rejected, suppressed, balance, block_reason } = check
  return {
    dry_run: true,
    ...(await totalsDocument(totals)),
    suppressed,
    credits_balance: creditsOf(balance),
    block_reason,
    errors: rejected,
  }
}

/** Shows the result of a run. */
export async function reportRun(
  { output }: Context,
  { totals, bulk_id, run }: RunState,
  path: string,
): Promise<void> {
  if (output.isJson()) {
    output.document({
      run_id: run.run_id,
      results: path,
      rows_total: run.rows,
      ...(await totalsDocument(totals)),
      last_bulk_id: bulk_id,
    })
    return
  }
  const { formatCredits } = await import('@svc/core/contract')
  output.fields([
    ['rows', totals.rows === run.rows ? String(run.rows) : `${totals.rows} of ${run.rows}`],
    ['accepted', { text: String(totals.accepted), style: 'green' }],
    ['rejected', String(totals.rejected)],
    ['duplicates', String(totals.duplicates)],
    ['credits', formatCredits(totals.credits)],
    ['results', path],
  ])
}

async function totalsDocument({ rows, accepted, rejected, duplicates, credits }: Totals) {
  const { creditsOf } = await import('@svc/core/contract')
  return { rows, accepted, rejected, duplicates, credits_used: creditsOf(credits) }
}

function rejectedCells({ line, to, contact_id, error = '' }: RowResult): Cell[] {
  return [String(line), to ?? contact_id ?? '', { text: error, style: 'red' }]
}
