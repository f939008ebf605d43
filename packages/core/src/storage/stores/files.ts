import { and, asc, eq, inArray, isNotNull, lt, notExists, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { FileRow, MessageFileRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { blocksOf, filledUp, type StoreDialect } from './queries.ts'

/** A stored file of a message. */
export type FileOfMessage = Pick<MessageFileRow, 'message_id' | 'number' | 'sha256'> &
  Pick<FileRow, 'size_bytes' | 'chunks'>

/**
 * A file is stored before the message that has it, in one transaction a chunk, so that other requests do not wait for it. A
 * file that no message uses is removed an hour later.
 */
export function fileStore(
  db: Db,
  { files, file_chunks: chunks, message_files: used }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  const one = (workspaceId: string, sha256: string) =>
    and(eq(files.workspace_id, workspaceId), eq(files.sha256, sha256))
  const uses = db
    .select({ one: sql`1` })
    .from(used)
    .where(and(eq(used.workspace_id, files.workspace_id), eq(used.sha256, files.sha256)))

  async function removeUnused(workspaceId: string, sha256: readonly string[]): Promise<void> {
    if (sha256.length === 0) return
    const some = and(
      eq(files.workspace_id, workspaceId),
      inArray(files.sha256, filledUp([...new Set(sha256)])),
    )
    // A message that is being accepted with one of them holds it: after the lock, its use is visible.
    await locked(
      db.select({ sha256: files.sha256 }).from(files).where(some).orderBy(asc(files.sha256)),
    )
    const removed = await db
      .delete(files)
      .where(and(some, notExists(uses)))
      .returning({ sha256: files.sha256 })
    for (const { sha256 } of removed) {
      await db
        .delete(chunks)
        .where(and(eq(chunks.workspace_id, workspaceId), eq(chunks.sha256, sha256)))
    }
  }

  return {
    reads: {
      /** The files of these messages, ordered by message and position. */
      async ofMessages(
        workspaceId: string,
        messageIds: readonly string[],
      ): Promise<FileOfMessage[]> {
        if (messageIds.length === 0) return []
        const { message_id, number, sha256 } = used
        const { size_bytes, chunks } = files
        const mine = and(
          eq(used.workspace_id, workspaceId),
          inArray(message_id, filledUp(messageIds)),
        )
        return db
          .select({ message_id, number, sha256, size_bytes, chunks })
          .from(used)
          .innerJoin(
            files,
            and(eq(files.workspace_id, used.workspace_id), eq(files.sha256, sha256)),
          )
          .where(mine)
          .orderBy(asc(message_id), asc(number))
      },
      /** The base64 of a part of a file; null if it is not stored. */
      async chunk(workspaceId: string, sha256: string, number: number): Promise<string | null> {
        const mine = and(
          eq(chunks.workspace_id, workspaceId),
          eq(chunks.sha256, sha256),
          eq(chunks.number, number),
        )
        const [row] = await db.select({ content: chunks.content }).from(chunks).where(mine)
        return row?.content ?? null
      },
    },
    writes: {
      /** Returns whether the whole file is stored; begins it otherwise. It waits for its first message since `at`. */
      async begin(
        file: Pick<FileRow, 'workspace_id' | 'sha256' | 'size_bytes' | 'chunks'>,
        at: Date,
      ): Promise<boolean> {
        const mine = one(file.workspace_id, file.sha256)
        await db
          .update(files)
          .set({ unused_since: at })
          .where(and(mine, isNotNull(files.unused_since)))
        const [found] = await db.select({ is_whole: files.is_whole }).from(files).where(mine)
        if (found) return found.is_whole
        await db
          .insert(files)
          .values({ ...file, unused_since: at, is_whole: false })
          .onConflictDoNothing()
        return false
      },
      /** Stores a part, unless it is stored. */
      async addChunk(
        workspace_id: string,
        sha256: string,
        number: number,
        content: string,
      ): Promise<void> {
        await db
          .insert(chunks)
          .values({ workspace_id, sha256, number, content })
          .onConflictDoNothing()
      },
      /** Marks a file as whole. Returns false if a part is missing. */
      async complete(workspaceId: string, sha256: string): Promise<boolean> {
        const mine = one(workspaceId, sha256)
        const [file] = await locked(db.select({ chunks: files.chunks }).from(files).where(mine))
        const stored = and(eq(chunks.workspace_id, workspaceId), eq(chunks.sha256, sha256))
        const [count] = await db.select({ n: rowCount }).from(chunks).where(stored)
        if (!file || file.chunks !== count?.n) return false
        await db.update(files).set({ is_whole: true }).where(mine)
        return true
      },
      /** Removes the files of messages, except those that other messages have. */
      async removeOf(workspaceId: string, messageIds: readonly string[]): Promise<void> {
        for (const ids of blocksOf(messageIds)) {
          const gone = await db
            .delete(used)
            .where(and(eq(used.workspace_id, workspaceId), inArray(used.message_id, filledUp(ids))))
            .returning({ sha256: used.sha256 })
          await removeUnused(
            workspaceId,
            gone.map(({ sha256 }) => sha256),
          )
        }
      },
      /** Removes those of these files that no message has. */
      removeUnused,
      /** Removes files that wait for a message since a time before `before`; returns their number. */
      async forgetUnused(before: Date, limit: number): Promise<number> {
        const { workspace_id, sha256 } = files
        const found = await db
          .select({ workspace_id, sha256 })
          .from(files)
          .where(lt(files.unused_since, before))
          .orderBy(asc(files.unused_since))
          .limit(limit)
        for (const one of found) await removeUnused(one.workspace_id, [one.sha256])
        return found.length
      },
    },
  }
}
