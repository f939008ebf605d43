import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Handlers } from '../mount.ts'
import { paginationOf, sliceOf } from '../pages.ts'

export function webhookRoutes(core: Core): Handlers<typeof api.webhooks> {
  return {
    async create({ workspace_id, body }) {
      return { webhook: await core.webhooks.create(workspace_id, body) }
    },
    async list({ workspace_id, query }) {
      const { webhooks, total } = await core.webhooks.list(workspace_id, sliceOf(query))
      return { webhooks, pagination: paginationOf(total, query) }
    },
    events: () => ({ events: core.webhooks.events() }),
    async get({ workspace_id, params }) {
      return { webhook: await core.webhooks.get(workspace_id, params.id) }
    },
    async delete({ workspace_id, params }) {
      await core.webhooks.delete(workspace_id, params.id)
      return { message: 'Webhook deleted' }
    },
    async deliveries({ workspace_id, params, query }) {
      const { deliveries, total } = await core.webhooks.deliveries(
        workspace_id,
        params.id,
        sliceOf(query),
      )
      return { deliveries, pagination: paginationOf(total, query) }
    },
  }
}
