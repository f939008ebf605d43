import type { HoldRow, LotRow, MessageRow, PurchaseRow } from '../../src/rows/rows.ts'
import type { Account, Entry } from '../../src/rules/decide.ts'
import { faultsOf } from '../storage/ledger-checks.ts'

type Time = Date | number | string
type Timed<R> = {
  [K in keyof R]: R[K] extends Date ? Time : R[K] extends Date | null ? Time | null : R[K]
}

/** The rows that a history of the ledger has written, as the engine stores them, sorted by key only. */
export interface Rows {
  accounts: Timed<Account>[]
  entries: Timed<Entry>[]
  holds: Timed<HoldRow>[]
  lots: Timed<LotRow>[]
  purchases: Timed<PurchaseRow>[]
  messages: Timed<MessageRow>[]
  /** A hash of everything else that a request can write, where an engine does not report that nothing was written. */
  rest: string
}

/** A moment as engines give it, in milliseconds. */
export function msOf(time: Time): number {
  return typeof time === 'number' ? time : new Date(time).getTime()
}

const of = <R extends { workspace_id: string }>(rows: readonly R[], workspaceId: string) =>
  rows.filter(({ workspace_id }) => workspace_id === workspaceId)

/**
 * What must be true of the rows by themselves, of one workspace after the other. `floors` says of each entry of a
 * workspace how low a debit could bring what was available then. Answers what is not.
 */
export function rowFaults(rows: Rows, floors: (workspaceId: string) => number[]): string[] {
  return rows.accounts.flatMap((account) => {
    const id = account.workspace_id
    const entries = of(rows.entries, id).sort((a, b) => a.seq - b.seq) as Entry[]
    const messages = of(rows.messages, id) as MessageRow[]
    return [
      ...faultsOf({ account: account as Account, entries, messages }, floors(id)),
      ...holdFaults(entries, of(rows.holds, id), account.held),
      ...lotFaults(entries, of(rows.lots, id)),
      ...purchaseFaults(entries, of(rows.purchases, id)),
      ...unexplained(entries, floors(id)),
    ]
  })
}

/** What is held is what the holds hold that nothing ended; each ends once, whole. */
function holdFaults(entries: readonly Entry[], holds: Rows['holds'], held: number): string[] {
  const faults: string[] = []
  const open = new Map<string, number>()
  for (const { id, kind, held_delta, resolves } of entries) {
    if (kind === 'hold') open.set(id, held_delta)
    if (resolves === null) continue
    if (open.get(resolves) !== -held_delta) faults.push(`${kind} ${id} does not end ${resolves}`)
    open.delete(resolves)
  }
  const sum = [...open.values()].reduce((total, amount) => total + amount, 0)
  if (sum !== held) faults.push(`${held} held, and open holds of ${sum}`)
  for (const { id, amount } of holds) {
    if (open.get(id) !== amount) faults.push(`hold ${id} of ${amount} is not open`)
  }
  if (holds.length !== open.size) faults.push(`${open.size} open holds, ${holds.length} rows`)
  return faults
}

/** A lot ends once, with at most what it granted, and never takes what is not there. */
function lotFaults(entries: readonly Entry[], lots: Rows['lots']): string[] {
  const faults: string[] = []
  for (const { id, amount, remaining, ended_at, granted_seq } of lots) {
    const grant = entries.find((entry) => entry.id === id)
    if (grant?.amount !== amount || grant.seq !== granted_seq) faults.push(`lot ${id} has no grant`)
    if (remaining < 0 || remaining > amount) faults.push(`lot ${id} has ${remaining} left`)
    const ends = entries.filter(({ kind, ref_type, ref_id }) => {
      return kind === 'expire' && ref_type === 'lot' && ref_id === id
    })
    if (ends.length > (ended_at === null ? 0 : 1))
      faults.push(`lot ${id} ended ${ends.length} times`)
    if (ends.some((end) => -end.amount > amount)) faults.push(`lot ${id} took more than it gave`)
  }
  for (const { kind, ref_type, balance_after, held_after } of entries) {
    if (kind === 'expire' && ref_type === 'lot' && balance_after - held_after < 0) {
      faults.push('an expiry took what was not there')
    }
  }
  return faults
}

/** A paid purchase has one entry of its own, and what came of it is between nothing and all of it. */
function purchaseFaults(entries: readonly Entry[], purchases: Rows['purchases']): string[] {
  return purchases.flatMap(({ id, credits, paid_at }) => {
    const mine = entries.filter(({ ref_type, ref_id }) => ref_type === 'purchase' && ref_id === id)
    const sum = mine.reduce((total, { amount }) => total + amount, 0)
    const bought = mine.filter(({ kind }) => kind === 'purchase').length
    const isSound = paid_at === null ? mine.length === 0 : bought <= 1 && sum >= 0 && sum <= credits
    return isSound ? [] : [`purchase ${id} of ${credits} came to ${sum} in ${mine.length} entries`]
  })
}

const MAY_OVERDRAW: ReadonlySet<string> = new Set(['purchase_adjust', 'adjustment', 'settle'])

/** Below what a debit may reach, credits fall only for what happened elsewhere or was an operator's will. */
function unexplained(entries: readonly Entry[], floors: readonly number[]): string[] {
  return entries.flatMap(
    ({ kind, ref_type, amount, held_delta, balance_after, held_after, seq }, i) => {
      const falls = amount - held_delta < 0
      const isBelow = balance_after - held_after < (floors[i] ?? 0)
      const isExplained = MAY_OVERDRAW.has(kind) || ref_type === 'fact'
      return falls && isBelow && !isExplained ? [`entry ${seq} (${kind}) overdraws`] : []
    },
  )
}
