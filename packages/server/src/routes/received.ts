import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Handlers } from '../mount.ts'
import { paginationOf } from '../paging.ts'

export function receivedRoutes(core: Core): Handlers<typeof api.received> {
  return {
    async list({ viewer, query }) {
      const { received, total } = await core.received.list(viewer, query)
      return { received, pagination: paginationOf(total, query) }
    },
  }
}
