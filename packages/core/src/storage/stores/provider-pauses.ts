import { and, asc, eq, ne } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { PauseReads, PauseWrites } from '../ports/pauses.ts'

export function pauseStore(db: Db, { provider_pauses: t }: Tables): PauseReads & PauseWrites {
  const matching = ({ provider, sender, cause }: Parameters<PauseWrites['remove']>[0]) =>
    and(eq(t.provider, provider), eq(t.sender, sender), cause && eq(t.cause, cause))
  return {
    async list() {
      return db.select().from(t).orderBy(asc(t.provider), asc(t.sender))
    },
    async put(pause) {
      const { provider: _, sender: __, ...changes } = pause
      const target = [t.provider, t.sender]
      const weaker = pause.cause !== 'operator' && { setWhere: ne(t.cause, 'operator') }
      await db
        .insert(t)
        .values(pause)
        .onConflictDoUpdate({ target, set: changes, ...weaker })
    },
    async remove(pause) {
      return (
        (await db.delete(t).where(matching(pause)).returning({ provider: t.provider })).length > 0
      )
    },
  }
}
