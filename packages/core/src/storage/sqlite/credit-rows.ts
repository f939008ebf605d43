import type { Account, Entry } from '../../credits/decide.ts'
import type { Tables } from '../tables.ts'
import type { Connection } from './connection.ts'
import { insertInto, selectFrom, updateOf } from './rows.ts'

/** Accounts and their ledger entries, as the verbs that move credits read and write them. */
export function creditRows(connection: Connection, t: Tables) {
  const select = selectFrom(
    connection,
    t.credit_accounts,
    ['workspace_id', 'balance', 'held', 'credit_limit', 'seq', 'status'],
    'workspace_id = ?',
  )
  const update = updateOf(connection, t.credit_accounts, {
    key: ['workspace_id'],
    set: ['balance', 'held', 'seq'],
  })
  const insert = insertInto(connection, t.ledger_entries)
  return {
    /** Puts the account of `workspaceId` into `accounts`, once. */
    load(accounts: Map<string, Account>, workspaceId: string): void {
      if (accounts.has(workspaceId)) return
      const account = select(workspaceId)[0]
      if (account) accounts.set(workspaceId, account as Account)
    },
    store(accounts: readonly Account[], entries: readonly Entry[]): void {
      for (const entry of entries) insert(entry)
      for (const account of accounts) update(account)
    },
  }
}
