import type { PasskeyChallengeRow, PasskeyRow } from '../../rows/rows.ts'

/** The passkeys of logins and operators. */
export interface PasskeyReads {
  /** Oldest first. */
  ofHolder(holderId: string): Promise<PasskeyRow[]>
  byCredential(credentialId: string): Promise<PasskeyRow | null>
}

export interface PasskeyWrites {
  /** Returns false, and writes nothing, if the credential is known. */
  insert(passkey: PasskeyRow): Promise<boolean>
  /** Records a use, after which the passkey needs no password. Returns false for a passkey that was removed, and for a counter that does not rise. */
  use(credentialId: string, use: { counter: number; last_used_at: Date }): Promise<boolean>
  /** Returns false if the person has no such passkey. */
  rename(holderId: string, id: string, name: string): Promise<boolean>
  /** Returns false if the person has no such passkey. */
  remove(holderId: string, id: string): Promise<boolean>
  /** The next use of each passkey of a person needs the password. */
  needPassword(holderId: string): Promise<void>
  /** Removes all passkeys of a person. */
  clear(holderId: string): Promise<void>
  /** Stores a challenge. Removes those that are over, and all but the newest `keep`. */
  addChallenge(challenge: PasskeyChallengeRow, limits: { now: Date; keep: number }): Promise<void>
  /** Uses up a valid challenge of a person, or with null of a sign-in. Returns false for none. */
  takeChallenge(challengeHash: string, holderId: string | null, now: Date): Promise<boolean>
}
