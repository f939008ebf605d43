import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Handlers } from '../mount.ts'
import { paginationOf, sliceOf } from '../paging.ts'

export function webhookRoutes(core: Core): Handlers<typeof api.webhooks> {
  return {
    async create({ workspace_id, body, actor }) {
      return { webhook: await core.webhooks.create(workspace_id, body, actor) }
    },
    async list({ workspace_id, query }) {
      const { webhooks, total } = await core.webhooks.list(workspace_id, sliceOf(query))
      return { webhooks, pagination: paginationOf(total, query) }
    },
    events: () => ({ events: core.webhooks.events() }),
    async get({ workspace_id, params }) {
      return { webhook: await core.webhooks.get(workspace_id, params.id) }
    },
    async delete({ workspace_id, params, actor }) {
      await core.webhooks.delete(workspace_id, params.id, actor)
      return { message: 'Webhook deleted' }
    },
    async update({ workspace_id, params, body, actor }) {
      return { webhook: await core.webhooks.update(workspace_id, params.id, body, actor) }
    },
    async rotate_secret({ workspace_id, params, actor }) {
      return { webhook: await core.webhooks.rotateSecret(workspace_id, params.id, actor) }
    },
    async enable({ workspace_id, params, actor }) {
      return { webhook: await core.webhooks.enable(workspace_id, params.id, actor) }
    },
    async test({ workspace_id, params }) {
      return { delivery: await core.webhooks.test(workspace_id, params.id) }
    },
    async deliveries({ workspace_id, params, query }) {
      const { status, event } = query
      const { deliveries, total } = await core.webhooks.deliveries(workspace_id, params.id, {
        ...sliceOf(query),
        ...(status && { status }),
        ...(event && { event }),
      })
      return { deliveries, pagination: paginationOf(total, query) }
    },
    async delivery({ workspace_id, params: { id, delivery_id } }) {
      return { delivery: await core.webhooks.delivery(workspace_id, id, delivery_id) }
    },
    async retry({ workspace_id, params: { id, delivery_id } }) {
      return { delivery: await core.webhooks.retry(workspace_id, id, delivery_id) }
    },
    recover: ({ workspace_id, params, body, actor }) =>
      core.webhooks.recover(workspace_id, params.id, body, actor),
  }
}
