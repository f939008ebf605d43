import type { api } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function auditRoutes(core: DecodedCore): Handlers<typeof api.audit> {
  return {
    async list({ workspace_id, query }) {
      const { audit_entries, total, next_after } = await core.audit.list(workspace_id, query)
      return { audit_entries, pagination: paginationOf(total, query), next_after }
    },
  }
}
