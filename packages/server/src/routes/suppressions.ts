import { type api, sliceOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function suppressionRoutes(core: DecodedCore): Handlers<typeof api.suppressions> {
  return {
    async list({ workspace_id, query }) {
      const { suppressions, total, next_after } = await core.suppressions.list(
        workspace_id,
        query,
        sliceOf(query),
      )
      return { suppressions, pagination: paginationOf(total, query), next_after }
    },
    async add({ workspace_id, body }) {
      return { suppression: await core.suppressions.add(workspace_id, body) }
    },
    async remove({ workspace_id, params }) {
      await core.suppressions.remove(workspace_id, params)
      return { message: 'Suppression lifted' }
    },
  }
}
