import {
  createSandboxPayments,
  createStripePayments,
  type PaymentProvider,
  type Runtime,
  type SandboxPayments,
} from '@svc/core'
import type { Config } from '../settings/config.ts'

/** The payment provider of the service. */
export interface Payments {
  /** Undefined if there is none. Every purchase is then refused. */
  payments: PaymentProvider | undefined
  /** The same provider if it is the simulated provider, which needs a page. */
  sandbox_payments: SandboxPayments | undefined
}

const SECRET_BYTES = 32

/** Opens Stripe if it is set, otherwise simulated payments under `svc dev`. */
export async function openPayments(
  { stripe }: Pick<Config, 'stripe'>,
  { runtime, dev, public_url }: { runtime: Runtime; dev: boolean; public_url: () => string },
): Promise<Payments> {
  const { log, now, bytes } = runtime
  if (stripe) {
    const payments = await createStripePayments({ ...stripe, log, now, public_url })
    return { payments, sandbox_payments: undefined }
  }
  if (!dev) return { payments: undefined, sandbox_payments: undefined }
  // The process sends the notifications to itself, so each process can have a new secret.
  const secret = bytes(SECRET_BYTES).toString('hex')
  const sandbox_payments = createSandboxPayments({ secret, public_url, now })
  return { payments: sandbox_payments, sandbox_payments }
}
