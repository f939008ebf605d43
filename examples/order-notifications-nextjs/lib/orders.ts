export interface Order {
  readonly id: string
  readonly phone: string
  /** The last known status of the notification, and the number of its change; null before the first event. */
  notification: { status: string; sequence: number } | null
}

/** Next.js may load this file once for each route, so the demo keeps its orders in `globalThis`. */
const shared = globalThis as typeof globalThis & { orders?: Map<string, Order> }

shared.orders ??= new Map([
  ['A1', { id: 'A1', phone: '+15005550006', notification: null }],
  ['A2', { id: 'A2', phone: '+15005550007', notification: null }],
])

/** The orders of the demo: replace this map with a table of your database. */
export const orders = shared.orders
