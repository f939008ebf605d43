import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import type { Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import type { ReceivedMessage, received } from '../contract/resources/received.ts'
import type { Storage } from '../storage/ports/storage.ts'

export interface ReceivedMessages<F extends Form = 'given'> {
  /** Returns a page, newest first, and the total number. A test key sees only answers to test messages. */
  list(
    viewer: Viewer,
    query: QueryIn<typeof received.list, F>,
  ): Promise<{ received: ReceivedMessage[]; total: number }>
}

/** Messages from recipients to a workspace. */
export function createReceivedMessages({
  storage,
}: {
  storage: Storage
}): ReceivedMessages<'decoded'> {
  return {
    async list(viewer, { channel, sender, startDate, endDate, page, limit }) {
      const { workspace_id: workspaceId, livemode } = viewOf(viewer)
      const filter = { channel, sender, livemode, from: startDate, until: endDate }
      const slice = { limit, offset: (page - 1) * limit }
      const { receivedMessages } = storage.read
      const [received, total] = await Promise.all([
        receivedMessages.list(workspaceId, filter, slice),
        receivedMessages.count(workspaceId, filter),
      ])
      return { received, total }
    },
  }
}
