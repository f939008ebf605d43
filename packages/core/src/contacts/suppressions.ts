import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import type { Slice } from '../contract/endpoints/paging.ts'
import { SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { suppressions as endpoints, Suppression } from '../contract/resources/suppressions.ts'
import type { SuppressionRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { SuppressionFilter } from '../storage/ports/contacts.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The addresses to which a workspace sends nothing on a channel. */
export interface Suppressions<F extends Form = 'given'> {
  /** Returns a page of the matching suppressions, newest first, and their total number. */
  list(
    workspaceId: string,
    filter: SuppressionFilter,
    page: Slice,
  ): Promise<{ suppressions: Suppression[]; total: number }>
  /** Stops sends to the address on the channel. Returns an existing suppression unchanged. */
  add(workspaceId: string, request: BodyIn<typeof endpoints.add, F>): Promise<Suppression>
  /** @throws SvcError `not_found`, also for a suppression of another workspace. */
  remove(workspaceId: string, suppression: { channel: Channel; address: string }): Promise<void>
}

export function createSuppressions(parts: {
  storage: Storage
  runtime: Runtime
}): Suppressions<'decoded'> {
  const { storage, runtime } = parts
  const { read } = storage
  return {
    async list(workspaceId, { search, ...rest }, page) {
      const filter = { ...rest, search: search?.toLowerCase() }
      const [suppressions, total] = await Promise.all([
        read.suppressions.list(workspaceId, filter, page),
        read.suppressions.count(workspaceId, filter),
      ])
      return { suppressions, total }
    },
    add: (workspaceId, { channel, address, reason }) =>
      storage.write(async ({ suppressions }) => {
        const row: SuppressionRow = {
          workspace_id: workspaceId,
          channel,
          address: emailKey(address),
          reason,
          created_at: runtime.now(),
        }
        await suppressions.add([row])
        const standing = await suppressions.of(workspaceId, [row.address])
        return standing.find((each) => each.channel === channel) ?? row
      }),
    async remove(workspaceId, { channel, address }) {
      const one = { channel, address: emailKey(address) }
      const removed = await storage.write(({ suppressions }) =>
        suppressions.remove(workspaceId, one),
      )
      if (!removed) throw new SvcError('not_found', 'Suppression not found')
    },
  }
}
