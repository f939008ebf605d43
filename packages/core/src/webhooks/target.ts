import { isIP, type LookupFunction } from 'node:net'
import { invalid } from '../contract/errors.ts'
import { type Connector, createConnector, FORBIDDEN } from '../http/client.ts'
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
  /** Connects to allowed addresses only, by https unless http is allowed. Checks the address that it connects to. */
  connect: Connector
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

  const connectTo = createConnector({ lookup })

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
    connect(options, done) {
      // The webhook may be older than the policy.
      if (options.protocol !== 'https:' && !policy.allow_http) return done(forbidden(), null)
      const host = bare(options.hostname)
      // Node does not look up a host that is an address, so `lookup` does not check it.
      if (isIP(host) && !isAllowed(host)) return done(forbidden(), null)
      connectTo(options, (...[error, socket]) => {
        if (error) return done(error, null)
        if (isAllowed(socket.remoteAddress ?? '')) return done(null, socket)
        socket.destroy()
        done(forbidden(), null)
      })
    },
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

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function forbidden(): Error {
  return Object.assign(new Error('The target is not public'), { code: FORBIDDEN })
}
