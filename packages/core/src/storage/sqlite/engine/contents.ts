import type { Content } from '../../../contract/resources/messages.ts'
import type { MessageRow } from '../../../rows/rows.ts'
import { textLength } from '../../../rules/accept.ts'
import type { Connection } from './connection.ts'
import { once } from './rows.ts'

/**
 * A content with more text, in UTF-16 code units, has a row of its own in `message_contents`. In the row of its message, each
 * settlement would write it again, because the length of the row changes. A page of `messages` has rows of up to 1,002 bytes.
 */
const INLINE_MAX = 1_024

/** SQL: the content of a message, in the row or apart. `column` is the column of `messages`, with the name of its table. */
export function contentOf(column: string): string {
  return `case when ${column} < ':'
    then (select apart.content from message_contents apart where apart.id = cast(${column} as integer))
    else ${column} end`
}

/** The numbers of the stored contents of a request. */
export type StoredContents = Map<Content, number>

/**
 * The distances of rows, back from the last one, that are read to keep pages in memory. A page above the leaves has 225 to 450
 * of them, a leaf has one to eight contents, and an insertion at the end may change the last three of these pages: at most
 * 7,200 contents are after the third one, and the next distance is in it.
 */
const DISTANCES = Array.from({ length: 18 }, (_, i) => Math.round(200 * 1.25 ** i))

/** Few different rows are read: the numbers are rounded down to a multiple of this one. */
const READ_EVERY = 64

/** The table of the long contents of messages, which only appends. Triggers remove the contents that no message has. */
export function prepareContents(connection: Connection) {
  const insert = once(() => connection.prepare('insert into message_contents (content) values (?)'))
  const read = once(() => connection.prepare('select 1 from message_contents where id = ?').pluck())
  let last = 0

  function numberOf(content: Content, stored: StoredContents): number {
    const known = stored.get(content)
    if (known !== undefined) return known
    last = Number(insert().run(JSON.stringify(content)).lastInsertRowid)
    stored.set(content, last)
    return last
  }

  return {
    /**
     * Inserts the long contents of messages, one row for a content that several share. Returns the messages as their rows are
     * stored: with the number of the row in place of such a content.
     */
    store(messages: readonly MessageRow[], stored: StoredContents): MessageRow[] {
      return messages.map((message) =>
        textLength(message.content) > INLINE_MAX
          ? { ...message, content: numberOf(message.content, stored) as never }
          : message,
      )
    },
    /**
     * Keeps the pages that the next contents may change in memory during a large job. A page that was written to the log and
     * changes again makes the commit compute the checksums of all later pages (`walRewriteChecksums`).
     */
    keepInMemory(): void {
      for (const distance of DISTANCES) {
        read().get(Math.floor((last - distance) / READ_EVERY) * READ_EVERY)
      }
    },
  }
}
