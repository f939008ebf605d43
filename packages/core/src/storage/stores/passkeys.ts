import { and, asc, desc, eq, gt, isNull, lt, lte, notInArray, or } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { PasskeyChallengeRow, PasskeyRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

/** The passkeys of logins and operators. */
export function passkeyStore(db: Db, { passkeys: t, passkey_challenges: challenges }: Tables) {
  const one = (holderId: string, id: string) => and(eq(t.holder_id, holderId), eq(t.id, id))
  return {
    reads: {
      /** Oldest first. */
      async ofHolder(holderId: string): Promise<PasskeyRow[]> {
        const own = db.select().from(t).where(eq(t.holder_id, holderId))
        return own.orderBy(asc(t.created_at), asc(t.id))
      },
      async byCredential(credentialId: string): Promise<PasskeyRow | null> {
        const [row] = await db.select().from(t).where(eq(t.credential_id, credentialId))
        return row ?? null
      },
    },
    writes: {
      /** Returns false, and writes nothing, if the credential is known. */
      async insert(passkey: PasskeyRow): Promise<boolean> {
        const inserted = await db
          .insert(t)
          .values(passkey)
          .onConflictDoNothing({ target: t.credential_id })
          .returning({ id: t.id })
        return inserted.length === 1
      },
      /** Records a use, after which the passkey needs no password. Returns false for a passkey that was removed, and for a counter that does not rise. */
      async use(
        credentialId: string,
        { counter, last_used_at }: { counter: number; last_used_at: Date },
      ): Promise<boolean> {
        // A counter of 0 stays 0: the device counts nothing (WebAuthn level 3, 6.1.1).
        const isNext = or(lt(t.counter, counter), and(eq(t.counter, 0), eq(t.counter, counter)))
        const used = await db
          .update(t)
          .set({ counter, last_used_at, needs_password: false })
          .where(and(eq(t.credential_id, credentialId), isNext))
          .returning({ id: t.id })
        return used.length === 1
      },
      /** Returns false if the person has no such passkey. */
      async rename(holderId: string, id: string, name: string): Promise<boolean> {
        const renamed = db.update(t).set({ name }).where(one(holderId, id)).returning({ id: t.id })
        return (await renamed).length === 1
      },
      /** Returns false if the person has no such passkey. */
      async remove(holderId: string, id: string): Promise<boolean> {
        const removed = db.delete(t).where(one(holderId, id)).returning({ id: t.id })
        return (await removed).length === 1
      },
      /** The next use of each passkey of a person needs the password. */
      async needPassword(holderId: string): Promise<void> {
        await db.update(t).set({ needs_password: true }).where(eq(t.holder_id, holderId))
      },
      /** Removes all passkeys of a person. */
      async clear(holderId: string): Promise<void> {
        await db.delete(t).where(eq(t.holder_id, holderId))
      },
      /** Stores a challenge. Removes those that are over, and all but the newest `keep`. */
      async addChallenge(
        challenge: PasskeyChallengeRow,
        { now, keep }: { now: Date; keep: number },
      ): Promise<void> {
        await db.insert(challenges).values(challenge)
        await db.delete(challenges).where(lte(challenges.expires_at, now))
        const newest = db
          .select({ hash: challenges.challenge_hash })
          .from(challenges)
          .orderBy(desc(challenges.expires_at), asc(challenges.challenge_hash))
          .limit(keep)
        await db.delete(challenges).where(notInArray(challenges.challenge_hash, newest))
      },
      /** Uses up a valid challenge of a person, or with null of a sign-in. Returns false for none. */
      async takeChallenge(
        challengeHash: string,
        holderId: string | null,
        now: Date,
      ): Promise<boolean> {
        const { holder_id, challenge_hash, expires_at } = challenges
        const theirs = holderId === null ? isNull(holder_id) : eq(holder_id, holderId)
        const taken = await db
          .delete(challenges)
          .where(and(eq(challenge_hash, challengeHash), theirs, gt(expires_at, now)))
          .returning({ hash: challenge_hash })
        return taken.length === 1
      },
    },
  }
}
