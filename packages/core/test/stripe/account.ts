import { type AccountOptions, createBooks, known } from './books.ts'
import { disputeSteps } from './dispute-steps.ts'
import { paymentSteps } from './payment-steps.ts'
import { returnSteps } from './return-steps.ts'

/** An account at Stripe: its books and the steps of payments, each of which emits its events. */
export type Account = ReturnType<typeof createAccount>

/** An account without payments. */
export function createAccount(options: AccountOptions) {
  const books = createBooks(options)
  const { sessions, intents, movements } = books
  return {
    ...books,
    ...paymentSteps(books),
    ...returnSteps(books),
    ...disputeSteps(books),
    /** The part of a session's payment that we keep, according to the movements of the account. */
    kept(sessionId: string): number {
      const { payment_intent } = known(sessions, sessionId)
      const charge = payment_intent && intents.get(payment_intent)?.latest_charge
      return movements
        .filter(({ source }) => source === charge)
        .reduce((sum, { amount }) => sum + amount, 0)
    },
  }
}
