import type { Transaction } from '../contract/billing.ts'
import type { Channel } from '../contract/content.ts'
import { units } from '../contract/units.ts'
import type { Entry } from '../credits/decide.ts'

/**
 * An entry of the ledger as its workspace sees it: by what is available, which is what `credits_balance` says. Every
 * entry is one, holds too, so that each `balance_after` is the one before it and `credits`.
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
