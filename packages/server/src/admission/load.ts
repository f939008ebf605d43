import type { Endpoint } from '@svc/core/contract'
import { readSetting } from '../settings/readers.ts'

/**
 * The priority of a request under overload. The service refuses `bulk` first, then `lists` (all ordinary requests), then
 * `sends`; it never refuses `kept`. Source: contract section 1.
 */
export type Priority = 'bulk' | 'lists' | 'sends' | 'kept'

/** The load of the service. */
export interface Load {
  /** Requests that wait for a turn or run, including the current one. They do not count until their body arrived. */
  readonly requests: number
  /** The greater of two delays in milliseconds: of requests that wait for their turn, and of the event loop. */
  readonly delay_ms: number
}

/** The default load above which even sends are refused. 256 busy connections stay below the share of every priority. */
export const OVERLOAD: Load = {
  requests: readSetting('SVC_OVERLOAD_REQUESTS'),
  delay_ms: readSetting('SVC_OVERLOAD_DELAY_MS'),
}

/** The share of the bounds that each priority may use. */
const SHARES: Record<Priority, number> = {
  bulk: 0.25,
  lists: 0.5,
  sends: 1,
  kept: Number.POSITIVE_INFINITY,
}

/** The priority of an endpoint's requests. Sends and purchases are the endpoints that take an idempotency key. */
export function priorityOf(
  endpoint: Pick<Endpoint, 'rate' | 'signed_by' | 'idempotent'>,
): Priority {
  // Payment notifications, callbacks with receipts, and probes are `kept`.
  if (endpoint.signed_by || endpoint.rate === 'exempt') return 'kept'
  if (endpoint.rate === 'bulk') return 'bulk'
  return endpoint.idempotent ? 'sends' : 'lists'
}

/** Whether requests of this priority are refused under this load. */
export function isShed(priority: Priority, load: Load, bounds: Load): boolean {
  const share = SHARES[priority]
  return load.requests > bounds.requests * share || load.delay_ms > bounds.delay_ms * share
}
