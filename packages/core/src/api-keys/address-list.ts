import { BlockList, isIPv6 } from 'node:net'

export interface AddressList {
  has(address: string): boolean
}

/** A list of IP addresses and CIDR networks, parsed once. An IPv4-mapped IPv6 address counts as the IPv4 one. */
export function addressList(networks: readonly string[]): AddressList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return { has: (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') }
}
