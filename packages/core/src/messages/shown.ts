import type { Content, EmailContent } from '../contract/resources/content.ts'
import type { MailRecipient } from '../contract/resources/mail-recipients.ts'
import type { Message } from '../contract/resources/messages.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import type { ShortMessageRow } from '../storage/ports/messages.ts'

/** A message in a list. A content longer than `LIMITS.list_content_length` is null. */
export type ShortMessage = Omit<Message, 'content'> & { content: Message['content'] | null }

/** A message for its workspace: attachments have their size instead of their content. */
export function shown(row: MessageRow): Message {
  return { ...recordOf(row), content: shownContent(row.content) }
}

/** A message with the contents of its attachments. */
export function whole(row: MessageRow): Message {
  return { ...recordOf(row), content: row.content }
}

export function shownShort(row: ShortMessageRow): ShortMessage {
  const { content } = row
  return { ...recordOf(row), content: content === null ? null : shownContent(content) }
}

/**
 * The record of a message without its content. `recipients` is present only for a message with several recipients, and
 * `duration_s` only for a call that ended.
 */
function recordOf({
  content: _,
  recipients,
  tags: __,
  duration_s,
  ...row
}: ShortMessageRow): Omit<Message, 'content'> {
  if (duration_s !== null) return { ...row, duration_s }
  return recipients === null ? row : { ...row, recipients: recipients.map(shownRecipient) }
}

function shownRecipient({ accepted: _, ...recipient }: StoredRecipient): MailRecipient {
  return recipient
}

function shownContent(content: Content): Content {
  const { attachments, ...others } = content as EmailContent
  if (attachments === undefined) return content
  const files = attachments.map(({ content, ...file }) => ({
    ...file,
    size_bytes: Buffer.from(content, 'base64').length,
  }))
  return { ...others, attachments: files } as unknown as Content
}
