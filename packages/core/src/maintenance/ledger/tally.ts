import { createHash } from 'node:crypto'
import type { LedgerDifference } from './report.ts'
import { type EntrySums, HELD_WEIGHT, type Marks, MODULUS } from './sums.ts'

/** The result of the sums of one workspace's entries. */
export interface Ended {
  workspace_id: string
  differences: LedgerDifference[]
  /** Whether its entries must be checked one by one. */
  isSuspect: boolean
}

/** Running sums of slices that arrive workspace by workspace. Only one workspace is in memory at a time. */
export interface Tally {
  add(sums: EntrySums): void
  /** Ends the last workspace and returns its result; null when none is left. */
  end(): Ended | null
  workspace_id: string | null
  entries: number
}

type Current = EntrySums & { total: bigint; total_held: bigint; total_chain: bigint }

/** Sums entries and compares each workspace's sums with its account. */
export function tallyEntries(): Tally {
  let current: Current | null = null
  const tally: Tally = {
    workspace_id: null,
    entries: 0,
    add(sums) {
      tally.entries += sums.entries
      tally.workspace_id = sums.workspace_id
      current = {
        ...sums,
        entries: sums.entries + (current?.entries ?? sums.opening_entries),
        total: BigInt(sums.amount) + (current?.total ?? BigInt(sums.opening_amount)),
        total_held:
          BigInt(sums.held_delta) + (current?.total_held ?? BigInt(sums.opening_held_delta)),
        total_chain: BigInt(sums.chain) + (current?.total_chain ?? 0n),
      }
    },
    end() {
      if (!current) return null
      const { workspace_id } = current
      const differences = differencesOf(current)
      const isSuspect = !isChained(current)
      current = null
      tally.workspace_id = null
      return { workspace_id, differences, isSuspect }
    },
  }
  return tally
}

function differencesOf(current: Current): LedgerDifference[] {
  const { workspace_id, balance, held, seq, entries, total, total_held } = current
  const last_seq = lastOf(current)
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
}

/**
 * Whether the entries are numbered without a gap, from 1 or from the opening, and each starts at the result of the previous
 * entry.
 */
function isChained(current: Current): boolean {
  const { entries, first_seq, seq, total_chain, opening_seq } = current
  const last_seq = lastOf(current)
  if ((opening_seq === 0 && first_seq !== 1) || last_seq !== entries || seq !== last_seq)
    return false
  const end = last_seq === opening_seq ? startOf(current) : endOf(current)
  if (end === null) return false
  const begin = startOf(current) * BigInt(opening_seq + 1) ** 2n
  return (end * BigInt(last_seq + 1) ** 2n - begin - total_chain) % BigInt(MODULUS) === 0n
}

/** The number of the last entry, also if it was removed. */
function lastOf({ last_seq, opening_seq }: Current): number {
  return Math.max(last_seq, opening_seq)
}

function startOf({ opening_balance, opening_held }: Current): bigint {
  return BigInt(opening_balance) + BigInt(HELD_WEIGHT) * BigInt(opening_held)
}

function endOf({ last_balance, last_held }: Current): bigint | null {
  if (last_balance === null || last_held === null) return null
  return BigInt(last_balance) + BigInt(HELD_WEIGHT) * BigInt(last_held)
}

/** Sends and refunds of all workspaces, in one number of constant size. Faults of two workspaces do not cancel out. */
export interface MarkTally {
  add(marks: Marks): void
  /** A text that is equal for equal sends and refunds. */
  text(): string
}

/** An empty tally. */
export function tallyMarks(): MarkTally {
  let sum = 0n
  return {
    add({ workspace_id, mark }) {
      const hash = createHash('sha256').update(workspace_id).digest()
      sum += hash.readBigUInt64BE() * BigInt(mark)
    },
    text: () => `${sum}`,
  }
}
