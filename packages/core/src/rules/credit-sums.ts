import type { Units } from '../contract/fields/units.ts'
import type { EntryKind } from '../rows/credits.ts'
import type { CreditDayRow } from '../rows/rows.ts'
import type { Entry } from './decide.ts'

const DAY_MS = 86_400_000

/** An entry of the ledger with its origin. */
export interface CausedEntry
  extends Pick<Entry, 'seq' | 'kind' | 'amount' | 'held_delta' | 'channel' | 'created_at'> {
  /** The API key, or the login, that sent the message or the bulk; null for other entries. */
  api_key_id: string | null
  bulk_id: string | null
  broadcast_id: string | null
}

/** The sum of the entries of one day, kind, channel and key. */
export type DaySum = Omit<CreditDayRow, 'workspace_id'>

/** What one bulk or broadcast cost on one day. */
export interface CauseSum {
  day: number
  /** The broadcast, or the bulk that belongs to none. */
  cause_id: string
  cause_type: 'bulk' | 'broadcast'
  /** Empty if it is not known. */
  channel: string
  api_key_id: string
  spent: Units
  refunded: Units
  refunds: number
}

/** The day (UTC) of a time, in days since 1970. */
export function dayOf(at: Date): number {
  return Math.floor(at.getTime() / DAY_MS)
}

/** The start of a day. */
export function startOf(day: number): Date {
  return new Date(day * DAY_MS)
}

/** The change of the available credits. Over all entries, its sum is the available credits. */
export function changeOf({ amount, held_delta }: Pick<Entry, 'amount' | 'held_delta'>): number {
  return amount - held_delta
}

/** What an entry is for the person who pays: messages cost, refunds return, and the rest comes from elsewhere. */
export function sideOf(kind: EntryKind): 'spent' | 'refunded' | 'other' {
  if (kind === 'refund') return 'refunded'
  return kind === 'send' || kind === 'hold' || kind === 'settle' || kind === 'void'
    ? 'spent'
    : 'other'
}

/** Sums entries by day, kind, channel and key, and those of bulks and broadcasts by these. Both lists are sorted by key. */
export function sumsOf(entries: readonly CausedEntry[]): { days: DaySum[]; causes: CauseSum[] } {
  const days = new Map<string, DaySum>()
  const causes = new Map<string, CauseSum>()
  for (const entry of entries) {
    const { kind, amount, held_delta } = entry
    const day = dayOf(entry.created_at)
    const channel = entry.channel ?? ''
    const api_key_id = entry.api_key_id ?? ''
    addTo(days, `${day} ${kind} ${channel} ${api_key_id}`, {
      ...{ day, kind, channel, api_key_id, count: 1, amount, held_delta },
    })
    const cause_id = entry.broadcast_id ?? entry.bulk_id
    if (cause_id === null) continue
    const cause_type = entry.broadcast_id === null ? 'bulk' : 'broadcast'
    const change = changeOf(entry)
    const isRefund = sideOf(kind) === 'refunded'
    addTo(causes, `${day} ${cause_id}`, {
      ...{ day, cause_id, cause_type, channel, api_key_id },
      spent: (isRefund ? 0 : 0 - change) as Units,
      refunded: (isRefund ? change : 0) as Units,
      refunds: isRefund ? 1 : 0,
    })
  }
  return { days: sorted(days), causes: sorted(causes) }
}

/** Sums that have the same key, as after a part of the entries was summed before. */
export function joinedCauses(sums: readonly CauseSum[]): CauseSum[] {
  const joined = new Map<string, CauseSum>()
  for (const sum of sums) addTo(joined, sum.cause_id, { ...sum })
  return [...joined.values()]
}

const SUMMED = ['count', 'amount', 'held_delta', 'spent', 'refunded', 'refunds'] as const

function addTo<Sum extends DaySum | CauseSum>(sums: Map<string, Sum>, key: string, one: Sum): void {
  const known = sums.get(key) as Record<string, number> | undefined
  if (!known) {
    sums.set(key, one)
    return
  }
  const added = one as Record<string, unknown>
  for (const name of SUMMED) {
    if (name in added) known[name] = (known[name] as number) + (added[name] as number)
  }
}

function sorted<Sum>(sums: Map<string, Sum>): Sum[] {
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}
