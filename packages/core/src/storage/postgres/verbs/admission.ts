import type { ApiKeyRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'
import type { Counter, Counting } from '../../ports/hot.ts'
import type { Clock } from '../../queueing.ts'
import { type Database, statement } from '../engine/database.ts'
import { namesOf } from '../engine/rows.ts'
import { countingOf, type Found } from './counters.ts'

/** The hash of a key to find, or an access to a counter. */
type Question = string | Counting

/**
 * The verbs `findApiKey` and `count` on PostgreSQL: both questions of all simultaneous requests travel together. The
 * results are in the order of the questions.
 */
export function prepareAdmission(database: Database, t: Tables, clock: Clock) {
  const findKeys = statement<ApiKeyRow>(
    'find_api_keys',
    `select ${namesOf(t.api_keys).join(', ')} from api_keys where key_hash = any($1::text[])`,
  )
  return async (questions: readonly Question[]): Promise<(ApiKeyRow | Counter | null)[]> => {
    const hashes = new Set(questions.filter((question) => typeof question === 'string'))
    const countings = questions.filter((question) => typeof question !== 'string')
    const counting = countings.length > 0 ? countingOf(countings, clock) : null
    const found = await database.together(
      ...(hashes.size > 0 ? [[findKeys, [...hashes]] as const] : []),
      ...(counting ? [counting.statement] : []),
    )
    const keys = hashes.size > 0 ? (found.shift() as ApiKeyRow[]) : []
    const byHash = new Map(keys.map((key) => [key.key_hash, key]))
    const counters = (counting?.results(found[0] as Found[]) ?? []).values()
    return questions.map((question) =>
      typeof question === 'string'
        ? (byHash.get(question) ?? null)
        : (counters.next().value as Counter),
    )
  }
}
