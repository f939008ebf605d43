import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { invalid } from '../contract/errors.ts'
import { FORBIDDEN } from '../http/client.ts'
import { createResolver, type Dns } from './resolver.ts'

/** The addresses that the operator allows for deliveries: plain data that is sent to other threads. */
export interface TargetPolicy {
  /** Whether plain `http` is allowed; otherwise a target must be `https`. */
  allow_http: boolean
  /** Networks (CIDR) that deliveries may reach although they are not public. */
  allow_nets?: readonly string[]
  /** Where host names are looked up; default: the DNS servers of this machine. */
  dns?: Dns
  /** The time limit of one attempt; default: 15 s (`LIMITS.webhook_deadline_ms`). */
  deadline_ms?: number
}

export interface TargetGuard {
  /**
   * Checks that deliveries may go to this address. A name without an IP address passes, because it may get one later.
   * @throws SvcError `validation_error` if deliveries may not go to this address.
   */
  check(url: string): Promise<void>
  /** Whether deliveries may connect to this IP address. */
  isAllowed(address: string): boolean
  /** Finds the addresses of a name for a connection; fails if any of them is forbidden. */
  lookup: LookupFunction
}

/** Refuses deliveries to addresses that are not public, for every name and every notation of such an address. */
export function createTargetGuard(policy: TargetPolicy): TargetGuard {
  const isAllowed = createAddressCheck(policy.allow_nets ?? [])
  const resolve = createResolver(policy.dns ?? null)

  /** Returns all addresses of a name. Throws if any address is forbidden, because Node chooses the address that it uses. */
  async function addressesOf(hostname: string) {
    const addresses = await resolve(hostname)
    if (!addresses.every(({ address }) => isAllowed(address))) throw forbidden()
    return addresses
  }

  const lookup: LookupFunction = (hostname, { all }, done) => {
    addressesOf(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (all) done(null, addresses)
        else if (first) done(null, first.address, first.family)
      },
      (error) => done(error, []),
    )
  }

  return {
    async check(url) {
      const { protocol, hostname } = new URL(url)
      if (protocol !== 'https:' && !(protocol === 'http:' && policy.allow_http)) {
        throw invalid('url', 'url must be https')
      }
      const host = bare(hostname)
      const isPublic = isIP(host) ? isAllowed(host) : await isPublicName(host)
      if (!isPublic) throw invalid('url', 'url must not lead to a private or reserved address')
    },
    isAllowed,
    lookup,
  }

  async function isPublicName(host: string): Promise<boolean> {
    try {
      await addressesOf(host)
      return true
    } catch (error) {
      return (error as { code?: unknown }).code !== FORBIDDEN
    }
  }
}

/** A host without the brackets of an IPv6 address. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** The error for an address that deliveries must not reach. */
export function forbidden(): Error {
  return Object.assign(new Error('The target is not public'), { code: FORBIDDEN })
}

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
