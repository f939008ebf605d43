import type { Purchase } from '@svc/core'
import type { Cell } from './output.ts'

const STATUS_STYLES = {
  pending: 'dim',
  paid: 'green',
  failed: 'dim',
  expired: 'dim',
  refunded: 'yellow',
  disputed: 'red',
} as const

/** Every status of a purchase. */
export const PURCHASE_STATUSES = Object.keys(STATUS_STYLES) as Purchase['status'][]

/** A purchase in JSON. Credits are numbers, and the price is in minor units of its currency. */
export function purchaseDocument(
  purchase: Purchase,
  creditsOf: (amount: Purchase['credits']) => number,
): Record<string, unknown> {
  const { checkout_url: _url, success_url: _success, cancel_url: _cancel, ...shown } = purchase
  return { ...shown, credits: creditsOf(purchase.credits) }
}

/** The status as a cell of a table. */
export function statusCell({ status }: Pick<Purchase, 'status'>): Cell {
  return { text: status, style: STATUS_STYLES[status] }
}
