import type { PaymentProvider } from '@svc/core'
import { misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'

/**
 * The payment provider of that name, as the environment configures it.
 * @throws Failure where it is not configured.
 */
export async function paymentsOf(io: ProcessIo, name: string): Promise<PaymentProvider> {
  const [{ readConfig }, { createSandboxPayments, createStripePayments }] = await Promise.all([
    import('@svc/server'),
    import('@svc/core'),
  ])
  const { stripe, public_url } = readConfig(settingsOf(io))
  const now = () => new Date()
  // It keeps no books but our own, and is told nothing here that it would have to check.
  if (name === 'sandbox') {
    return createSandboxPayments({ secret: '', public_url: () => public_url, now })
  }
  if (stripe && name === 'stripe') return createStripePayments({ ...stripe, now })
  throw misconfigured(
    'Stripe cannot be asked: set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET, as the server has them',
  )
}
