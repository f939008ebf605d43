import { isIP, type LookupFunction } from 'node:net'
import { invalid } from '../contract/errors.ts'
import { type Connector, createConnector, FORBIDDEN } from '../http/client.ts'
import { createAddressCheck } from './addresses.ts'
import { createResolver, type Dns } from './resolver.ts'

/** Where the operator lets deliveries go. Plain data: threads get it too. */
export interface TargetPolicy {
  /** Whether plain `http` is allowed; otherwise a target is `https`. */
  allow_http: boolean
  /** Networks (CIDR) that deliveries may reach although they are not public. */
  allow_nets?: readonly string[]
  /** Who finds the addresses of host names; the servers of this machine unless told. */
  dns?: Dns
  /** How long one try may take; 15 s (`LIMITS.webhook_deadline_ms`) unless told. */
  deadline_ms?: number
}

export interface TargetGuard {
  /**
   * Whether deliveries may go there, as far as can be told now: a name that has no address yet may get one.
   * @throws SvcError `validation_error` for one that they may not go to.
   */
  check(url: string): Promise<void>
  /** Connects to allowed addresses alone, and by https unless http is allowed: those that were looked at are those that are connected to. */
  connect: Connector
}

/** Keeps deliveries from what is not public, whatever name, form or redirection an address hides behind. */
export function createTargetGuard(policy: TargetPolicy): TargetGuard {
  const isAllowed = createAddressCheck(policy.allow_nets ?? [])
  const resolve = createResolver(policy.dns ?? null)

  /** All addresses of a name; none of them where one is forbidden: which is used is not ours to choose. */
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
      const isPublic = isIP(host) ? isAllowed(host) : await leadsOut(host)
      if (!isPublic) throw invalid('url', 'url must not lead to a private or reserved address')
    },
    connect(options, done) {
      // The address may be older than the policy.
      if (options.protocol !== 'https:' && !policy.allow_http) return done(forbidden(), null)
      const host = bare(options.hostname)
      // Whoever is asked for by address is never looked up.
      if (isIP(host) && !isAllowed(host)) return done(forbidden(), null)
      connectTo(options, (...[error, socket]) => {
        if (error) return done(error, null)
        if (isAllowed(socket.remoteAddress ?? '')) return done(null, socket)
        socket.destroy()
        done(forbidden(), null)
      })
    },
  }

  async function leadsOut(host: string): Promise<boolean> {
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
