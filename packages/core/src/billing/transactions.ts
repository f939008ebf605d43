import { units } from '../contract/fields/units.ts'
import type { Transaction } from '../contract/resources/billing.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Entry } from '../rules/decide.ts'

/**
 * A ledger entry as its workspace sees it: amounts are changes of the available credits, as in `credits_balance`. Holds
 * are entries too, so each `balance_after` is the `balance_after` of the previous entry plus `credits`.
 */
export function transactionOf(entry: Entry): Transaction {
  return {
    id: entry.id,
    type: entry.kind,
    credits: units(entry.amount - entry.held_delta),
    balance_after: units(entry.balance_after - entry.held_after),
    description: entry.description,
    channel: entry.channel as Channel | null,
    reference: { type: entry.ref_type, id: entry.ref_id },
    created_at: entry.created_at,
  }
}
