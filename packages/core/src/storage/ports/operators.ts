import type { OperatorRow, OperatorSessionRow } from '../../rows/rows.ts'

/** The operators of the service; they belong to no workspace. */
export interface OperatorReads {
  /** All operators, by name. They are few. */
  list(): Promise<OperatorRow[]>
  byId(operatorId: string): Promise<OperatorRow | null>
  /** Names are compared in lower case. */
  byName(name: string): Promise<OperatorRow | null>
  /** The operator of a session that has not ended, with its last use; null for none. */
  byToken(tokenHash: string, now: Date): Promise<(OperatorRow & { last_seen_at: Date }) | null>
}

export interface OperatorWrites {
  /** Locks an operator until the transaction ends. */
  lock(operatorId: string): Promise<void>
  /** Returns false, and writes nothing, when an operator has the name. */
  insert(operator: OperatorRow): Promise<boolean>
  change(
    operatorId: string,
    change: Partial<Omit<OperatorRow, 'id' | 'name' | 'name_key' | 'created_at'>>,
  ): Promise<void>
  /** Removes an operator with its sessions and networks. Returns false if there is none. */
  remove(operatorId: string): Promise<boolean>
  /** Begins a session, and ends all except the newest `keep` and those that are over. */
  beginSession(session: OperatorSessionRow, keep: number): Promise<void>
  /** Moves the last use of a session forward. */
  touch(tokenHash: string, at: Date): Promise<void>
  /** Ends a session. Returns false if there is none. */
  endSession(tokenHash: string): Promise<boolean>
  /** Ends all sessions of an operator, except that of a token. */
  endSessions(operatorId: string, exceptTokenHash?: string | null): Promise<void>
}
