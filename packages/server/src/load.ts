import type { Endpoint } from '@svc/core/contract'
import { readSetting } from './settings/readers.ts'

/**
 * What a request is worth to a service that has too much to do: it refuses bulk first, then lists and whatever else is
 * ordinary, then sends; what is `kept` it never refuses. Source: contract section 1.
 */
export type Priority = 'bulk' | 'lists' | 'sends' | 'kept'

/** How much there is to do. */
export interface Load {
  /** Requests that wait for their turn or are worked on, the one that asks included; those whose body is still coming are not. */
  readonly requests: number
  /** How long requests wait for their turn, or how late the event loop has been for a while, in milliseconds. */
  readonly delay_ms: number
}

/** The default of the load beyond which even sends are refused. 256 busy connections stay below every share of it. */
export const OVERLOAD: Load = {
  requests: readSetting('SVC_OVERLOAD_REQUESTS'),
  delay_ms: readSetting('SVC_OVERLOAD_DELAY_MS'),
}

/** How much of the bound each may use. */
const SHARES: Record<Priority, number> = {
  bulk: 0.25,
  lists: 0.5,
  sends: 1,
  kept: Number.POSITIVE_INFINITY,
}

/**
 * What an endpoint's requests are worth. Those that may be repeated under a key are sends and purchases: what brings
 * messages and money in.
 */
export function priorityOf(
  endpoint: Pick<Endpoint, 'rate' | 'signed_by' | 'idempotent'>,
): Priority {
  // Whoever tells of a payment or a receipt is heard, and so is a probe.
  if (endpoint.signed_by || endpoint.rate === 'exempt') return 'kept'
  if (endpoint.rate === 'bulk') return 'bulk'
  return endpoint.idempotent ? 'sends' : 'lists'
}

/** Whether requests of that priority are refused for now. */
export function isShed(priority: Priority, load: Load, bounds: Load): boolean {
  const share = SHARES[priority]
  return load.requests > bounds.requests * share || load.delay_ms > bounds.delay_ms * share
}
