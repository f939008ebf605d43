import type { PaymentProvider } from '@svc/core'
import { settingsOf } from './data-folder.ts'
import { misconfigured } from './failure.ts'
import type { Surroundings } from './surroundings.ts'

/**
 * The payment provider of that name, as the environment configures it.
 * @throws Failure where it is not configured.
 */
export async function paymentsOf(
  surroundings: Surroundings,
  name: string,
): Promise<PaymentProvider> {
  const [{ readConfig }, { createSandboxPayments, createStripePayments }] = await Promise.all([
    import('@svc/server'),
    import('@svc/core'),
  ])
  const { stripe, public_url } = readConfig(settingsOf(surroundings))
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
