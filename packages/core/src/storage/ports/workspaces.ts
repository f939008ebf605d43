import type { Slice } from '../../contract/endpoints/paging.ts'
import type {
  AccountTokenRow,
  EndedSessionRow,
  LoginNetworkRow,
  OwnerMailRow,
  SessionRow,
  WorkspaceRow,
} from '../../rows/rows.ts'
import type { SessionFacts } from './members.ts'

/** The columns that the owner may change. */
export type WorkspaceChange = {
  [K in 'name' | 'phone' | 'country' | 'sender_name']?: WorkspaceRow[K] | undefined
}

export interface WorkspaceReads {
  byId(workspaceId: string): Promise<WorkspaceRow | null>
  /** Addresses are compared in lower case. */
  byEmail(email: string): Promise<WorkspaceRow | null>
  /** Every workspace, oldest first, for the operator's commands. */
  list(page: Slice): Promise<WorkspaceRow[]>
  /** The workspaces whose name or address contains a text, or with this id; newest first, for the operator. */
  search(text: string, page: Slice): Promise<WorkspaceRow[]>
}

export interface WorkspaceWrites {
  /** Locks this workspace until the transaction ends. */
  lock(workspaceId: string): Promise<void>
  /** Returns false, and writes nothing, when the e-mail address is taken. */
  insert(workspace: WorkspaceRow): Promise<boolean>
  /** Changes only the given columns. */
  change(workspaceId: string, change: WorkspaceChange, at: Date): Promise<void>
  renameOwner(workspaceId: string, name: string | null, at: Date): Promise<void>
  /** Returns false, and writes nothing, if the address is already verified. */
  verifyEmail(workspaceId: string, at: Date): Promise<boolean>
  /**
   * Replaces the password hash and ends every token issued before. With `from`, only if `from` is the current hash;
   * otherwise returns false.
   */
  changePassword(
    workspaceId: string,
    change: { from?: string; to: string; at: Date },
  ): Promise<boolean>
  /** Ends every token issued before. */
  endTokens(workspaceId: string, at: Date): Promise<void>
  /** Gives the workspace to another login. The token version becomes `login.token_version`. */
  changeOwner(
    workspaceId: string,
    login: Pick<
      WorkspaceRow,
      'email' | 'email_key' | 'owner_name' | 'password_hash' | 'token_version'
    >,
    at: Date,
  ): Promise<void>
  /** Replaces the hash by another hash of the same password, unless the password changed meanwhile. Ends no token. */
  rehash(workspaceId: string, change: { from: string; to: string }): Promise<void>
}

type TokenKind = Pick<AccountTokenRow, 'workspace_id' | 'purpose'>

/** Tokens in e-mails to owners, found by their hash. */
export interface AccountTokenReads {
  /** The workspace or user of a valid token; null for a token that does not exist or has expired. Uses nothing up. */
  holderOf(
    tokenHash: string,
    purpose: AccountTokenRow['purpose'],
    now: Date,
  ): Promise<string | null>
}

export interface AccountTokenWrites {
  /**
   * Stores a token and ends the workspace's other tokens of that purpose. After simultaneous calls, one token is valid.
   */
  issue(token: AccountTokenRow): Promise<void>
  /** Uses up a valid token: returns its workspace to one caller, null to all others. */
  take(tokenHash: string, purpose: AccountTokenRow['purpose'], now: Date): Promise<string | null>
  /** Ends the workspace's tokens of that purpose. */
  end(kind: TokenKind): Promise<void>
  /** Removes about `limit` tokens that expired before `before`; returns their number. */
  forget(before: Date, limit: number): Promise<number>
}

/** Sessions, found by their login and the hash of their token. */
export interface SessionReads {
  /** The facts that decide what a session may do in a workspace, in one query; null without such a login or workspace. */
  byHash(session: {
    user_id: string
    session_hash: string
    workspace_id: string
  }): Promise<SessionFacts | null>
  /** The listed sessions of a login, newest first. */
  list(userId: string, now: Date): Promise<SessionRow[]>
}

export interface SessionWrites {
  /** Adds a session to the list of its login, and keeps the newest `LIMITS.sessions` in the list. */
  begin(session: SessionRow): Promise<void>
  /** Ends one session. Returns false if the session had already ended. */
  end(session: EndedSessionRow): Promise<boolean>
  /** Removes the sessions of a login from the list; with `workspaceId`, only those that began in this workspace. */
  clear(userId: string, workspaceId?: string): Promise<void>
  /** Moves `last_seen_at` forward, never back. */
  touch(uses: readonly Pick<SessionRow, 'user_id' | 'id' | 'last_seen_at'>[]): Promise<void>
  /** Removes about `limit` sessions whose tokens expired before `before`; returns their number. */
  forget(before: Date, limit: number): Promise<number>
}

/** The networks from which accounts logged in. */
export interface LoginNetworkReads {
  /**
   * Whether the account of an e-mail address logged in from that network since that time. It is one query, whether or
   * not the address has an account.
   */
  byEmail(email: string, network: string, since: Date): Promise<boolean>
  /** The same for the operator of a name, as `OperatorReads.byName` finds it. */
  byOperator(name: string, network: string, since: Date): Promise<boolean>
}

export interface LoginNetworkWrites {
  /** The last login of a login from a network; null for none. */
  lastLogin(workspaceId: string, network: string): Promise<Date | null>
  /** Records a login. Keeps the workspace's newest `LIMITS.login_networks`. */
  note(login: LoginNetworkRow): Promise<void>
  /** Removes all networks of a workspace. */
  clear(workspaceId: string): Promise<void>
  /** Removes about `limit` networks whose last login is before that time; returns their number. */
  forget(before: Date, limit: number): Promise<number>
}

export interface OwnerMailWrites {
  /**
   * Records an e-mail to the owner and returns true; returns false if an e-mail was sent within the last `every_ms`.
   * One of several simultaneous callers gets true.
   */
  claim(mail: OwnerMailRow, every_ms: number): Promise<boolean>
}
