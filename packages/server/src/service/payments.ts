import {
  createSandboxPayments,
  createStripePayments,
  type PaymentProvider,
  type Runtime,
  type SandboxPayments,
} from '@svc/core'
import type { Config } from '../settings/config.ts'

/** Who takes payments. */
export interface Payments {
  /** Undefined: nobody, and every purchase is refused. */
  payments: PaymentProvider | undefined
  /** The same, where it is only played: it needs a page to decide on. */
  sandbox_payments: SandboxPayments | undefined
}

const SECRET_BYTES = 32

/** Stripe where it is set; else, where the service is only tried, payments that are played. */
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
  // What signs their notifications need not outlive the process, which sends them to itself.
  const secret = bytes(SECRET_BYTES).toString('hex')
  const sandbox_payments = createSandboxPayments({ secret, public_url, now })
  return { payments: sandbox_payments, sandbox_payments }
}
