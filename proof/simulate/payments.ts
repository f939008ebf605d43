import { createHmac } from 'node:crypto'
import type { PaymentProvider, PaymentState } from '../../packages/core/src/billing/payment.ts'
import { later } from './clock.ts'
import type { Sold } from './model.ts'
import { answerIn, outside } from './outside.ts'
import { mixed } from './random.ts'
import { UNANSWERED } from './world.ts'

// A payment provider such as Stripe: it reports each change several times, late and in any order.

export const UNREACHABLE = 'payment provider unreachable'

const SECRET = 'the secret of the payment provider'

const sign = (body: Uint8Array): string => createHmac('sha256', SECRET).update(body).digest('hex')

/** A request of the service to the provider; it may fail before or after the provider has it. */
async function asked<T>(draw: number, work: () => T): Promise<T> {
  const kind = outside.model.calm ? 9 : draw % 10
  const fail = () => {
    outside.world.count(UNREACHABLE)
    throw new Error(UNREACHABLE)
  }
  if (kind === 0) return answerIn(300, fail)
  const value = work()
  return answerIn(5 + ((draw >>> 8) % (kind < 5 ? 3_000 : 100)), () =>
    kind === 1 ? fail() : value,
  )
}

const stateOf = ({
  status,
  reversed,
  disputed,
  session_id,
  amount,
  currency,
}: Sold): PaymentState => ({
  status,
  amount,
  currency,
  reversed,
  disputed,
  payment_id: status === 'open' ? null : `pi_${session_id}`,
})

export const payments: PaymentProvider = {
  name: 'stripe',
  open(order) {
    const { model, world } = outside
    const session_id = `cs_${order.purchase_id}`
    return asked(mixed(world.seed, model.drawn++), () => {
      if (!model.sold.has(session_id)) {
        const { purchase_id, workspace_id, amount, currency } = order
        const rest = { status: 'open', reversed: 0, disputed: false } as const
        model.sold.set(session_id, {
          session_id,
          purchase_id,
          workspace_id,
          amount,
          currency,
          ...rest,
        })
      }
      return { session_id, checkout_url: `https://pay.example/${session_id}` }
    })
  },
  read({ body, signature }) {
    const isSigned = signature === sign(body)
    return Promise.resolve(isSigned ? JSON.parse(new TextDecoder().decode(body)) : null)
  },
  orderOf(payment_id) {
    const { model, world } = outside
    return asked(
      mixed(world.seed, model.drawn++),
      () => model.sold.get(payment_id.slice('pi_'.length)) ?? null,
    )
  },
  look({ session_id }) {
    const { model, world } = outside
    world.count('payment look-ups')
    return asked(mixed(world.seed, model.drawn++), () => {
      const sold = model.sold.get(session_id)
      return sold ? stateOf(sold) : null
    })
  },
  refund({ session_id }) {
    const { model, world } = outside
    return asked(mixed(world.seed, model.drawn++), () => {
      const sold = model.sold.get(session_id)
      if (sold?.status === 'paid') change(sold, { reversed: sold.amount })
    })
  },
}

/** What payers and their banks do, and when. */
const PATTERNS: readonly (readonly [Partial<Sold>, number][])[] = [
  [[{ status: 'paid' }, 900]],
  [[{ status: 'paid' }, 4_000]],
  [[{ status: 'paid' }, 60_000]],
  [[{ status: 'failed' }, 2_000]],
  [[{ status: 'expired' }, 8_000]],
  [],
  [
    [{ status: 'failed' }, 1_000],
    [{ status: 'paid' }, 1_200],
  ],
  [
    [{ status: 'paid' }, 500],
    [{ reversed: 333 }, 3_000],
    [{ reversed: 700 }, 3_300],
  ],
  [
    [{ status: 'paid' }, 500],
    [{ reversed: 999, disputed: true }, 5_000],
    [{ reversed: 0, disputed: false }, 5_400],
  ],
  [
    [{ status: 'paid' }, 10],
    [{ reversed: 999, disputed: true }, 200],
  ],
]

/** The payer has the payment page. */
export function visit(session_id: string, fate: number): void {
  const sold = outside.model.sold.get(session_id)
  if (!sold) throw new Error(`${session_id} was never opened`)
  for (const [next, after_ms] of PATTERNS[fate % PATTERNS.length] ?? []) {
    later(() => change(sold, next), after_ms)
  }
}

function change(sold: Sold, next: Partial<Sold>): void {
  const { world, model } = outside
  Object.assign(sold, next)
  const { session_id, status, reversed } = sold
  world.trace(`payment ${world.nameOf('p', session_id)}: ${status}, ${reversed} reversed`)
  const draw = mixed(world.seed, model.drawn++)
  for (let copy = 0; copy <= draw % 3; copy++) {
    later(
      () => notify(sold, mixed(draw, copy)),
      1 + (mixed(draw, copy, 1) % (copy === 0 ? 60 : 6_000)),
    )
  }
}

/** A notification, which is repeated until it is answered. */
function notify({ session_id, status }: Sold, draw: number): void {
  const { world, model } = outside
  model.callbacks += 1
  const subject =
    status === 'paid' && draw % 2 === 0
      ? { session_id: null, payment_id: `pi_${session_id}` }
      : { session_id }
  const body = new TextEncoder().encode(JSON.stringify(subject))
  const isForged = draw % 8 === 1
  const at = world.nameOf('p', session_id)
  const send = async (): Promise<void> => {
    const signature = isForged ? 'forged' : sign(body)
    const answer = await world
      .ask((core) => core.billing.notify({ body, signature }))
      .catch((error: Error & { code?: string }) => error)
    const isRefused = answer instanceof Error && answer.code === 'validation_error'
    if (answer === UNANSWERED || (answer instanceof Error && !isRefused)) {
      world.trace(`payment ${at}: the notification has no answer`)
      return later(() => void send(), 2_500)
    }
    model.callbacks -= 1
    if (isRefused !== isForged) world.violate('a notification is verified', `${at}: ${answer}`)
    world.count('payment notifications')
    // A forged notification is not one of the provider's.
    if (isForged) later(() => notify(outside.model.sold.get(session_id) as Sold, 0), 10)
  }
  void send()
}
