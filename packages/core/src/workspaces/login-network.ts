import { networkOf } from '../contract/fields/client-network.ts'

/**
 * The part of an address that is kept of a login: what a provider moves one customer about in, and too coarse to tell
 * where its owner was.
 */
const BITS = { ipv4: 24, ipv6: 48 } as const

/** The network that a login comes from; null where its address is unknown, or none. */
export function loginNetworkOf(address: string | null): string | null {
  return address === null ? null : networkOf(address, BITS)
}
