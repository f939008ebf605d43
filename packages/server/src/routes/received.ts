import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Handlers } from '../mount.ts'
import { paginationOf } from '../paging.ts'

export function receivedRoutes(core: Core): Handlers<typeof api.received> {
  return {
    async list({ workspace_id, query }) {
      const { received, total } = await core.received.list(workspace_id, query)
      return { received, pagination: paginationOf(total, query) }
    },
  }
}
