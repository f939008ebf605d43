import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/** Addresses in public ranges that are internal: the host of Azure's virtual machines, the anycast addresses of 6to4. */
const RESERVED: readonly Network[] = ['168.63.129.16/32', '192.88.99.0/24'].map(networkOf)

/** Addresses that contain an IPv4 address and reach it. RFC 4291 section 2.5.5.2, RFC 6052 section 2.1. */
const MAPPED = networkOf('::ffff:0:0/96')
const NAT64 = networkOf('64:ff9b::/96')

/** All of global unicast; the rest of IPv6 has special purposes. RFC 4291 section 2.4. */
const GLOBAL = networkOf('2000::/3')

/**
 * Returns a function that checks an address for deliveries. It accepts public unicast addresses and the networks (CIDR) that
 * the operator allows, and refuses a text that is not an address. Ranges: RFC 6890.
 * @throws Error for a text that is not a network.
 */
export function createAddressCheck(allowNets: readonly string[]): (address: string) => boolean {
  const allowed = allowNets.map(networkOf)
  return (text) => {
    // A zone names an interface of this machine.
    if (text.includes('%') || !ipaddr.isValid(text)) return false
    const address = embedded(ipaddr.parse(text))
    if (isIn(address, allowed)) return true
    if (address.range() !== 'unicast' || isIn(address, RESERVED)) return false
    return address.kind() === 'ipv4' || isIn(address, [GLOBAL])
  }
}

function networkOf(text: string): Network {
  const [address, bits] = ipaddr.parseCIDR(text.includes('/') ? text : `${text}/${bitsOf(text)}`)
  return [address, bits]
}

function bitsOf(address: string): number {
  return ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128
}

function isIn(address: Address, networks: readonly Network[]): boolean {
  return networks.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  )
}

function embedded(address: Address): Address {
  if (!isIn(address, [MAPPED, NAT64])) return address
  return ipaddr.fromByteArray(address.toByteArray().slice(-4))
}
