import { and, asc, eq, ne } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { PauseRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

export function pauseStore(db: Db, { provider_pauses: t }: Tables) {
  const matching = ({
    provider,
    sender,
    cause,
  }: Pick<PauseRow, 'provider' | 'sender'> & {
    cause?: PauseRow['cause']
  }) => and(eq(t.provider, provider), eq(t.sender, sender), cause && eq(t.cause, cause))
  return {
    reads: {
      /** All pauses of the service, which are few. */
      async list(): Promise<PauseRow[]> {
        return db.select().from(t).orderBy(asc(t.provider), asc(t.sender))
      },
    },
    writes: {
      /** Replaces the current pause; only an operator's pause replaces an operator's pause. */
      async put(pause: PauseRow): Promise<void> {
        const { provider: _, sender: __, ...changes } = pause
        const target = [t.provider, t.sender]
        const weaker = pause.cause !== 'operator' && { setWhere: ne(t.cause, 'operator') }
        await db
          .insert(t)
          .values(pause)
          .onConflictDoUpdate({ target, set: changes, ...weaker })
      },
      /** Returns false when no such pause exists. With a `cause`, only a pause with that cause is removed. */
      async remove(
        pause: Pick<PauseRow, 'provider' | 'sender'> & { cause?: PauseRow['cause'] },
      ): Promise<boolean> {
        return (
          (await db.delete(t).where(matching(pause)).returning({ provider: t.provider })).length > 0
        )
      },
    },
  }
}
