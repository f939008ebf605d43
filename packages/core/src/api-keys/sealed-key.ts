import type { ApiKeyRow } from '../rows/rows.ts'
import type { Place } from '../secrets/sealer.ts'

/** The place of the key of a row, for a key that signs. */
export function placeOfKey({ workspace_id, id }: Pick<ApiKeyRow, 'workspace_id' | 'id'>): Place {
  return { table: 'api_keys', column: 'sealed_key', workspace_id, id }
}
