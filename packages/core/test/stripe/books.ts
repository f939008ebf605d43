import type { Charge, Dispute, Event, Intent, Movement, Refund, Session } from './objects.ts'

export interface AccountOptions {
  /** The account's clock. */
  now: () => Date
  livemode?: boolean
  /** Part of every id: two accounts that tell one service need two. */
  name?: string
}

/** The books of an account at Stripe, and what it has told of them. */
export type Books = ReturnType<typeof createBooks>

/** Books without an entry. */
export function createBooks({ now, livemode = false, name = '' }: AccountOptions) {
  const intents = new Map<string, Intent>()
  const charges = new Map<string, Charge>()
  const movements: Movement[] = []
  let told: Event[] = []
  let count = 0

  const id = (prefix: string) => `${prefix}_${name}${String(++count).padStart(6, '0')}`

  /** The event holds the object as it is now, whatever becomes of it. */
  function tell(type: string, object: Event['data']['object']): void {
    told.push({
      id: id('evt'),
      object: 'event',
      api_version: '2026-10-28.endive',
      type,
      created: Math.floor(now().getTime() / 1000),
      livemode,
      data: { object: structuredClone(object) },
    })
  }

  function move(type: Movement['type'], amount: number, source: string): Movement {
    const movement: Movement = {
      id: id('txn'),
      object: 'balance_transaction',
      amount,
      type,
      source,
    }
    movements.push(movement)
    return movement
  }

  return {
    livemode,
    now,
    id,
    sessions: new Map<string, Session>(),
    intents,
    charges,
    refunds: new Map<string, Refund>(),
    disputes: new Map<string, Dispute>(),
    movements,
    tell,
    move,
    /** The charge by which a payment was made. */
    chargeOf(intentId: string): Charge {
      return known(charges, known(intents, intentId).latest_charge)
    },
    /** The events since the last call. */
    takeEvents(): Event[] {
      const taken = told
      told = []
      return taken
    },
  }
}

/** @throws Error where there is none of that id. */
export function known<T>(all: Map<string, T>, id: string | null): T {
  const one = id === null ? undefined : all.get(id)
  if (!one) throw new Error(`the account knows nothing of ${id}`)
  return one
}

/** @throws Error where it does not hold. */
export function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}
