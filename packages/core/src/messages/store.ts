import type { Channel, MessageStatus } from '../contract/messages.ts'
import type { MessageAttemptRow, MessageEventRow, MessageRow } from '../storage/storage.ts'

/** What a list may be narrowed by. Bounds are inclusive. */
export interface MessageFilter {
  channel?: Channel | undefined
  status?: MessageStatus | undefined
  from?: Date | undefined
  until?: Date | undefined
  bulk_id?: string | undefined
  recipient?: string | undefined
  /** Only messages older than this one. */
  before_id?: string | undefined
}

export interface MessageReads {
  byId(workspaceId: string, messageId: string): Promise<MessageRow | null>
  /** Newest first. */
  list(
    workspaceId: string,
    filter: MessageFilter,
    page: { limit: number; offset: number },
  ): Promise<MessageRow[]>
  count(workspaceId: string, filter: MessageFilter): Promise<number>
  /** The history of one message, oldest first. */
  attempts(workspaceId: string, messageId: string): Promise<MessageAttemptRow[]>
  events(workspaceId: string, messageId: string): Promise<MessageEventRow[]>
}

export interface MessageWrites {
  /** Forgets what was answered to requests with an `Idempotency-Key` before that moment; says of how many. */
  forgetAnswers(before: Date, limit: number): Promise<number>
}
