import { Resolver } from 'node:dns/promises'
import { within } from '../runtime/within.ts'

/** The texts of a name, the strings of each record joined; null if no server gave a reliable answer. Never rejects. */
export type TxtLookup = (name: string) => Promise<string[] | null>

const QUERY_MS = 2_500
/** The limit of one name with all repeats, on all servers. */
const LOOKUP_MAX_MS = 6_000

/** Answers come from servers of strangers: 64 KiB in one answer are possible. */
const TEXTS_MAX = 20
const TEXT_LENGTH_MAX = 4_096

/** The name, or a record of this type, does not exist. */
const ABSENT = new Set(['ENOTFOUND', 'ENODATA'])

/** @param servers DNS servers (`address[:port]`); null: the servers of this machine. */
export function createTxtLookup(servers: readonly string[] | null): TxtLookup {
  return async (name) => {
    // A resolver for each name, so that a cancelled query cannot end another.
    const resolver = new Resolver({ timeout: QUERY_MS, tries: 2 })
    if (servers && servers.length > 0) resolver.setServers([...servers])
    try {
      const answer = await within(LOOKUP_MAX_MS, resolver.resolveTxt(name), () => null)
      return answer?.slice(0, TEXTS_MAX).map((strings) => joined(strings)) ?? null
    } catch (error) {
      return ABSENT.has((error as { code?: string }).code ?? '') ? [] : null
    } finally {
      resolver.cancel()
    }
  }
}

function joined(strings: readonly string[]): string {
  return strings.join('').slice(0, TEXT_LENGTH_MAX)
}
