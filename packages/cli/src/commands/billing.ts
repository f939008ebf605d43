import type { PaymentProvider, Purchase } from '@svc/core'
import type { SyncReport } from '@svc/core/operate'
import type { Command } from 'commander'
import {
  onOneOrAll,
  onWorkspace,
  operatorOf,
  withCore,
  withWorkspace,
} from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { readPast } from '../input/time.ts'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'
import { decodePage, listing, type PageOptions, readPage, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { progressBars } from '../show/progress-bar.ts'
import { counted } from '../show/text.ts'

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
  const [{ creditsOf, formatCredits }, { priceText }] = await Promise.all([
    import('@svc/core/contract'),
    import('@svc/server'),
  ])
  const { shown, paging } = await readPage(await decodePage(options), (slice) =>
    onOneOrAll(io, options.workspace, (core, workspace) => {
      const filter = { workspace_id: workspace?.id, status, in_review: options.review }
      return core.billing.purchases(filter, slice)
    }),
  )
  listing(output, {
    json: () => ({ purchases: shown.map((purchase) => purchaseDocument(purchase, creditsOf)) }),
    headings: ['CREATED', 'ID', 'WORKSPACE', 'STATUS', 'CREDITS', 'PRICE', 'AT PROVIDER', 'REVIEW'],
    rows: shown.map((purchase) => [
      purchase.created_at.toISOString(),
      purchase.id,
      purchase.workspace_id,
      statusCell(purchase),
      formatCredits(purchase.credits),
      priceText(purchase),
      purchase.payment_id ?? purchase.session_id ?? '',
      { text: purchase.review_reason ?? '', style: 'red' },
    ]),
    none: 'No purchases.',
    paging,
  })
}

function readStatus(text: string | undefined) {
  if (text === undefined) return undefined
  const status = PURCHASE_STATUSES.find((each) => each === text)
  if (status) return status
  throw usage(`--status must be one of ${PURCHASE_STATUSES.join(', ')}, got "${text}"`)
}

const STATUS_STYLES = {
  pending: 'dim',
  paid: 'green',
  failed: 'dim',
  expired: 'dim',
  refunded: 'yellow',
  disputed: 'red',
} as const

/** Every status of a purchase. */
const PURCHASE_STATUSES = Object.keys(STATUS_STYLES) as Purchase['status'][]

/** A purchase in JSON. Credits are numbers, and the price is in minor units of its currency. */
function purchaseDocument(
  purchase: Purchase,
  creditsOf: (amount: Purchase['credits']) => number,
): Record<string, unknown> {
  const { checkout_url: _url, success_url: _success, cancel_url: _cancel, ...shown } = purchase
  return { ...shown, credits: creditsOf(purchase.credits) }
}

/** The status as a cell of a table. */
function statusCell({ status }: Pick<Purchase, 'status'>): Cell {
  return { text: status, style: STATUS_STYLES[status] }
}

interface RefundOptions {
  workspace?: string
  yes?: boolean
}

/** Adds `svc billing refund`. */
function addRefund(billing: Command, context: Context): void {
  const refund = withWorkspace(
    billing
      .command('refund')
      .summary('refund a payment and take its credits')
      .description(
        `Refunds the rest of a payment, after a confirmation, and takes the credits; the balance may become negative. A
purchase in review granted no credits, and the refund closes it. You can repeat the command: no amount is refunded
twice.`,
      )
      .argument('<purchase-id>', 'the id of the purchase, as svc billing purchases shows it')
      .option('--yes', 'do not ask'),
  ).action((id: string, options: RefundOptions) => refundPurchase(context, id, options))
  withExamples(
    refund,
    'svc billing refund 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
    'svc billing refund 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --workspace ops@example.com --yes',
  )
}

async function refundPurchase(
  { io, output }: Context,
  purchaseId: string,
  { workspace: selector, yes }: RefundOptions,
): Promise<void> {
  const [{ creditsOf, formatCredits }, { priceText }] = await Promise.all([
    import('@svc/core/contract'),
    import('@svc/server'),
  ])
  const { email, purchase } = await onWorkspace(io, selector, async (core, workspace) => {
    return {
      email: workspace.email,
      purchase: await core.billing.purchase(workspace.id, purchaseId),
    }
  })
  const price = `${priceText(purchase)} for ${counted(formatCredits(purchase.credits), 'credit')}`
  const title =
    purchase.review_reason === null
      ? price
      : `the payment for ${purchase.id} (requested: ${price}; ${purchase.review_reason})`
  const payments = await paymentsOf(io, purchase.provider)
  if (!yes) await confirm(io, `Refund the rest of ${title} to ${email}?`)
  const { refunded, workspace } = await withCore(
    io,
    async (core) => ({
      refunded: await core.billing.refund(purchase.workspace_id, purchase.id, operatorOf(io)),
      workspace: await core.workspaces.account(purchase.workspace_id),
    }),
    { payments },
  )
  const { credits_balance } = workspace
  if (output.isJson()) {
    return output.document({
      purchase: purchaseDocument(refunded, creditsOf),
      credits_balance: creditsOf(credits_balance),
    })
  }
  const balance = `${email} has ${counted(formatCredits(credits_balance), 'credit')} available`
  const result = `${title[0]?.toUpperCase()}${title.slice(1)} is ${refunded.status}`
  output.line(
    refunded.status === purchase.status
      ? `${result}, as before: ${balance}.`
      : `${result}: ${balance}.`,
  )
}

interface SyncOptions {
  since: string
  workspace?: string
}

/** Adds `svc billing sync`. */
function addSync(billing: Command, context: Context): void {
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
  const report = await onOneOrAll(
    io,
    options.workspace,
    (core, workspace) => {
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

/**
 * Returns the payment provider `name` with the settings of the environment.
 * @throws Failure when the provider is not configured.
 */
async function paymentsOf(io: ProcessIo, name: string): Promise<PaymentProvider> {
  const [{ readConfig }, { createSandboxPayments, createStripePayments }] = await Promise.all([
    import('@svc/server'),
    import('@svc/core'),
  ])
  const { stripe, public_url } = readConfig(settingsOf(io))
  const now = () => new Date()
  // The sandbox needs no secret, because it verifies nothing here.
  if (name === 'sandbox') {
    return createSandboxPayments({ secret: '', public_url: () => public_url, now })
  }
  if (stripe && name === 'stripe') return createStripePayments({ ...stripe, now })
  throw misconfigured(
    'Stripe is not configured: set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET to the values of the server',
  )
}
