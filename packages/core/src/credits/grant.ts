import type { Units } from '../contract/fields/units.ts'
import type { Operation, Reference } from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** Credits given without payment. */
export function grantOperation(
  runtime: Pick<Runtime, 'id' | 'now'>,
  grant: {
    amount: Units
    /** Booked once: a grant with the same reference again changes nothing. */
    reference: Reference
    campaign: string
    actor: string | null
    description: string | null
  },
): Operation {
  return {
    id: runtime.id(),
    kind: 'grant',
    amount: grant.amount,
    held_delta: 0 as Units,
    counter_account: `promo:${grant.campaign}`,
    reference: grant.reference,
    channel: null,
    quantity: null,
    unit_price: null,
    resolves: null,
    actor: grant.actor,
    description: grant.description,
    at: runtime.now(),
  }
}
