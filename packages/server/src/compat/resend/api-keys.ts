import { type ApiKey, endpoint } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type * as z from 'zod'
import type { Handlers } from '../../routes/mount.ts'
import { access, assertFullAccess } from './domains.ts'
import { listQuery, ROOT } from './tables.ts'

/** The endpoints for API keys. Source: https://resend.com/docs/api-reference/api-keys */
export const apiKeyEndpoints = {
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/api-keys`,
    query: listQuery,
    summary: 'List API keys, newest first',
  }),
} as const

/** The size of a page of the core's list. */
const PAGE = 100
/** The maximum number of pages that one request reads: deactivated keys stay in the core's list, and Resend has none. */
const PAGES_MAX = 50

export function apiKeyHandlers({
  apiKeys,
}: Pick<DecodedCore, 'apiKeys'>): Handlers<typeof apiKeyEndpoints> {
  /** The active keys from the newest, or from the key after `after`, up to the key `before` or one more than `limit`. */
  async function active(
    workspaceId: string,
    { limit, after, before }: z.output<typeof listQuery>,
  ): Promise<ApiKey[]> {
    const found: ApiKey[] = []
    let from = after?.toLowerCase()
    for (let page = 0; page < PAGES_MAX; page++) {
      const slice = { limit: PAGE, offset: 0, after: from }
      const { api_keys, next_after } = await apiKeys.list(workspaceId, slice)
      for (const key of api_keys) {
        if (before !== undefined && key.id <= before.toLowerCase()) return found
        if (key.is_active) found.push(key)
        if (before === undefined && found.length > limit) return found
      }
      if (next_after === null) return found
      from = next_after
    }
    return found
  }

  return {
    async list({ identity, workspace_id, query }) {
      assertFullAccess(identity, 'API keys')
      const { limit, before } = query
      const found = await active(workspace_id, query)
      const some = before === undefined ? found.slice(0, limit) : found.slice(-limit)
      return { object: 'list', has_more: found.length > limit, data: some.map(summaryOf) }
    },
  }
}

function summaryOf({ id, name, created_at, last_used_at }: ApiKey) {
  return {
    id,
    name,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  }
}
