import { type api, SvcError, sliceOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from './mount.ts'
import { paginationOf } from './paging.ts'

export function billingRoutes({ billing }: DecodedCore): Handlers<typeof api.billing> {
  return {
    packages: () => ({ packages: billing.packages() }),
    async checkout({ workspace_id, body, idempotency_key, replayed: markReplayed }) {
      const { data, replayed } = await billing.checkout(workspace_id, body, { idempotency_key })
      if (replayed) markReplayed()
      return data
    },
    async transactions({ workspace_id, query }) {
      const { transactions, total, next_after } = await billing.transactions(
        workspace_id,
        sliceOf(query),
      )
      return { transactions, pagination: paginationOf(total, query), next_after }
    },
    async notify({ signed, countBadSignature }) {
      try {
        await billing.notify(signed)
      } catch (error) {
        if (error instanceof SvcError && error.status === 400) await countBadSignature()
        throw error
      }
      return { received: true }
    },
  }
}
