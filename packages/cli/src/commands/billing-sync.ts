import type { SyncReport } from '@svc/core/operate'
import type { Command } from 'commander'
import { findWorkspace, withCore } from '../connect/operator.ts'
import { paymentsOf } from '../connect/payments.ts'
import { type Context, withExamples } from '../context.ts'
import { readPast } from '../input/time.ts'
import { Failure } from '../process/failure.ts'
import { counted } from '../show/counted.ts'
import { progressBars } from '../show/progress-bar.ts'
import { statusCell } from '../show/purchase-report.ts'

interface SyncOptions {
  since: string
  workspace?: string
}

/** Adds `svc billing sync`. */
export function addSync(billing: Command, context: Context): void {
  const sync = billing
    .command('sync')
    .summary('correct purchases after lost notifications of Stripe')
    .description(
      `Compares each purchase with its payment at Stripe. Corrects the purchase and its credits if the notification of a
payment, refund or dispute was lost. You can repeat the command: no correction is booked twice. Exits with 1 when some
purchases could not be checked; those purchases do not change.`,
    )
    .option(
      '--since <time>',
      'purchases at or after: ISO 8601, or a duration before now such as 2h',
      '30d',
    )
    .option('--workspace <id-or-email>', 'only the purchases of this workspace')
    .action((options: SyncOptions) => syncPurchases(context, options))
  withExamples(
    sync,
    'svc billing sync',
    'svc billing sync --since 90d --workspace ops@example.com',
    'svc billing sync --since 2026-05-01 --json',
  )
}

async function syncPurchases(context: Context, options: SyncOptions): Promise<void> {
  const { io, output } = context
  const { creditsOf } = await import('@svc/core/contract')
  const since = await readPast('--since', options.since)
  const payments = await paymentsOf(io, 'stripe')
  const bars = progressBars(io, { isQuiet: output.isJson() })
  const report = await withCore(
    io,
    async (core) => {
      const { workspace: selector } = options
      const workspace = selector === undefined ? null : await findWorkspace(core, selector, io)
      const onProgress = (progress: { done: number; total: number }) =>
        bars.report({ name: 'purchases', ...progress })
      return core.billing.sync({ since, workspaceId: workspace?.id, onProgress })
    },
    { payments },
  ).finally(() => bars.end())
  if (output.isJson()) {
    const changed = report.changed.map((one) => ({ ...one, credits: creditsOf(one.credits) }))
    output.document({ since: since.toISOString(), ...report, changed })
  } else await showReport(context, report)
  const { failed } = report
  if (failed.length > 0) {
    throw new Failure(
      'incomplete',
      `${counted(failed.length, 'purchase')} could not be checked: run the command again later`,
    )
  }
}

async function showReport({ output }: Context, report: SyncReport): Promise<void> {
  const { formatCredits } = await import('@svc/core/contract')
  const { looked, changed, failed } = report
  if (changed.length > 0) {
    output.table(
      ['PURCHASE', 'WORKSPACE', 'WAS', 'IS', 'CREDITS', 'REVIEW'],
      changed.map((one) => [
        one.purchase_id,
        one.workspace_id,
        one.was,
        statusCell(one),
        `${one.credits > 0 ? '+' : ''}${formatCredits(one.credits)}`,
        { text: one.review_reason ?? '', style: 'red' },
      ]),
    )
  }
  for (const { purchase_id, error } of failed) output.note(`${purchase_id}: ${error}`)
  output.note(`${looked} checked, ${changed.length} changed.`)
}
