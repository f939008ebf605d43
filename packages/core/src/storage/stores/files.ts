import { and, asc, eq, inArray, isNotNull, lt, notExists, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { FileReads, FileWrites } from '../ports/files.ts'
import { blocksOf, filledUp } from './batches.ts'
import type { StoreDialect } from './dialect.ts'

export function fileStore(
  db: Db,
  { files, file_chunks: chunks, message_files: used }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): FileReads & FileWrites {
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
    async ofMessages(workspaceId, messageIds) {
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
        .innerJoin(files, and(eq(files.workspace_id, used.workspace_id), eq(files.sha256, sha256)))
        .where(mine)
        .orderBy(asc(message_id), asc(number))
    },
    async chunk(workspaceId, sha256, number) {
      const mine = and(
        eq(chunks.workspace_id, workspaceId),
        eq(chunks.sha256, sha256),
        eq(chunks.number, number),
      )
      const [row] = await db.select({ content: chunks.content }).from(chunks).where(mine)
      return row?.content ?? null
    },
    async begin(file, at) {
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
    async addChunk(workspace_id, sha256, number, content) {
      await db
        .insert(chunks)
        .values({ workspace_id, sha256, number, content })
        .onConflictDoNothing()
    },
    async complete(workspaceId, sha256) {
      const mine = one(workspaceId, sha256)
      const [file] = await locked(db.select({ chunks: files.chunks }).from(files).where(mine))
      const stored = and(eq(chunks.workspace_id, workspaceId), eq(chunks.sha256, sha256))
      const [count] = await db.select({ n: rowCount }).from(chunks).where(stored)
      if (!file || file.chunks !== count?.n) return false
      await db.update(files).set({ is_whole: true }).where(mine)
      return true
    },
    async removeOf(workspaceId, messageIds) {
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
    removeUnused,
    async forgetUnused(before, limit) {
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
  }
}
