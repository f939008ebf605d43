import { CLIENT_BITS, networkOf } from '../contract/fields/client-network.ts'
import type { ReceiverHostRow } from '../rows/rows.ts'

/**
 * A webhook that never got a 2xx waits at the gate of its host: one delivery is in flight to the host, over all workspaces,
 * and each answer but a 2xx counts as a failure of the host. Its owner may never have asked for webhooks.
 */

/** The name of the host of a URL, without the port. */
export function gateHostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '')
}

/**
 * The name of the gate of an address: an IPv4 address, or an IPv6 /64. After its first failed attempt a webhook waits there, because
 * one server can have any number of names. Servers of a shared address share its gate only until their first 2xx.
 */
export function gateOfAddress(address: string): string | null {
  return networkOf(address, CLIENT_BITS)?.replace(/\/32$/, '') ?? null
}

/** A webhook without a 2xx in this number of attempts in a row returns to the gate: its host may have a new owner. */
export const GATE_CLOSES_AFTER = 200

/** The number of failures in a row from which on the host waits, and each of these waits. */
const WAITS_AFTER = 5
const WAITS_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000]

/** The number of webhooks at gates that one claim looks at; the next claim continues after them. */
export const GATES_MAX = 2_000

/** The failures of a host are forgotten after this time without an attempt. */
export const GATE_FORGETS_MS = 24 * 3_600_000

/** A time at the gate that is further away than this was written by a clock that was ahead. */
export const GATE_WAIT_MAX_MS = 3_600_000

/**
 * The host after an attempt at its gate that began `at`; its waits count from then. A 2xx clears the failures, because the host
 * takes webhooks, but it confirms one webhook and not the others. `succeeded` is null if the result is not known.
 */
export function hostAfter(
  { host, failures: before, waits_until }: ReceiverHostRow,
  { succeeded, at }: { succeeded: boolean | null; at: Date },
): ReceiverHostRow {
  if (succeeded === null) return { host, failures: before, held_until: null, waits_until }
  const isForgotten = succeeded || at.getTime() - waits_until.getTime() > GATE_FORGETS_MS
  const failures = (isForgotten ? 0 : before) + (succeeded ? 0 : 1)
  const step = Math.min(failures - WAITS_AFTER, WAITS_MS.length - 1)
  const wait_ms = WAITS_MS[step] ?? 0
  return { host, failures, held_until: null, waits_until: new Date(at.getTime() + wait_ms) }
}
