import { type api, sliceOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function webhookRoutes(core: DecodedCore): Handlers<typeof api.webhooks> {
  return {
    async create({ viewer, body, actor }) {
      return warned(await core.webhooks.create(viewer, body, actor))
    },
    async list({ viewer, query }) {
      const { webhooks, total, next_after } = await core.webhooks.list(viewer, sliceOf(query))
      return { webhooks, pagination: paginationOf(total, query), next_after }
    },
    events: () => ({ events: core.webhooks.events() }),
    async get({ viewer, params }) {
      return { webhook: await core.webhooks.get(viewer, params.id) }
    },
    async health({ viewer, params, query }) {
      return { health: await core.webhooks.health(viewer, params.id, query) }
    },
    async delete({ viewer, params, actor }) {
      await core.webhooks.delete(viewer, params.id, actor)
      return { message: 'Webhook deleted' }
    },
    async update({ viewer, params, body, actor }) {
      return warned(await core.webhooks.update(viewer, params.id, body, actor))
    },
    async rotate_secret({ viewer, params, actor }) {
      return { webhook: await core.webhooks.rotateSecret(viewer, params.id, actor) }
    },
    async enable({ viewer, params, actor }) {
      return { webhook: await core.webhooks.enable(viewer, params.id, actor) }
    },
    async test({ viewer, params }) {
      return { delivery: await core.webhooks.test(viewer, params.id) }
    },
    async deliveries({ viewer, params, query }) {
      const { status, event } = query
      const { deliveries, total, next_after } = await core.webhooks.deliveries(viewer, params.id, {
        ...sliceOf(query),
        ...(status && { status }),
        ...(event && { event }),
      })
      return { deliveries, pagination: paginationOf(total, query), next_after }
    },
    async delivery({ viewer, params: { id, delivery_id } }) {
      return { delivery: await core.webhooks.delivery(viewer, id, delivery_id) }
    },
    async retry({ viewer, params: { id, delivery_id } }) {
      return { delivery: await core.webhooks.retry(viewer, id, delivery_id) }
    },
    recover: ({ viewer, params, body, actor }) =>
      core.webhooks.recover(viewer, params.id, body, actor),
  }
}

/** Puts the warning beside the webhook, because a webhook record has no such field in other answers. */
function warned<T extends { warning?: string }>({ warning, ...webhook }: T) {
  return { webhook, ...(warning !== undefined && { warning }) }
}
