import { type api, sliceOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'
import { assertSelfService } from './self-service.ts'

/** @param options.self_service whether workspaces add, rotate and remove their domains themselves. */
export function domainRoutes(
  core: DecodedCore,
  { self_service }: { self_service: boolean },
): Handlers<typeof api.domains> {
  return {
    async create({ workspace_id, body, actor }) {
      assertSelfService(self_service)
      return { domain: await core.domains.create(workspace_id, body, actor) }
    },
    async list({ workspace_id, query }) {
      const { domains, total, next_after } = await core.domains.list(workspace_id, sliceOf(query))
      return { domains, pagination: paginationOf(total, query), next_after }
    },
    async get({ workspace_id, params }) {
      return { domain: await core.domains.get(workspace_id, params.id) }
    },
    async verify({ workspace_id, params, actor }) {
      return { domain: await core.domains.verify(workspace_id, params.id, actor) }
    },
    async rotate({ workspace_id, params, actor }) {
      assertSelfService(self_service)
      return { domain: await core.domains.rotate(workspace_id, params.id, actor) }
    },
    async delete({ workspace_id, params, actor }) {
      assertSelfService(self_service)
      await core.domains.delete(workspace_id, params.id, actor)
      return { message: 'Domain removed' }
    },
  }
}
