import type { Tables } from '../../../rows/tables.ts'
import type { Account, Entry } from '../../../rules/decide.ts'
import { ACCOUNT_CHANGES, ACCOUNT_COLUMNS } from '../../account-columns.ts'
import { statement, type Transaction } from '../engine/database.ts'
import { insertInto, updateOf } from '../engine/rows.ts'

/** Accounts and their ledger entries, as the verbs that move credits read and write them. */
export function creditRows(t: Tables) {
  const lock = statement<Account>(
    'lock_accounts',
    `select ${ACCOUNT_COLUMNS.join(', ')} from credit_accounts
     where workspace_id = any($1::text[]) order by workspace_id for update`,
  )
  const update = updateOf('update_accounts', t.credit_accounts, {
    key: ['workspace_id'],
    set: [...ACCOUNT_CHANGES],
  })
  const insert = insertInto('insert_entries', t.ledger_entries)
  return {
    /** Locks the accounts until the transaction ends: always in the order of their ids, which prevents deadlocks. */
    async lock(tx: Transaction, workspaceIds: Set<string>): Promise<Map<string, Account>> {
      if (workspaceIds.size === 0) return new Map()
      const found = await tx.rows(lock, [...workspaceIds])
      return new Map(found.map((account) => [account.workspace_id, account]))
    },
    store(tx: Transaction, accounts: readonly Account[], entries: readonly Entry[]): void {
      tx.write(insert, entries)
      tx.write(update, accounts)
    },
  }
}
