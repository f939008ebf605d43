import type { Command } from 'commander'
import { findWorkspace, operatorOf, withCore, withWorkspace } from '../connect/operator.ts'
import { paymentsOf } from '../connect/payments.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { counted } from '../show/counted.ts'
import { purchaseDocument } from '../show/purchase-report.ts'

interface RefundOptions {
  workspace?: string
  yes?: boolean
}

/** Adds `svc billing refund`. */
export function addRefund(billing: Command, context: Context): void {
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
  const { email, purchase } = await withCore(io, async (core) => {
    const workspace = await findWorkspace(core, selector, io)
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
