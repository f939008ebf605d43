import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type AddressContact, contactsOf } from '../contacts/read-contacts.ts'
import type { Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, sliceOf, withNext } from '../contract/endpoints/paging.ts'
import { SvcError } from '../contract/errors.ts'
import type { ReceivedMessage, received } from '../contract/resources/received.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Incoming } from './inbound.ts'

/** The newest message of an author on a channel. */
export interface Conversation extends ReceivedMessage {
  /** The contact with the address of the author. */
  contact: AddressContact | null
}

/** Messages from recipients to a workspace. */
export interface ReceivedMessages<F extends Form = 'given'> {
  /** Returns a page, newest first, and the total number. A test key sees only answers to test messages. */
  list(
    viewer: Viewer,
    query: QueryIn<typeof received.list, F>,
  ): Promise<{ received: ReceivedMessage[]; total: number; next_after: string | null }>
  /** One message. @throws SvcError `not_found`, also for a message that the viewer may not see. */
  get(viewer: Viewer, id: string): Promise<ReceivedMessage>
  /**
   * The newest message of each author on a channel, newest first. A page can have fewer conversations than `limit` although
   * another page follows. A test key sees only answers to test messages.
   */
  conversations(
    viewer: Viewer,
    page: Pick<Slice, 'limit' | 'after'>,
  ): Promise<{ conversations: Conversation[]; next_after: string | null }>
  /**
   * Stores a message as if its author had written it, with its event and the effects of a keyword, for development and for
   * tests of replies. `recipient`: the number of ours that received it.
   */
  simulate(viewer: Viewer, message: SimulatedMessage): Promise<void>
}

/** A message that no provider received. */
export interface SimulatedMessage {
  channel: 'sms' | 'whatsapp'
  sender: string
  recipient: string
  text: string
}

export function createReceivedMessages({
  storage,
  receive,
}: {
  storage: Storage
  receive(provider: string, incoming: readonly Incoming[]): Promise<void>
}): ReceivedMessages<'decoded'> {
  return {
    async list(viewer, { channel, sender, recipient, startDate, endDate, ...query }) {
      const { workspace_id: workspaceId, livemode } = viewOf(viewer)
      const filter = { channel, sender, recipient, livemode, from: startDate, until: endDate }
      const slice = sliceOf(query)
      const { receivedMessages } = storage.read
      const [found, total] = await Promise.all([
        receivedMessages.list(workspaceId, filter, withNext(slice)),
        receivedMessages.count(workspaceId, filter),
      ])
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      return { received: rows, total, next_after }
    },
    async get(viewer, id) {
      const view = viewOf(viewer)
      const row = seen(view, await storage.read.receivedMessages.byId(view.workspace_id, id))
      if (!row) throw new SvcError('not_found', 'Message not found')
      return row
    },
    async conversations(viewer, { limit, after }) {
      const { workspace_id, livemode } = viewOf(viewer)
      const { receivedMessages, contacts } = storage.read
      const page = { limit: limit + 1, after }
      const found = await receivedMessages.newestOfAuthors(workspace_id, { livemode }, page)
      const { rows, next_after } = pageOf(found.rows, { limit }, ({ id }) => id)
      const senders = rows.map(({ sender }) => sender)
      const contactOf = await contactsOf(contacts, workspace_id, senders)
      const conversations = rows.map((row) => ({ ...row, contact: contactOf(row.sender) }))
      return { conversations, next_after: next_after ?? found.searched_to }
    },
    simulate(viewer, { text, ...message }) {
      const { workspace_id, livemode = true } = viewOf(viewer)
      const about = { workspace_id, livemode }
      const content = { text, media: [] }
      const received = { type: 'received', provider_message_id: null, content, about } as const
      return receive('sandbox', [{ ...received, ...message }])
    },
  }
}
