import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import { keyOf } from '../key-of.ts'
import type { Handlers } from '../mount.ts'
import { paginationOf } from '../paging.ts'

export function messageRoutes({ messages }: Core): Handlers<typeof api.messages> {
  return {
    async send({ identity, body, idempotency_key, replayed: sayReplayed }) {
      const { data, replayed } = await messages.send(keyOf(identity), body, { idempotency_key })
      if (replayed) sayReplayed()
      return data
    },
    async get({ workspace_id, params }) {
      return { message: await messages.get(workspace_id, params.id) }
    },
    async timeline({ workspace_id, params }) {
      return { timeline: await messages.timeline(workspace_id, params.id) }
    },
    async cancel({ workspace_id, params }) {
      return { message: await messages.cancel(workspace_id, params.id) }
    },
    async estimate({ identity, body, countBulkEstimate }) {
      if ('recipients' in body) await countBulkEstimate()
      return messages.estimate(keyOf(identity), body)
    },
    async list({ workspace_id, query }) {
      const { messages: page, total, next_cursor } = await messages.list(workspace_id, query)
      return { messages: page, pagination: paginationOf(total, query), next_cursor }
    },
  }
}
