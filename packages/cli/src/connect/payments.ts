import type { PaymentProvider } from '@svc/core'
import { misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'

/**
 * Returns the payment provider `name` with the settings of the environment.
 * @throws Failure when the provider is not configured.
 */
export async function paymentsOf(io: ProcessIo, name: string): Promise<PaymentProvider> {
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
