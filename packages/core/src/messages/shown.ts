import type { Content, EmailContent } from '../contract/resources/content.ts'
import type { Message } from '../contract/resources/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import type { ShortMessageRow } from '../storage/ports/messages.ts'

/** A message in a list. A content longer than `LIMITS.list_content_length` is null. */
export type ShortMessage = Omit<Message, 'content'> & { content: Message['content'] | null }

/** A message for its workspace: attachments have their size instead of their content. */
export function shown(row: MessageRow): Message {
  const { attachments, ...content } = row.content as EmailContent
  if (attachments === undefined) return row
  const files = attachments.map(({ content, ...file }) => ({
    ...file,
    size_bytes: Buffer.from(content, 'base64').length,
  }))
  return { ...row, content: { ...content, attachments: files } as unknown as Content }
}

export function shownShort(row: ShortMessageRow): ShortMessage {
  const { content } = row
  return content === null ? { ...row, content } : shown({ ...row, content })
}
