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
    async get({ viewer, params }) {
      return { message: await messages.get(viewer, params.id) }
    },
    async timeline({ viewer, params }) {
      return { timeline: await messages.timeline(viewer, params.id) }
    },
    async cancel({ viewer, params }) {
      return { message: await messages.cancel(viewer, params.id) }
    },
    async estimate({ identity, body, countBulkEstimate }) {
      if ('recipients' in body) await countBulkEstimate()
      return messages.estimate(keyOf(identity), body)
    },
    async list({ viewer, query }) {
      const { messages: page, total, next_cursor } = await messages.list(viewer, query)
      return { messages: page, pagination: paginationOf(total, query), next_cursor }
    },
  }
}
