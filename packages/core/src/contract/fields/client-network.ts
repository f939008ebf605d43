import { isIP } from 'node:net'

/** How many leading bits of an address name a network: a multiple of 8 for IPv4, of 16 for IPv6. */
export interface NetworkBits {
  ipv4: 8 | 16 | 24 | 32
  ipv6: 16 | 32 | 48 | 64
}

/** What counts as one client: an IPv4 address, or the /64 that one IPv6 customer has at least. */
export const CLIENT_BITS: NetworkBits = { ipv4: 32, ipv6: 64 }

/**
 * Names the network that an IP address lies in, such as `192.0.2.0/24` or `2001:db8:1::/48`: every spelling of an address
 * gives one name, and an IPv4 address mapped into IPv6 gives that of the IPv4 one. Null for what is no IP address.
 */
export function networkOf(ip: string, bits: NetworkBits): string | null {
  const version = isIP(ip)
  if (version === 0) return null
  if (version === 4) return ipv4Network(ip.split('.'), bits.ipv4)
  const groups = groupsOf(ip)
  const [mark, high = 0, low = 0] = groups.slice(5)
  if (mark === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return ipv4Network([high >> 8, high & 255, low >> 8, low & 255], bits.ipv4)
  }
  const kept = groups.slice(0, bits.ipv6 / 16).map((group) => group.toString(16))
  return `${kept.join(':')}::/${bits.ipv6}`
}

function ipv4Network(octets: readonly (string | number)[], bits: number): string {
  const address = octets.map((octet, i) => (i < bits / 8 ? octet : 0)).join('.')
  return bits === 32 ? address : `${address}/${bits}`
}

/** Whether a host as one listens on or connects to it is this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}

/** The eight groups of an IPv6 address. A zone (`%eth0`) means nothing to others. */
function groupsOf(ip: string): number[] {
  // The URL parser writes an address in the one way of RFC 5952, dotted ends as groups.
  const text = new URL(`http://[${ip.replace(/%.*$/s, '')}]`).hostname.slice(1, -1)
  const [head = '', tail] = text.split('::')
  const read = (part = '') => part.split(':').flatMap((group) => (group ? parseInt(group, 16) : []))
  const [first, last] = [read(head), read(tail)]
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}
