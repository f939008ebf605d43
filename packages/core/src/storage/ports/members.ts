import type {
  InvitationRow,
  MemberRow,
  OidcIdentityRow,
  SecondFactorRow,
  SessionRow,
  UserRow,
} from '../../rows/rows.ts'

/** A member of a workspace with the data of the login. */
export type MemberWithLogin = Pick<MemberRow, 'user_id' | 'role' | 'created_at'> &
  Pick<UserRow, 'email' | 'name'>

export interface UserReads {
  byId(userId: string): Promise<UserRow | null>
  /** Addresses are compared in lower case. */
  byEmail(email: string): Promise<UserRow | null>
  /** The user id that an OIDC provider's subject signs in as; null if it is unknown. */
  byIdentity(identity: Pick<OidcIdentityRow, 'issuer' | 'subject'>): Promise<string | null>
  /** The OIDC subjects that sign in as this login, oldest first. */
  identities(userId: string): Promise<OidcIdentityRow[]>
}

export interface UserWrites {
  /** Locks this user until the transaction ends. */
  lock(userId: string): Promise<void>
  /** Returns false, and writes nothing, when a user has the address. */
  insert(user: UserRow): Promise<boolean>
  /**
   * Replaces the password hash and ends every token issued before. With `from`, only if `from` is the current hash;
   * otherwise returns false.
   */
  changePassword(userId: string, change: { from?: string; to: string; at: Date }): Promise<boolean>
  rename(userId: string, name: string | null, at: Date): Promise<void>
  /** Ends every token issued before. */
  endTokens(userId: string, at: Date): Promise<void>
  /** Replaces the hash by another hash of the same password, unless the password changed meanwhile. Ends no token. */
  rehash(userId: string, change: { from: string; to: string }): Promise<void>
  /** Lets an OIDC subject sign in as this login. Returns false if the subject is known. */
  link(identity: OidcIdentityRow): Promise<boolean>
  /** Returns false if the subject does not sign in as this login. */
  unlink(identity: Pick<OidcIdentityRow, 'issuer' | 'subject' | 'user_id'>): Promise<boolean>
  /** Gives the OIDC subjects, second factor, memberships, sent invitations and roles of a login to another login. */
  move(from: string, to: string): Promise<void>
  /** Removes a user with its OIDC subjects, second factor, sessions, tokens and networks. */
  remove(userId: string): Promise<void>
}

export interface MemberReads {
  byId(workspaceId: string, userId: string): Promise<MemberRow | null>
  /** The members without the owner, oldest first. */
  list(workspaceId: string): Promise<MemberWithLogin[]>
  count(workspaceId: string): Promise<number>
  /** The members whose invitations these logins sent after `since`. */
  invitedBy(workspaceId: string, logins: readonly string[], since: Date): Promise<MemberRow[]>
  /** The workspaces in which a login is a member and not the owner, oldest membership first, with their names. */
  ofUser(userId: string): Promise<(MemberRow & { name: string })[]>
}

export interface MemberWrites {
  /** Adds a member. Returns false, and changes nothing, if the login is a member. */
  add(member: MemberRow): Promise<boolean>
  /** Returns false if the workspace has no such member. */
  change(
    workspaceId: string,
    userId: string,
    change: Pick<MemberRow, 'role' | 'updated_at'>,
  ): Promise<boolean>
  /** Returns false if the workspace has no such member. */
  remove(workspaceId: string, userId: string): Promise<boolean>
}

/** Invitations, found by workspace, by address, or by the hash of their token. */
export interface InvitationReads {
  list(workspaceId: string, now: Date): Promise<InvitationRow[]>
  /** The invitation of a token that has not expired. */
  byToken(tokenHash: string, now: Date): Promise<InvitationRow | null>
}

export interface InvitationWrites {
  /** Stores an invitation in place of an earlier one to the same address. */
  insert(invitation: InvitationRow): Promise<void>
  /** Uses up the invitation of a valid token: returns it to one caller, null to all others. */
  take(tokenHash: string, now: Date): Promise<InvitationRow | null>
  /** Returns false if the workspace has no such invitation. */
  remove(workspaceId: string, invitationId: string): Promise<boolean>
  /** Waits for transactions that accept an invitation to this address. */
  lockAddress(email: string): Promise<void>
  /** Removes about `limit` invitations that expired before `before`; returns their number. */
  forget(before: Date, limit: number): Promise<number>
}

/** The validity of a session and the role of its login in a workspace. */
export interface SessionFacts {
  /** The current token version of the login. */
  token_version: number
  is_ended: boolean
  /** The role in the workspace; null for a login that is no member. */
  role: 'owner' | MemberRow['role'] | null
  /** The id and last use of the session in the list of sessions; null for a session that is not in the list. */
  listed: Pick<SessionRow, 'id' | 'last_seen_at'> | null
}

/** What logins need beside the password. */
export interface SecondFactorReads {
  /** null for a login without a second factor. */
  ofLogin(userId: string): Promise<SecondFactorRow | null>
}

export interface SecondFactorWrites {
  /** Locks a login until the transaction ends. */
  lock(userId: string): Promise<void>
  change(userId: string, change: Partial<Omit<SecondFactorRow, 'user_id'>>): Promise<void>
}
