import { type LookupAddress, lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { promisify } from 'node:util'
import { within } from '../runtime/within.ts'

/** Where names are looked up: at the DNS servers of this machine (`null`) or of a list (`address[:port]`), or by the system. */
export type Dns = 'system' | readonly string[] | null

/** Finds all addresses of a host name. Rejects with `ENOTFOUND` if there is none, `ETIMEOUT` if no server answered. */
type Resolve = (hostname: string) => Promise<LookupAddress[]>

const QUERY_MS = 3_000
/** The timeout for the system's resolver, which has no timeout of its own. */
const SYSTEM_MS = 5_000

const KEPT_MIN_S = 5
const KEPT_MAX_S = 60
const FAILURE_KEPT_S = 10
const NAMES_MAX = 10_000
/** The maximum number of addresses of each family. The others are not used: an untrusted answer can hold thousands. */
const ADDRESSES_MAX = 8

interface Found {
  addresses: LookupAddress[]
  ttl_s: number
}

/**
 * A resolver with a timeout. It sends one query for simultaneous calls with one name. It keeps answers for their TTL,
 * limited to 5 to 60 s, and failures for 10 s.
 */
export function createResolver(dns: Dns, now = () => performance.now()): Resolve {
  const query = dns === 'system' ? querySystem : createQuery(dns)
  const kept = new Map<string, { until: number; found: Promise<Found> }>()
  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    const known = kept.get(name)
    if (known && known.until > now()) return (await known.found).addresses
    const found = isLocalName(name) ? Promise.resolve(LOCAL) : query(name)
    const entry = { until: Number.POSITIVE_INFINITY, found }
    keep(kept, name, entry)
    found.then(
      ({ ttl_s }) => {
        entry.until = now() + Math.min(Math.max(ttl_s, KEPT_MIN_S), KEPT_MAX_S) * 1000
      },
      () => {
        entry.until = now() + FAILURE_KEPT_S * 1000
      },
    )
    return (await found).addresses
  }
}

function keep<V>(kept: Map<string, V>, name: string, entry: V): void {
  kept.delete(name)
  kept.set(name, entry)
  const [oldest] = kept.keys()
  if (oldest !== undefined && kept.size > NAMES_MAX) kept.delete(oldest)
}

/** RFC 6761 section 6.3: these names never go to a server. */
function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

const LOCAL: Found = {
  addresses: [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ],
  ttl_s: KEPT_MAX_S,
}

function createQuery(servers: readonly string[] | null): (name: string) => Promise<Found> {
  const resolver = new Resolver({ timeout: QUERY_MS, tries: 1 })
  if (servers && servers.length > 0) resolver.setServers([...servers])
  return async (name) => {
    const answers = await Promise.allSettled([
      resolver.resolve4(name, { ttl: true }),
      resolver.resolve6(name, { ttl: true }),
    ])
    const addresses: LookupAddress[] = []
    let ttl_s = KEPT_MAX_S
    for (const [i, answer] of answers.entries()) {
      const records = answer.status === 'fulfilled' ? answer.value : []
      for (const { address, ttl } of records.slice(0, ADDRESSES_MAX)) {
        addresses.push({ address, family: i === 0 ? 4 : 6 })
        ttl_s = Math.min(ttl_s, ttl)
      }
    }
    if (addresses.length > 0) return { addresses, ttl_s }
    const failures = answers.flatMap((answer) =>
      answer.status === 'rejected' ? answer.reason : [],
    )
    // ENODATA means only that one family has no address; the other family's error says more.
    throw failures.find(({ code }) => code !== 'ENODATA') ?? notFound(name)
  }
}

const lookupAll = promisify(lookup)

async function querySystem(name: string): Promise<Found> {
  const addresses = await within(SYSTEM_MS, lookupAll(name, { all: true, verbatim: true }), () => {
    throw failure('ETIMEOUT', name)
  })
  return { addresses, ttl_s: KEPT_MIN_S }
}

function notFound(name: string): Error {
  return failure('ENOTFOUND', name)
}

function failure(code: string, name: string): Error {
  return Object.assign(new Error(`${code}: ${name} has no address`), { code })
}
