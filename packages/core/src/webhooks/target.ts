import { isIP, type LookupFunction } from 'node:net'
import { invalid } from '../contract/errors.ts'
import { FORBIDDEN } from '../http/forbidden.ts'
import { createAddressCheck } from './addresses.ts'
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
