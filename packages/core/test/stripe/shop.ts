import { createBilling } from '../../src/billing/billing.ts'
import type { Notification, PaymentProvider } from '../../src/billing/payment.ts'
import { createStripePayments, type StripeOptions } from '../../src/billing/stripe.ts'
import { parseCredits } from '../../src/contract/fields/units.ts'
import type { CreditPackage } from '../../src/contract/resources/billing.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { builders, type TestRuntime } from '../fixtures.ts'
import { EVERYTHING } from '../storage/bench.ts'
import type { LocalStripe } from './local-stripe.ts'

const named = (id: string, credits: string, amount: number, currency: string): CreditPackage => ({
  id,
  name: `The ${id} one`,
  description: '',
  credits: parseCredits(credits),
  bonus_credits: parseCredits('0.000001'),
  price: { amount, currency },
})

/** One for each kind of currency: with cents, without decimals, and with three decimals. */
export const PACKAGES = [
  named('starter', '1000', 3_000, 'USD'),
  named('yen', '7', 999, 'JPY'),
  named('dinar', '0.00001', 12_340, 'KWD'),
]

/** A workspace that buys credits through the simulated Stripe. */
export type Shop = Awaited<ReturnType<typeof openShop>>

/** Opens a shop on a storage; over HTTP if `api_url` is set. */
export async function openShop(
  stripe: LocalStripe,
  storage: Storage,
  { runtime, ...options }: { runtime: TestRuntime } & Partial<StripeOptions>,
) {
  const payments: PaymentProvider = await createStripePayments({
    secret_key: stripe.secret_key,
    webhook_secrets: [stripe.webhook_secret],
    now: runtime.now,
    retries_max: 0,
    ...(options.api_url === undefined && { transport: stripe.transport }),
    ...options,
  })
  const billingOn = (books: Storage) =>
    createBilling({ storage: books, runtime, packages: PACKAGES, payments })
  const billing = billingOn(storage)
  const workspace = builders(runtime).workspace()
  const workspaceId = workspace.id
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(workspace)
    await credits.open(workspaceId, runtime.now())
  })

  return {
    stripe,
    payments,
    billing,
    /** Billing on another storage over the same database. */
    billingOn,
    workspaceId,
    buy: async (package_id = 'starter', idempotency_key?: string) =>
      (await billing.checkout(workspaceId, { package_id }, { idempotency_key })).data,
    purchase: (id: string) => billing.purchase(workspaceId, id),
    balance: async () => (await storage.read.credits.account(workspaceId))?.balance,
    /** The ledger entries, oldest first. */
    entries: async () => (await storage.read.credits.entries(workspaceId, EVERYTHING)).reverse(),
    /** The payment of a session at Stripe. */
    paymentOf(sessionId: string): string {
      const payment = stripe.sessions.get(sessionId)?.payment_intent
      if (!payment) throw new Error(`${sessionId} has no payment`)
      return payment
    },
    /** Sends the new events of Stripe in order, and returns them. */
    async deliverEvents() {
      const events = stripe.takeEvents()
      for (const event of events) await billing.notify(stripe.sign(event))
      return events
    },
    notify: (notification: Notification) => billing.notify(notification),
  }
}
