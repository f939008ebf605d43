import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Handlers } from '../mount.ts'
import { paginationOf } from '../pages.ts'

export function messageRoutes(core: Core): Handlers<typeof api.messages> {
  return {
    async send({ identity, body, idempotency_key, replayed: sayReplayed }) {
      if (identity?.kind !== 'api_key') throw new Error('only API keys send')
      const { data, replayed } = await core.messages.send(identity, body, { idempotency_key })
      if (replayed) sayReplayed()
      return data
    },
    async get({ workspace_id, params }) {
      return { message: await core.messages.get(workspace_id, params.id) }
    },
    async list({ workspace_id, query }) {
      const { messages, total, next_cursor } = await core.messages.list(workspace_id, query)
      return { messages, pagination: paginationOf(total, query), next_cursor }
    },
  }
}
