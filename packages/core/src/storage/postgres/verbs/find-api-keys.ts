import type { ApiKeyRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'
import { type Database, statement } from '../engine/database.ts'
import { namesOf } from '../engine/rows.ts'

/** The verb `findApiKey` on PostgreSQL, for many at once: requests that arrive together ask together. */
export function prepareFindApiKeys(database: Database, t: Tables) {
  const find = statement<ApiKeyRow>(
    'find_api_keys',
    `select ${namesOf(t.api_keys).join(', ')} from api_keys where key_hash = any($1::text[])`,
  )
  return async (hashes: readonly string[]): Promise<(ApiKeyRow | null)[]> => {
    const found = await database.rows(find, [...new Set(hashes)])
    const byHash = new Map(found.map((key) => [key.key_hash, key]))
    return hashes.map((hash) => byHash.get(hash) ?? null)
  }
}
