import type { CounterAccount, LedgerDifference } from './report.ts'

/** The entries of one workspace within a slice, and its account, which may be missing. */
export interface EntrySums {
  workspace_id: string
  entries: number
  last_seq: number
  amount: string
  held_delta: string
  sends: number
  refunds: number
  faults: number
  balance: number | null
  held: number | null
  seq: number | null
}

/** A running sum of slices that come workspace by workspace: it holds one workspace at a time. */
export interface Tally {
  add(sums: EntrySums): LedgerDifference[]
  /** The last workspace's. */
  end(): LedgerDifference[]
  entries: number
  sends: number
  refunds: number
}

/** Adds entries up and holds each workspace's sums against its account. */
export function tallyEntries(): Tally {
  let current: (EntrySums & { total: bigint; total_held: bigint }) | null = null
  const tally: Tally = {
    entries: 0,
    sends: 0,
    refunds: 0,
    add(sums) {
      tally.entries += sums.entries
      tally.sends += sums.sends
      tally.refunds += sums.refunds
      const isNew = current?.workspace_id !== sums.workspace_id
      const found = isNew ? tally.end() : []
      current = {
        ...sums,
        entries: sums.entries + (isNew ? 0 : (current?.entries ?? 0)),
        total: BigInt(sums.amount) + (isNew ? 0n : (current?.total ?? 0n)),
        total_held: BigInt(sums.held_delta) + (isNew ? 0n : (current?.total_held ?? 0n)),
      }
      return found
    },
    end() {
      if (!current) return []
      const { workspace_id, balance, held, seq, entries, last_seq, total, total_held } = current
      current = null
      const base = { workspace_id, seq: null, about: null }
      if (balance === null || held === null || seq === null) {
        const should = `an account for ${entries} entries`
        return [{ check: 'account', ...base, stands: 'no account', should }]
      }
      const found: LedgerDifference[] = []
      const must = (check: 'balance' | 'held', stands: number, should: bigint) => {
        if (BigInt(stands) !== should)
          found.push({ check, ...base, stands: `${stands}`, should: `${should}` })
      }
      must('balance', balance, total)
      must('held', held, total_held)
      if (seq !== entries || seq !== last_seq) {
        const should = `${entries} entries, the last of which is ${last_seq}`
        found.push({ check: 'seq', ...base, stands: `${seq}`, should })
      }
      return found
    },
  }
  return tally
}

/** Sums by counter account, of slices. */
export function tallyCounters(): {
  add(rows: readonly { counter_account: string; entries: number; amount: string }[]): void
  accounts(): CounterAccount[]
} {
  const sums = new Map<string, { entries: number; balance: bigint }>()
  return {
    add(rows) {
      for (const { counter_account, entries, amount } of rows) {
        const sum = sums.get(counter_account) ?? { entries: 0, balance: 0n }
        sum.entries += entries
        sum.balance -= BigInt(amount)
        sums.set(counter_account, sum)
      }
    },
    accounts: () =>
      [...sums]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([counter_account, { entries, balance }]) => ({
          counter_account,
          entries,
          balance: `${balance}`,
        })),
  }
}
