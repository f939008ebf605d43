import { and, asc, desc, eq, gt, isNull, lte, ne, notInArray, or } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { OperatorReads, OperatorWrites } from '../ports/operators.ts'
import type { StoreDialect } from './dialect.ts'

/** More operators are a fault. */
const OPERATORS_MAX = 1_000

export function operatorStore(
  db: Db,
  { operators: t, operator_sessions: sessions, login_networks }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): OperatorReads & OperatorWrites {
  return {
    async list() {
      return db.select().from(t).orderBy(asc(t.name_key)).limit(OPERATORS_MAX)
    },
    async byId(operatorId) {
      const [row] = await db.select().from(t).where(eq(t.id, operatorId))
      return row ?? null
    },
    async byName(name) {
      const [row] = await db
        .select()
        .from(t)
        .where(eq(t.name_key, emailKey(name)))
      return row ?? null
    },
    async byToken(tokenHash, now) {
      const valid = and(
        eq(sessions.token_hash, tokenHash),
        gt(sessions.ends_at, now),
        or(isNull(t.expires_at), gt(t.expires_at, now)),
      )
      const [row] = await db
        .select({ operator: t, begun: sessions.created_at, seen: sessions.last_seen_at })
        .from(sessions)
        .innerJoin(t, eq(t.id, sessions.operator_id))
        .where(valid)
      return row ? { ...row.operator, last_seen_at: row.seen ?? row.begun } : null
    },
    async insert(operator) {
      const inserted = await db
        .insert(t)
        .values(operator)
        .onConflictDoNothing({ target: t.name_key })
        .returning({ id: t.id })
      return inserted.length === 1
    },
    async lock(operatorId) {
      await locked(db.select({ id: t.id }).from(t).where(eq(t.id, operatorId)))
    },
    async change(operatorId, change) {
      await db.update(t).set(change).where(eq(t.id, operatorId))
    },
    async remove(operatorId) {
      await db.delete(sessions).where(eq(sessions.operator_id, operatorId))
      await db.delete(login_networks).where(eq(login_networks.workspace_id, operatorId))
      const removed = await db.delete(t).where(eq(t.id, operatorId)).returning({ id: t.id })
      return removed.length === 1
    },
    async beginSession(session, keep) {
      await db.insert(sessions).values(session)
      const own = eq(sessions.operator_id, session.operator_id)
      const newest = db
        .select({ hash: sessions.token_hash })
        .from(sessions)
        .where(own)
        .orderBy(desc(sessions.created_at), asc(sessions.token_hash))
        .limit(keep)
      await db.delete(sessions).where(and(own, notInArray(sessions.token_hash, newest)))
      await db.delete(sessions).where(and(own, lte(sessions.ends_at, session.created_at)))
    },
    async touch(tokenHash, at) {
      await db.update(sessions).set({ last_seen_at: at }).where(eq(sessions.token_hash, tokenHash))
    },
    async endSession(tokenHash) {
      const ended = await db
        .delete(sessions)
        .where(eq(sessions.token_hash, tokenHash))
        .returning({ hash: sessions.token_hash })
      return ended.length === 1
    },
    async endSessions(operatorId, exceptTokenHash = null) {
      const others = exceptTokenHash === null ? undefined : ne(sessions.token_hash, exceptTokenHash)
      await db.delete(sessions).where(and(eq(sessions.operator_id, operatorId), others))
    },
  }
}
