import { type api, sliceOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function apiKeyRoutes(core: DecodedCore): Handlers<typeof api.api_keys> {
  return {
    create: ({ workspace_id, body, actor }) => core.apiKeys.create(workspace_id, body, actor),
    async list({ workspace_id, query }) {
      const { api_keys, total, next_after } = await core.apiKeys.list(workspace_id, sliceOf(query))
      return { api_keys, pagination: paginationOf(total, query), next_after }
    },
    async deactivate({ workspace_id, params, actor }) {
      await core.apiKeys.deactivate(workspace_id, params.id, actor)
      return { message: 'API key deactivated' }
    },
  }
}
