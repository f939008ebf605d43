import { isIP } from 'node:net'

/** The prefix length of a network: a multiple of 8 for IPv4, of 16 for IPv6. */
export interface NetworkBits {
  ipv4: 8 | 16 | 24 | 32
  ipv6: 16 | 32 | 48 | 64
}

/** The network of one client: an IPv4 address, or an IPv6 /64, the smallest network that an IPv6 customer gets. */
export const CLIENT_BITS: NetworkBits = { ipv4: 32, ipv6: 64 }

/**
 * The network of an IP address, such as `192.0.2.0/24` or `2001:db8:1::/48`. All spellings of an address give the same
 * text, and so does an IPv4 address that is mapped into IPv6. Null if `ip` is not an IP address.
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

/** Whether a host, to listen on or to connect to, is only this machine. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}

/** The eight groups of an IPv6 address, without its zone (`%eth0`). */
function groupsOf(ip: string): number[] {
  // The URL parser writes an address in the form of RFC 5952, and a dotted end as two groups.
  const text = new URL(`http://[${ip.replace(/%.*$/s, '')}]`).hostname.slice(1, -1)
  const [head = '', tail] = text.split('::')
  const read = (part = '') => part.split(':').flatMap((group) => (group ? parseInt(group, 16) : []))
  const [first, last] = [read(head), read(tail)]
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}
