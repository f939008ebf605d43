import { SvcError } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { EntryKind } from '../rows/credits.ts'
import {
  type CausedEntry,
  type CauseSum,
  changeOf,
  type DaySum,
  dayOf,
  joinedCauses,
  sideOf,
  startOf,
  sumsOf,
} from '../rules/credit-sums.ts'
import { availableOf } from '../rules/decide.ts'
import { FORECAST_DAYS, type Forecast, forecastOf } from '../rules/forecast.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The newest entries that are summed for an answer, because the sweeper has not summed them yet. */
const TAIL_MAX = 2_000

/** The newest sums of bulks and broadcasts that are compared, and how many of them an answer names. */
export const CAUSES_EXAMINED = 5_000
const CAUSES_SHOWN = 50

/** More API keys than a person compares. */
const KEYS_SHOWN = 50

/** What messages cost, what refunds returned, and what else changed the balance, as changes of the available credits. */
export interface Sides {
  spent: Units
  refunded: Units
  other: Units
}

/** Which part of the credits is asked for. */
export interface SpendingFilter {
  /** The number of days (UTC) until today. */
  days: number
  /** One of these days, as `2026-05-04`: all but `days` of the answer is about it. */
  day?: string | undefined
  channel?: Channel | undefined
  /** An API key, or the login of a person who sent in the console. */
  key?: string | undefined
}

/** Why the credits of a workspace changed in some days. */
export interface Spending {
  /** Later changes are not in the sums yet; null: everything is. */
  counted_until: Date | null
  /** One for each day, oldest first. */
  days: (Sides & { day: string })[]
  kinds: { kind: EntryKind; count: number; credits: Units }[]
  /** Of messages alone; most expensive first, as the next ones. */
  channels: (Sides & { channel: Channel | null })[]
  /** `id`: null for entries whose message is no longer stored. `name`: null for a login, too. */
  keys: (Sides & { id: string | null; name: string | null })[]
  causes: (Omit<CauseSum, 'day' | 'channel' | 'api_key_id'> & {
    name: string | null
    channel: Channel | null
  })[]
  /** The maximum of compared sums, each of one bulk or broadcast on one day. */
  causes_examined: number
  /** Of the whole account, whatever the filter. */
  forecast: Forecast
}

/** The entries of a month by day and kind, between two balances. All sums are changes of the available credits. */
export interface Statement {
  /** As `2026-05`. */
  month: string
  /** The available credits before the first entry of the month and after the last. */
  opening: Units
  closing: Units
  /** Later entries of the month are not in the sums yet; null: all are. */
  counted_until: Date | null
  lines: { day: string; kind: EntryKind; count: number; credits: Units }[]
}

type Parts = { storage: Pick<Storage, 'read'>; runtime: Pick<Runtime, 'now'> }

/** The sums of some days with the entries that are not in stored sums yet. */
async function sumsIn(
  { storage: { read } }: Pick<Parts, 'storage'>,
  workspaceId: string,
  range: { from: number; until: number },
) {
  const stored = await read.creditSums.days(workspaceId, range)
  // One more shows that some are missing.
  const page = { seq: stored.seq, limit: TAIL_MAX + 1 }
  const found = await read.creditSums.entriesAfter(workspaceId, page)
  const tail = found.slice(0, TAIL_MAX)
  const first_day = stored.first_day ?? (tail[0] ? dayOf(tail[0].created_at) : null)
  const isIn = ({ day }: { day: number }) => day >= range.from && day <= range.until
  const fresh = sumsOf(tail)
  return {
    first_day,
    before: stored.before,
    tail,
    days: [...stored.days, ...fresh.days.filter(isIn)],
    causes: fresh.causes.filter(isIn),
    counted_until: found.length > TAIL_MAX ? (tail.at(-1) as CausedEntry).created_at : null,
  }
}

