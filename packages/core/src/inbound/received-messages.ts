import type { Query } from '../contract/endpoint.ts'
import type { ReceivedMessage, received } from '../contract/received.ts'
import type { Storage } from '../storage/storage.ts'

export interface ReceivedMessages {
  /** Newest first. */
  list(
    workspaceId: string,
    query: Query<typeof received.list>,
  ): Promise<{ received: ReceivedMessage[]; total: number }>
}

/** What recipients wrote to a workspace. */
export function createReceivedMessages({ storage }: { storage: Storage }): ReceivedMessages {
  return {
    async list(workspaceId, { channel, sender, startDate, endDate, page, limit }) {
      const filter = { channel, sender, from: startDate, until: endDate }
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
