import { gt, lte, sql } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { OwnerMailRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

export function ownerMailStore(db: Db, { owner_mails: t }: Tables) {
  return {
    reads: {},
    writes: {
      /**
       * Records an e-mail to the owner and returns true; returns false if an e-mail was sent within the last `every_ms`.
       * One of several simultaneous callers gets true.
       */
      async claim(mail: OwnerMailRow, every_ms: number): Promise<boolean> {
        const { mailed_at } = mail
        const before = new Date(mailed_at.getTime() - every_ms)
        const after = new Date(mailed_at.getTime() + every_ms)
        const claimed = await db
          .insert(t)
          .values(mail)
          .onConflictDoUpdate({
            target: [t.workspace_id, t.kind],
            set: { mailed_at },
            // A stored time that is so far in the future means that the clock was set back: it must not delay the mail.
            setWhere: sql`${lte(t.mailed_at, before)} or ${gt(t.mailed_at, after)}`,
          })
          .returning({ kind: t.kind })
        return claimed.length === 1
      },
    },
  }
}
