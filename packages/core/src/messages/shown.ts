import type { Content } from '../contract/resources/content.ts'
import type { MailRecipient } from '../contract/resources/mail-recipients.ts'
import type { Message } from '../contract/resources/messages.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import type { ShortMessageRow } from '../storage/ports/stores.ts'
import { attachmentsOf, withAttachments } from './stored-files.ts'

/** A message in a list. A content longer than `LIMITS.list_content_length` is null. */
export type ShortMessage = Omit<Message, 'content'> & { content: Message['content'] | null }

/** A message for its workspace: attachments have their size instead of their content. */
export function shown(row: MessageRow): Message {
  return recordOf(row, shownContent(row.content))
}

/** A message with the contents of its attachments. */
export function whole(row: MessageRow): Message {
  return recordOf(row, row.content)
}

export function shownShort(row: ShortMessageRow): ShortMessage {
  const { content } = row
  return recordOf(row, content === null ? null : shownContent(content))
}

/**
 * The record of a message. `recipients` is present only for a message with several recipients, and `duration_s` only for a
 * call that ended.
 */
function recordOf<Shown extends ShortMessage['content']>(
  { recipients, tags: _, duration_s, ...row }: ShortMessageRow,
  content: Shown,
): Omit<Message, 'content'> & { content: Shown } {
  // Changed in place, because to spread a rest object takes three times as long as to make it.
  const record = Object.assign<Omit<typeof row, 'content'>, { content: Shown }>(row, { content })
  if (duration_s !== null) return { ...record, duration_s }
  return recipients === null ? record : { ...record, recipients: recipients.map(shownRecipient) }
}

function shownRecipient({ accepted: _, ...recipient }: StoredRecipient): MailRecipient {
  return recipient
}

function shownContent(content: Content): Content {
  const attachments = attachmentsOf(content)
  if (attachments.length === 0) return content
  return withAttachments(
    content,
    attachments.map(({ content, size_bytes, ...file }) => ({
      ...file,
      size_bytes: size_bytes ?? Buffer.byteLength(content, 'base64'),
    })),
  )
}
