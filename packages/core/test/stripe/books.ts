import type { Charge, Dispute, Event, Intent, Movement, Refund, Session } from './objects.ts'

export interface AccountOptions {
  /** The account's clock. */
  now: () => Date
  livemode?: boolean
  /** Part of every id: two accounts of one service need different names. */
  name?: string
}

/** The books of an account at Stripe, and its events. */
export type Books = ReturnType<typeof createBooks>

/** Empty books. */
export function createBooks({ now, livemode = false, name = '' }: AccountOptions) {
  const intents = new Map<string, Intent>()
  const charges = new Map<string, Charge>()
  const movements: Movement[] = []
  let pending: Event[] = []
  let count = 0

  const id = (prefix: string) => `${prefix}_${name}${String(++count).padStart(6, '0')}`

  /** The event holds a copy of the object: later changes do not affect it. */
  function emit(type: string, object: Event['data']['object']): void {
    pending.push({
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
    emit,
    move,
    /** The charge of a payment. */
    chargeOf(intentId: string): Charge {
      return known(charges, known(intents, intentId).latest_charge)
    },
    /** The events since the last call. */
    takeEvents(): Event[] {
      const taken = pending
      pending = []
      return taken
    },
  }
}

/** @throws Error for an unknown id. */
export function known<T>(all: Map<string, T>, id: string | null): T {
  const one = id === null ? undefined : all.get(id)
  if (!one) throw new Error(`the account has no ${id}`)
  return one
}

/** @throws Error if `holds` is false. */
export function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}
