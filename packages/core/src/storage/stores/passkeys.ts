import { and, asc, desc, eq, gt, isNull, lt, lte, notInArray, or } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { PasskeyReads, PasskeyWrites } from '../ports/passkeys.ts'

export function passkeyStore(
  db: Db,
  { passkeys: t, passkey_challenges: challenges }: Tables,
): PasskeyReads & PasskeyWrites {
  const one = (holderId: string, id: string) => and(eq(t.holder_id, holderId), eq(t.id, id))
  return {
    async ofHolder(holderId) {
      const own = db.select().from(t).where(eq(t.holder_id, holderId))
      return own.orderBy(asc(t.created_at), asc(t.id))
    },
    async byCredential(credentialId) {
      const [row] = await db.select().from(t).where(eq(t.credential_id, credentialId))
      return row ?? null
    },
    async insert(passkey) {
      const inserted = await db
        .insert(t)
        .values(passkey)
        .onConflictDoNothing({ target: t.credential_id })
        .returning({ id: t.id })
      return inserted.length === 1
    },
    async use(credentialId, { counter, last_used_at }) {
      // A counter of 0 stays 0: the device counts nothing (WebAuthn level 3, 6.1.1).
      const isNext = or(lt(t.counter, counter), and(eq(t.counter, 0), eq(t.counter, counter)))
      const used = await db
        .update(t)
        .set({ counter, last_used_at, needs_password: false })
        .where(and(eq(t.credential_id, credentialId), isNext))
        .returning({ id: t.id })
      return used.length === 1
    },
    async rename(holderId, id, name) {
      const renamed = db.update(t).set({ name }).where(one(holderId, id)).returning({ id: t.id })
      return (await renamed).length === 1
    },
    async remove(holderId, id) {
      const removed = db.delete(t).where(one(holderId, id)).returning({ id: t.id })
      return (await removed).length === 1
    },
    async needPassword(holderId) {
      await db.update(t).set({ needs_password: true }).where(eq(t.holder_id, holderId))
    },
    async clear(holderId) {
      await db.delete(t).where(eq(t.holder_id, holderId))
    },
    async addChallenge(challenge, { now, keep }) {
      await db.insert(challenges).values(challenge)
      await db.delete(challenges).where(lte(challenges.expires_at, now))
      const newest = db
        .select({ hash: challenges.challenge_hash })
        .from(challenges)
        .orderBy(desc(challenges.expires_at), asc(challenges.challenge_hash))
        .limit(keep)
      await db.delete(challenges).where(notInArray(challenges.challenge_hash, newest))
    },
    async takeChallenge(challengeHash, holderId, now) {
      const { holder_id, challenge_hash, expires_at } = challenges
      const theirs = holderId === null ? isNull(holder_id) : eq(holder_id, holderId)
      const taken = await db
        .delete(challenges)
        .where(and(eq(challenge_hash, challengeHash), theirs, gt(expires_at, now)))
        .returning({ hash: challenge_hash })
      return taken.length === 1
    },
  }
}
