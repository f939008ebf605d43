import { availableOf } from '../../src/rules/decide.ts'
import type { AccountRecord, Writes } from '../../src/storage/ports/stores.ts'
import type { MemoryTable } from './memory-tables.ts'

/** The owners to notify of a low balance, in memory. */
export function memoryLowBalances(
  accounts: MemoryTable<AccountRecord>,
): Pick<Writes['lowBalances'], 'claimNotice' | 'set'> {
  return {
    claimNotice: async (workspaceId) => {
      const account = accounts.get(workspaceId)
      if (account?.low_state !== 'due') return null
      accounts.put(workspaceId, { ...account, low_state: 'told' })
      const { low_balance: threshold } = account
      if (threshold === null) return null
      return { workspace_id: workspaceId, available: availableOf(account), threshold }
    },
    set: async (workspaceId, low_balance, updated_at) => {
      const account = accounts.get(workspaceId)
      if (!account || account.low_balance === low_balance) return
      const isEnough = low_balance === null || availableOf(account) >= low_balance
      const low_state = isEnough ? 'no' : account.low_state
      const changed = { low_balance, low_state, low_balance_default: false, updated_at } as const
      accounts.put(workspaceId, { ...account, ...changed })
    },
  }
}
