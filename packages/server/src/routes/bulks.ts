import { type api, sliceOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { keyOf } from '../admission/authenticator.ts'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function bulkRoutes({ messages: { bulks } }: DecodedCore): Handlers<typeof api.bulks> {
  return {
    async send({ identity, body, idempotency_key, replayed: markReplayed }) {
      const { data, replayed } = await bulks.send(keyOf(identity), body, { idempotency_key })
      if (replayed) markReplayed()
      return data
    },
    async get({ viewer, params }) {
      return { bulk: await bulks.get(viewer, params.id) }
    },
    async rejected({ viewer, params, query }) {
      const { total, ...found } = await bulks.rejected(viewer, params.id, sliceOf(query))
      return { ...found, pagination: paginationOf(total, query) }
    },
    cancel: ({ viewer, params }) => bulks.cancel(viewer, params.id),
    async retry({ identity, params, replayed: markReplayed }) {
      const { data, replayed } = await bulks.retry(keyOf(identity), params.id)
      if (replayed) markReplayed()
      return data
    },
  }
}
