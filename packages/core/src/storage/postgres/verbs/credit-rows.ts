import type { Tables } from '../../../rows/tables.ts'
import {
  ACCOUNT_CHANGES,
  ACCOUNT_COLUMNS,
  type Account,
  accountChange,
  type Entry,
  relativeEntry,
} from '../../../rules/decide.ts'

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
  const add = updateOf('add_to_accounts', t.credit_accounts, {
    key: ['workspace_id'],
    set: [...ACCOUNT_CHANGES],
    instead: {
      balance: 't.balance + r.balance',
      held: 't.held + r.held',
      seq: 't.seq + r.seq',
      spent: 'case when t.spent_on = r.spent_on then t.spent else 0 end + r.spent',
    },
  })
  const relative = insertInto('append_entries', t.ledger_entries, {
    seq: 'a.seq + r.seq',
    balance_after: 'a.balance + r.balance_after',
    held_after: 'a.held + r.held_after',
  })
  const append = {
    ...relative,
    text: `${relative.text} join credit_accounts a on a.workspace_id = r.workspace_id`,
  }
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
    /**
     * Writes what a plan changes in accounts that are locked, on top of their values: the values before the plan may
     * differ from `before`.
     */
    add(
      tx: Transaction,
      before: ReadonlyMap<string, Account>,
      after: readonly Account[],
      entries: readonly Entry[],
    ): void {
      const planned = (id: string) => before.get(id) as Account
      tx.write(
        append,
        entries.map((entry) => relativeEntry(planned(entry.workspace_id), entry)),
      )
      tx.write(
        add,
        after.map((account) => accountChange(planned(account.workspace_id), account)),
      )
    },
  }
}
