import type { Command } from 'commander'
import { findWorkspace, withCore } from '../connect/operator.ts'
import { type Context, type PageOptions, withExamples, withPage } from '../context.ts'
import { usage } from '../process/failure.ts'
import { PURCHASE_STATUSES, purchaseDocument, statusCell } from '../show/purchase-report.ts'
import { addRefund } from './billing-refund.ts'
import { addSync } from './billing-sync.ts'

interface ListOptions extends PageOptions {
  workspace?: string
  status?: string
  review?: boolean
}

/** Adds `svc billing`: purchases, in the database and at the payment provider. */
export function addBilling(program: Command, context: Context): void {
  const billing = program
    .command('billing')
    .summary('list and refund purchases, and synchronize them with Stripe (operator)')
    .description(
      `Lists and refunds purchases, and corrects them after lost notifications of Stripe. It works on the database; the server may
run meanwhile. It reads STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET from the environment.`,
    )
  withExamples(billing, 'svc billing purchases', 'svc billing sync --since 30d')

  const purchases = withPage(
    billing
      .command('purchases')
      .summary('list purchases')
      .description(
        `Lists purchases, newest first, with their ids at Stripe. The last column has the reason why an operator must review a
purchase; no credits are granted for it until then.`,
      )
      .option('--workspace <id-or-email>', 'only purchases of this workspace')
      .option(
        '--status <status>',
        `only purchases with this status: ${PURCHASE_STATUSES.join(', ')}`,
      )
      .option('--review', 'only purchases that an operator must review'),
  ).action((options: ListOptions) => listPurchases(context, options))
  withExamples(
    purchases,
    'svc billing purchases --review',
    'svc billing purchases --workspace ops@example.com --status paid',
  )
  addRefund(billing, context)
  addSync(billing, context)
}

async function listPurchases({ io, output }: Context, options: ListOptions): Promise<void> {
  const status = readStatus(options.status)
  const [{ api, creditsOf, decode, formatCredits }, { priceText }] = await Promise.all([
    import('@svc/core/contract'),
    import('@svc/server'),
  ])
  const { page = 1, limit } = decode(api.api_keys.list.query, {
    page: options.page,
    limit: options.limit,
  })
  const found = await withCore(io, async (core) => {
    const { workspace: selector, review: in_review } = options
    const workspace = selector === undefined ? null : await findWorkspace(core, selector, io)
    const filter = { workspace_id: workspace?.id, status, in_review }
    return core.billing.purchases(filter, { limit: limit + 1, offset: (page - 1) * limit })
  })
  const shown = found.slice(0, limit)
  if (output.isJson()) {
    return output.document({
      purchases: shown.map((purchase) => purchaseDocument(purchase, creditsOf)),
    })
  }
  output.table(
    ['CREATED', 'ID', 'WORKSPACE', 'STATUS', 'CREDITS', 'PRICE', 'AT PROVIDER', 'REVIEW'],
    shown.map((purchase) => [
      purchase.created_at.toISOString(),
      purchase.id,
      purchase.workspace_id,
      statusCell(purchase),
      formatCredits(purchase.credits),
      priceText(purchase),
      purchase.payment_id ?? purchase.session_id ?? '',
      { text: purchase.review_reason ?? '', style: 'red' },
    ]),
  )
  if (found.length === 0) output.note('No purchases.')
  if (found.length > limit) output.note(`More: --page ${page + 1}`)
}

function readStatus(text: string | undefined) {
  if (text === undefined) return undefined
  const status = PURCHASE_STATUSES.find((each) => each === text)
  if (status) return status
  throw usage(`--status must be one of ${PURCHASE_STATUSES.join(', ')}, got "${text}"`)
}
