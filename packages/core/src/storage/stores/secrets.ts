import { eq } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Sealed } from '../../rows/sealed.ts'
import type { Tables } from '../../rows/tables.ts'
import type { SecretReads, SecretWrites } from '../ports/secrets.ts'

export function secretStore(db: Db, { secrets: t }: Tables): SecretReads & SecretWrites {
  async function byName(name: string): Promise<Sealed | null> {
    const [row] = await db.select({ value: t.value }).from(t).where(eq(t.name, name))
    return row?.value ?? null
  }
  return {
    byName,
    async keepFirst(secret) {
      await db.insert(t).values(secret).onConflictDoNothing({ target: t.name })
      return (await byName(secret.name)) ?? secret.value
    },
  }
}
