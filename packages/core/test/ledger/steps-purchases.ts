import { createBilling } from '../../src/billing/billing.ts'
import type { PaymentProvider, PaymentState } from '../../src/billing/payment.ts'
import type { Units } from '../../src/contract/fields/units.ts'
import type { Operation } from '../../src/rules/decide.ts'
import { post } from '../storage/ledger-model.ts'
import type { ModelPurchase } from './books.ts'
import type { History, Step } from './history.ts'

const PRICE = 3_000
const CREDITS = [7, 10_000_003, 50_000_000]

/** Begins a purchase, or reports one: paid, refunded in part or whole, won back, or paid with another amount. */
export const purchaseSome: Step = async (history) => {
  const { random, books, storage, clock } = history
  const known = books.purchases
  if (known.length === 0 || random.oneIn(4)) return begin(history)
  const purchase = random.pick(known)
  const isWrong = random.oneIn(8)
  const state: PaymentState = {
    status: random.pick(['open', 'paid', 'paid', 'paid', 'paid', 'paid', 'failed', 'expired']),
    amount: isWrong ? random.pick([PRICE - 1, PRICE + 1, 1]) : PRICE,
    currency: random.oneIn(20) ? 'EUR' : 'USD',
    reversed: random.pick([0, 0, 1, 999, 1_500, PRICE, PRICE + 1]),
    disputed: random.oneIn(3),
  }
  const payments: PaymentProvider = {
    name: 'played',
    open: async () => null,
    read: async () => ({ session_id: `session of ${purchase.id}` }),
    look: async () => state,
    refund: async () => {},
  }
  const billing = createBilling({ storage, runtime: clock, packages: [], payments })
  await billing.notify({ body: new Uint8Array(), signature: undefined })
  foretell(history, purchase, state)
  const what = `notify of ${purchase.id}: ${JSON.stringify(state)}`
  return { what, operations: 1, refused: false, answer: null, foretold: null }
}

async function begin({ random, ids, make, storage, books }: History) {
  const workspace_id = random.pick(ids)
  const credits = random.pick(CREDITS)
  const row = make.purchase(workspace_id, { credits: credits as Units, amount: PRICE })
  await storage.write(({ purchases }) => purchases.insert(row))
  const { id } = row
  books.purchases.push({
    workspace_id,
    id,
    credits,
    corrections: 0,
    paid: false,
    booked: false,
    sum: 0,
  })
  const what = `begin purchase ${id} of ${credits}`
  return { what, operations: 1, refused: false, answer: null, foretold: null }
}

/** The credits follow the value of the payment, whatever was reported before; a returned wrong payment is worth 0. */
function foretell({ model, clock }: History, purchase: ModelPurchase, state: PaymentState): void {
  const isWrong = state.amount !== PRICE || state.currency !== 'USD'
  const isBack = state.status === 'paid' && state.reversed >= state.amount
  if (isWrong && !isBack) return
  const { workspace_id, id, credits, sum, booked } = purchase
  const back = isBack ? credits : Math.floor((credits * state.reversed) / PRICE)
  const target = state.status === 'paid' ? credits - back : 0
  const kind = booked ? 'purchase_adjust' : 'purchase'
  purchase.paid ||= state.status === 'paid'
  purchase.sum = target
  if (target === sum) return
  if (booked) purchase.corrections += 1
  purchase.booked = true
  const reference = { type: 'purchase', id, n: booked ? purchase.corrections : 0 }
  const operation = { kind, amount: target - sum, held_delta: 0, reference, at: clock.now() }
  const posted = post(model, workspace_id, operation as Operation)
  if (posted !== 'booked') throw new Error(`the model cannot book: ${JSON.stringify(posted)}`)
}