/** Why credits changed: read from sums and at most the newest 2,000 entries, so that the cost does not grow with the history. */
export async function spendingOf(
  parts: Parts,
  workspaceId: string,
  { days: length, day, channel, key }: SpendingFilter,
): Promise<Spending> {
  const { storage, runtime } = parts
  const now = runtime.now()
  const today = dayOf(now)
  const from = today - length + 1
  const wanted = day === undefined ? null : dayOf(new Date(day))
  const [account, sums, storedCauses] = await Promise.all([
    storage.read.credits.account(workspaceId),
    sumsIn(parts, workspaceId, { from: Math.min(from, today - FORECAST_DAYS), until: today }),
    storage.read.creditSums.causes(
      workspaceId,
      { from: wanted ?? from, until: wanted ?? today },
      CAUSES_EXAMINED,
    ),
  ])
  if (!account) throw new SvcError('not_found', 'Workspace not found')
  const isAsked = (sum: Pick<DaySum, 'day' | 'channel' | 'api_key_id'>) =>
    (channel === undefined || sum.channel === channel) &&
    (key === undefined || sum.api_key_id === key)
  const inPeriod = sums.days.filter((sum) => sum.day >= from && isAsked(sum))
  const shown = wanted === null ? inPeriod : inPeriod.filter((sum) => sum.day === wanted)
  const ofMessages = shown.filter(({ kind }) => sideOf(kind) !== 'other')
  const isShown = (sum: CauseSum) =>
    isAsked(sum) && (wanted === null ? sum.day >= from : sum.day === wanted)
  const causes = joinedCauses([...storedCauses, ...sums.causes].filter(isShown))
    .sort((a, b) => netOf(b) - netOf(a) || (a.cause_id < b.cause_id ? -1 : 1))
    .slice(0, CAUSES_SHOWN)
  const keys = groupsOf(ofMessages, ({ api_key_id }) => api_key_id).slice(0, KEYS_SHOWN)
  const idsOf = (type: CauseSum['cause_type']) =>
    causes.flatMap(({ cause_type, cause_id }) => (cause_type === type ? [cause_id] : []))
  const named = await storage.read.creditSums.originNames(workspaceId, {
    keys: keys.flatMap(([id]) => (id === '' ? [] : [id])),
    bulks: idsOf('bulk'),
    broadcasts: idsOf('broadcast'),
  })
  const names = new Map(named.map(({ id, name }) => [id, name]))
  return {
    counted_until: sums.counted_until,
    days: Array.from({ length }, (_, i) => ({
      day: textOf(from + i),
      ...sidesOf(inPeriod.filter((sum) => sum.day === from + i)),
    })),
    kinds: linesOf(shown, ({ kind }) => kind).map(({ kind, count, credits }) => {
      return { kind, count, credits }
    }),
    channels: groupsOf(ofMessages, (sum) => sum.channel).map(([name, sides]) => ({
      channel: (name || null) as Channel | null,
      ...sides,
    })),
    keys: keys.map(([id, sides]) => ({ id: id || null, name: names.get(id) ?? null, ...sides })),
    causes: causes.map(({ day: _, api_key_id: __, channel: of, ...cause }) => ({
      ...cause,
      name: names.get(cause.cause_id) ?? null,
      channel: (of || null) as Channel | null,
    })),
    causes_examined: CAUSES_EXAMINED,
    forecast: forecastOf({
      available: (availableOf(account) + account.credit_limit) as Units,
      spent: completeDays(sums, today),
      now,
    }),
  }
}

/**
 * The statement of a month (UTC) such as `2026-05`, from the sums of the ledger: `opening` and the credits of all lines
 * together are `closing`. A month that has not ended has the entries until now.
 */
export async function statementOf(
  parts: Pick<Parts, 'storage'>,
  workspaceId: string,
  month: string,
): Promise<Statement> {
  const begin = new Date(`${month}-01T00:00:00.000Z`)
  const from = dayOf(begin)
  const until = dayOf(new Date(Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1, 1))) - 1
  const { before, tail, days, counted_until } = await sumsIn(parts, workspaceId, { from, until })
  const earlier = tail.filter(({ created_at }) => dayOf(created_at) < from)
  const opening = [before, ...earlier].reduce((sum, one) => sum + changeOf(one), 0)
  const lines = linesOf(days, ({ day, kind }) => `${day} ${kind}`)
  const closing = lines.reduce((sum, { credits }) => sum + credits, opening)
  return {
    month,
    opening: opening as Units,
    closing: closing as Units,
    counted_until: counted_until !== null && dayOf(counted_until) <= until ? counted_until : null,
    lines: lines.map(({ day, ...line }) => ({ day: textOf(day), ...line })),
  }
}

/** What each complete day cost, from the first day of the account on; days without entries cost nothing. */
function completeDays(
  { first_day, days }: { first_day: number | null; days: readonly DaySum[] },
  today: number,
): Units[] {
  if (first_day === null) return []
  const from = Math.max(first_day, today - FORECAST_DAYS)
  return Array.from({ length: Math.max(0, today - from) }, (_, i) => {
    const { spent, refunded } = sidesOf(days.filter(({ day }) => day === from + i))
    return (spent - refunded) as Units
  })
}

function sidesOf(sums: readonly DaySum[]): Sides {
  const sides = { spent: 0, refunded: 0, other: 0 }
  for (const sum of sums) sides[sideOf(sum.kind)] += changeOf(sum)
  const { spent, refunded, other } = sides
  return { spent: (0 - spent) as Units, refunded: refunded as Units, other: other as Units }
}

function netOf({ spent, refunded }: Pick<Sides, 'spent' | 'refunded'>): number {
  return spent - refunded
}

/** The sides of sums that have a value in common, most expensive first. */
function groupsOf(sums: readonly DaySum[], nameOf: (sum: DaySum) => string): [string, Sides][] {
  const groups = new Map<string, DaySum[]>()
  for (const sum of sums) {
    const own = groups.get(nameOf(sum))
    if (own) own.push(sum)
    else groups.set(nameOf(sum), [sum])
  }
  return [...groups]
    .map(([value, own]): [string, Sides] => [value, sidesOf(own)])
    .sort(([one, a], [other, b]) => netOf(b) - netOf(a) || (one < other ? -1 : 1))
}

/** The sums by a key that includes the kind, in the order of days and kinds. */
function linesOf(sums: readonly DaySum[], keyOf: (sum: DaySum) => string) {
  const lines = new Map<string, { day: number; kind: EntryKind; count: number; credits: Units }>()
  for (const sum of sums.toSorted((a, b) => a.day - b.day || (a.kind < b.kind ? -1 : 1))) {
    const { day, kind, count } = sum
    const known = lines.get(keyOf(sum))
    const credits = changeOf(sum)
    if (!known) lines.set(keyOf(sum), { day, kind, count, credits: credits as Units })
    else {
      known.count += count
      known.credits = (known.credits + credits) as Units
    }
  }
  return [...lines.values()]
}

function textOf(day: number): string {
  return startOf(day).toISOString().slice(0, 10)
}
