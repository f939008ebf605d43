import type { Tables } from '../../../rows/tables.ts'
import {
  ACCOUNT_CHANGES,
  ACCOUNT_COLUMNS,
  type Account,
  type Entry,
} from '../../../rules/decide.ts'

import type { Connection } from '../engine/connection.ts'
import { insertAll, selectFrom, updateOf } from '../engine/rows.ts'

/** Accounts and their ledger entries, as the verbs that move credits read and write them. */
export function creditRows(connection: Connection, t: Tables) {
  const select = selectFrom(connection, t.credit_accounts, ACCOUNT_COLUMNS, 'workspace_id = ?')
  const update = updateOf(connection, t.credit_accounts, {
    key: ['workspace_id'],
    set: [...ACCOUNT_CHANGES],
  })
  const insert = insertAll(connection, t.ledger_entries, [
    'id',
    'seq',
    'amount',
    'held_delta',
    'balance_after',
    'held_after',
    'ref_id',
    'quantity',
    'unit_price',
    'created_at',
  ])
  return {
    /** Puts the account of `workspaceId` into `accounts`, once. */
    load(accounts: Map<string, Account>, workspaceId: string): void {
      if (accounts.has(workspaceId)) return
      const account = select(workspaceId)[0]
      if (account) accounts.set(workspaceId, account as Account)
    },
    store(accounts: readonly Account[], entries: readonly Entry[]): void {
      insert(entries)
      for (const account of accounts) update(account)
    },
  }
}
