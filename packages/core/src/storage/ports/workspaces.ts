import type {
  AccountTokenRow,
  EndedSessionRow,
  LoginNetworkRow,
  OwnerMailRow,
  WorkspaceRow,
} from '../../rows/rows.ts'

/** What the owner may change of a workspace. */
export type WorkspaceChange = {
  [K in 'name' | 'phone' | 'country' | 'sender_name']?: WorkspaceRow[K] | undefined
}

export interface WorkspaceReads {
  byId(workspaceId: string): Promise<WorkspaceRow | null>
  /** Addresses are compared in lower case. */
  byEmail(email: string): Promise<WorkspaceRow | null>
  /** Every workspace, oldest first: for the operator's own commands. */
  list(page: { limit: number; offset: number }): Promise<WorkspaceRow[]>
}

export interface WorkspaceWrites {
  /** Locks this workspace until the transaction ends. */
  lock(workspaceId: string): Promise<void>
  /** Answers false when the e-mail address is taken; nothing is written then. */
  insert(workspace: WorkspaceRow): Promise<boolean>
  /** Changes the fields given, and no others. */
  change(workspaceId: string, change: WorkspaceChange, at: Date): Promise<void>
  /** Answers false when the address was verified before; nothing is written then. */
  verifyEmail(workspaceId: string, at: Date): Promise<boolean>
  /**
   * Puts a new hash in place, and ends every token issued before. With `from`, only while that is the hash: answers
   * false when it is not any more.
   */
  changePassword(
    workspaceId: string,
    change: { from?: string; to: string; at: Date },
  ): Promise<boolean>
  /** Puts another hash of the same password in place, unless the password was changed meanwhile; ends nothing. */
  rehash(workspaceId: string, change: { from: string; to: string }): Promise<void>
}

type TokenKind = Pick<AccountTokenRow, 'workspace_id' | 'purpose'>

/** Tokens of mails, by their hash. */
export interface AccountTokenReads {
  /** Whether there is such a token that has not expired. */
  isGood(tokenHash: string, purpose: AccountTokenRow['purpose'], now: Date): Promise<boolean>
}

export interface AccountTokenWrites {
  /** Keeps a token, and ends the workspace's others of that purpose: of any that come at once, one is left. */
  issue(token: AccountTokenRow): Promise<void>
  /** Uses a good token up: answers its workspace, to one caller alone; null to all others. */
  take(tokenHash: string, purpose: AccountTokenRow['purpose'], now: Date): Promise<string | null>
  /** Ends the workspace's tokens of that purpose. */
  end(kind: TokenKind): Promise<void>
  /** Forgets tokens that expired before, about `limit` of them; says how many. */
  forget(before: Date, limit: number): Promise<number>
}

/** Sessions, by the hash of their token. */
export interface SessionReads {
  /** What decides whether a session holds, in one query; null where there is no such workspace. */
  byHash(
    workspaceId: string,
    sessionHash: string,
  ): Promise<{ token_version: number; is_ended: boolean } | null>
}

export interface SessionWrites {
  /** Ends one session. Answers false when it was ended before. */
  end(session: EndedSessionRow): Promise<boolean>
  /** Forgets ended sessions whose token expired before, about `limit` of them; says how many. */
  forget(before: Date, limit: number): Promise<number>
}

/** The networks that accounts logged in from. */
export interface LoginNetworkReads {
  /** Whether the account of an e-mail address logged in from that network since then, in one query, known address or not. */
  byEmail(email: string, network: string, since: Date): Promise<boolean>
}

export interface LoginNetworkWrites {
  /** Notes a login. Of more than `LIMITS.login_networks`, the workspace's oldest make room. */
  note(login: LoginNetworkRow): Promise<void>
  /** Forgets all networks of a workspace. */
  clear(workspaceId: string): Promise<void>
  /** Forgets networks without a login since then, about `limit` of them; says how many. */
  forget(before: Date, limit: number): Promise<number>
}

export interface OwnerMailWrites {
  /**
   * Notes that the owner is mailed, unless that was within the last `every_ms`: answers false then. One of several
   * callers at once is answered true.
   */
  claim(mail: OwnerMailRow, every_ms: number): Promise<boolean>
}
