import { and, asc, desc, eq, gt, isNull, lte, ne, notInArray, or } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { OperatorRow, OperatorSessionRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import type { StoreDialect } from './queries.ts'

/** More operators are a fault. */
const OPERATORS_MAX = 1_000

/** The operators of the service; they belong to no workspace. */
export function operatorStore(
  db: Db,
  { operators: t, operator_sessions: sessions, login_networks }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  return {
    reads: {
      /** All operators, by name. They are few. */
      async list(): Promise<OperatorRow[]> {
        return db.select().from(t).orderBy(asc(t.name_key)).limit(OPERATORS_MAX)
      },
      async byId(operatorId: string): Promise<OperatorRow | null> {
        const [row] = await db.select().from(t).where(eq(t.id, operatorId))
        return row ?? null
      },
      /** Names are compared in lower case. */
      async byName(name: string): Promise<OperatorRow | null> {
        const [row] = await db
          .select()
          .from(t)
          .where(eq(t.name_key, emailKey(name)))
        return row ?? null
      },
      /** The operator of a session that has not ended, with its last use; null for none. */
      async byToken(
        tokenHash: string,
        now: Date,
      ): Promise<(OperatorRow & { last_seen_at: Date }) | null> {
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
    },
    writes: {
      /** Returns false, and writes nothing, when an operator has the name. */
      async insert(operator: OperatorRow): Promise<boolean> {
        const inserted = await db
          .insert(t)
          .values(operator)
          .onConflictDoNothing({ target: t.name_key })
          .returning({ id: t.id })
        return inserted.length === 1
      },
      /** Locks an operator until the transaction ends. */
      async lock(operatorId: string): Promise<void> {
        await locked(db.select({ id: t.id }).from(t).where(eq(t.id, operatorId)))
      },
      async change(
        operatorId: string,
        change: Partial<Omit<OperatorRow, 'id' | 'name' | 'name_key' | 'created_at'>>,
      ): Promise<void> {
        await db.update(t).set(change).where(eq(t.id, operatorId))
      },
      /** Removes an operator with its sessions and networks. Returns false if there is none. */
      async remove(operatorId: string): Promise<boolean> {
        await db.delete(sessions).where(eq(sessions.operator_id, operatorId))
        await db.delete(login_networks).where(eq(login_networks.workspace_id, operatorId))
        const removed = await db.delete(t).where(eq(t.id, operatorId)).returning({ id: t.id })
        return removed.length === 1
      },
      /** Begins a session, and ends all except the newest `keep` and those that are over. */
      async beginSession(session: OperatorSessionRow, keep: number): Promise<void> {
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
      /** Moves the last use of a session forward. */
      async touch(tokenHash: string, at: Date): Promise<void> {
        await db
          .update(sessions)
          .set({ last_seen_at: at })
          .where(eq(sessions.token_hash, tokenHash))
      },
      /** Ends a session. Returns false if there is none. */
      async endSession(tokenHash: string): Promise<boolean> {
        const ended = await db
          .delete(sessions)
          .where(eq(sessions.token_hash, tokenHash))
          .returning({ hash: sessions.token_hash })
        return ended.length === 1
      },
      /** Ends all sessions of an operator, except that of a token. */
      async endSessions(operatorId: string, exceptTokenHash: string | null = null): Promise<void> {
        const others =
          exceptTokenHash === null ? undefined : ne(sessions.token_hash, exceptTokenHash)
        await db.delete(sessions).where(and(eq(sessions.operator_id, operatorId), others))
      },
    },
  }
}
