import { and, asc, desc, eq, or, sql } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { WorkspaceReads, WorkspaceWrites } from '../ports/workspaces.ts'
import type { StoreDialect } from './dialect.ts'
import { isBelow } from './pages.ts'

export function workspaceStore(
  db: Db,
  { workspaces: t }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): WorkspaceReads & WorkspaceWrites {
  return {
    async byId(workspaceId) {
      const [row] = await db.select().from(t).where(eq(t.id, workspaceId))
      return row ?? null
    },
    async byEmail(email) {
      const [row] = await db
        .select()
        .from(t)
        .where(eq(t.email_key, emailKey(email)))
      return row ?? null
    },
    async list({ limit, offset }) {
      return db.select().from(t).orderBy(asc(t.id)).limit(limit).offset(offset)
    },
    async search(text, { limit, offset, after }) {
      const pattern = `%${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`
      const found = or(
        eq(t.id, text),
        sql`lower(${t.name}) like ${pattern} escape '\\'`,
        sql`${t.email_key} like ${pattern} escape '\\'`,
      )
      return db
        .select()
        .from(t)
        .where(and(text === '' ? undefined : found, isBelow(t.id, after)))
        .orderBy(desc(t.id))
        .limit(limit)
        .offset(offset)
    },
    async lock(workspaceId) {
      await locked(db.select({ id: t.id }).from(t).where(eq(t.id, workspaceId)))
    },
    async insert(workspace) {
      const inserted = await db
        .insert(t)
        .values(workspace)
        .onConflictDoNothing({ target: t.email_key })
        .returning({ id: t.id })
      return inserted.length === 1
    },
    async change(workspaceId, change, at) {
      await db
        .update(t)
        .set({ ...change, updated_at: at })
        .where(eq(t.id, workspaceId))
    },
    async renameOwner(workspaceId, name, at) {
      await db.update(t).set({ owner_name: name, updated_at: at }).where(eq(t.id, workspaceId))
    },
    async verifyEmail(workspaceId, at) {
      const verified = { email_verified: true, updated_at: at }
      const first = and(eq(t.id, workspaceId), eq(t.email_verified, false))
      const changed = await db.update(t).set(verified).where(first).returning({ id: t.id })
      return changed.length === 1
    },
    async changePassword(workspaceId, { from, to, at }) {
      const changed = await db
        .update(t)
        .set({ password_hash: to, token_version: sql`${t.token_version} + 1`, updated_at: at })
        .where(
          and(eq(t.id, workspaceId), from === undefined ? undefined : eq(t.password_hash, from)),
        )
        .returning({ id: t.id })
      return changed.length === 1
    },
    async endTokens(workspaceId, at) {
      const ended = { token_version: sql`${t.token_version} + 1`, updated_at: at }
      await db.update(t).set(ended).where(eq(t.id, workspaceId))
    },
    async changeOwner(workspaceId, login, at) {
      const owner = { ...login, email_verified: true, updated_at: at }
      await db.update(t).set(owner).where(eq(t.id, workspaceId))
    },
    async rehash(workspaceId, { from, to }) {
      const same = and(eq(t.id, workspaceId), eq(t.password_hash, from))
      await db.update(t).set({ password_hash: to }).where(same)
    },
  }
}
