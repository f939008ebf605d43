import type { Channel } from '../contract/resources/messages.ts'
import type { CountedStatus, CountUnit } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'

/** A new message (`from` is null), or a message that changed its status. */
export interface StatusChange
  extends Pick<MessageRow, 'id' | 'workspace_id' | 'channel' | 'livemode' | 'created_at'> {
  from: CountedStatus | null
  to: CountedStatus
}

/** The change of a count: the messages of one workspace, channel and status that were created in one period. */
export interface CountChange {
  workspace_id: string
  unit: CountUnit
  since: Date
  channel: Channel
  status: CountedStatus
  count: number
  /** The part of `count` that test keys created. */
  test_count: number
  /** The lowest and the highest id of the new messages of a day or an hour. */
  first_id: string | null
  last_id: string | null
}

/**
 * On PostgreSQL, settlements add to rows of their own, whose `since` is this much after the start of the period. The count of a
 * period is the sum of its rows.
 */
export const OF_SETTLEMENTS_MS = 1

/**
 * The sums for each key, without zeros. They are sorted by key, because transactions that lock in one order cannot
 * deadlock. A message counts in the hour and the day (UTC) of its creation, and in the whole history.
 */
export function countChanges(changes: readonly StatusChange[]): CountChange[] {
  const sums = new Map<string, CountChange>()
  for (const sum of changesByHour(changes)) {
    add(sums, { ...sum, unit: 'all', since: new Date(0), first_id: null, last_id: null })
    add(sums, { ...sum, unit: 'day', since: startOfDay(sum.since) })
    add(sums, sum)
  }
  return [...sums]
    .filter(([, { count, test_count }]) => count !== 0 || test_count !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, change]) => change)
}

/** The changes of the counts for new messages. */
export function countNew(messages: readonly MessageRow[]): CountChange[] {
  return countChanges(messages.map(created))
}

/** The changes of the counts for messages that are removed from the history. */
export function countRemoved(
  messages: readonly Pick<
    MessageRow,
    'id' | 'workspace_id' | 'channel' | 'livemode' | 'created_at' | 'status' | 'error_code'
  >[],
): CountChange[] {
  return countChanges(messages.map(created)).map((change) => {
    const { count, test_count } = change
    return { ...change, count: -count, test_count: 0 - test_count, first_id: null, last_id: null }
  })
}

/** Whether rows of a period count no message. */
export function isWithoutMessages(
  rows: readonly Pick<CountChange, 'channel' | 'status' | 'count' | 'test_count'>[],
): boolean {
  const sums = new Map<string, [count: number, tests: number]>()
  for (const { channel, status, count, test_count } of rows) {
    const [n, tests] = sums.get(`${channel} ${status}`) ?? [0, 0]
    sums.set(`${channel} ${status}`, [n + count, tests + test_count])
  }
  return [...sums.values()].every(([n, tests]) => n === 0 && tests === 0)
}

function created(
  message: Pick<
    MessageRow,
    'id' | 'workspace_id' | 'channel' | 'livemode' | 'created_at' | 'status' | 'error_code'
  >,
): StatusChange {
  const { id, workspace_id, channel, livemode, created_at } = message
  return { id, workspace_id, channel, livemode, created_at, from: null, to: countedAs(message) }
}

/** The status in which a message is counted. */
export function countedAs({
  status,
  error_code,
}: Pick<MessageRow, 'status' | 'error_code'>): CountedStatus {
  return status === 'failed' && error_code === 'canceled' ? 'canceled' : status
}

/** The sums for each hour: a batch has many messages, but few hours, channels and statuses. */
function changesByHour(changes: readonly StatusChange[]): Iterable<CountChange> {
  const sums = new Map<string, CountChange>()
  const sumOf = ({ workspace_id, channel }: StatusChange, status: CountedStatus, hour: number) => {
    const key = `${workspace_id}\n${hour}\n${channel}\n${status}`
    let sum = sums.get(key)
    if (!sum) {
      sum = {
        workspace_id,
        unit: 'hour',
        since: new Date(hour),
        channel,
        status,
        count: 0,
        test_count: 0,
        first_id: null,
        last_id: null,
      }
      sums.set(key, sum)
    }
    return sum
  }
  let sum: CountChange | null = null
  const addOne = (change: StatusChange, status: CountedStatus, count: number) => {
    const { id, livemode, created_at } = change
    const hour = Math.floor(created_at.getTime() / HOUR_MS) * HOUR_MS
    // Most changes of a batch have the key of the change before, and building a key takes 0.5 µs.
    if (!sum || !isCountedIn(sum, change, status, hour)) sum = sumOf(change, status, hour)
    sum.count += count
    if (!livemode) sum.test_count += count
    if (change.from !== null) return
    if (sum.first_id === null || id < sum.first_id) sum.first_id = id
    if (sum.last_id === null || id > sum.last_id) sum.last_id = id
  }
  for (const change of changes) {
    if (change.from === change.to) continue
    if (change.from) addOne(change, change.from, -1)
    addOne(change, change.to, 1)
  }
  return sums.values()
}

function isCountedIn(
  { workspace_id, since, channel, status }: CountChange,
  change: StatusChange,
  to: CountedStatus,
  hour: number,
): boolean {
  return (
    since.getTime() === hour &&
    status === to &&
    channel === change.channel &&
    workspace_id === change.workspace_id
  )
}

function add(sums: Map<string, CountChange>, change: CountChange): void {
  const { workspace_id, unit, since, channel, status, first_id, last_id } = change
  const key = `${workspace_id}\n${unit}\n${since.toISOString()}\n${channel}\n${status}`
  const sum = sums.get(key)
  if (!sum) {
    sums.set(key, change)
    return
  }
  sum.count += change.count
  sum.test_count += change.test_count
  if (sum.first_id === null || (first_id !== null && first_id < sum.first_id))
    sum.first_id = first_id
  if (sum.last_id === null || (last_id !== null && last_id > sum.last_id)) sum.last_id = last_id
}

export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The counted periods of one unit that begin in [from, before). */
export interface PeriodRange {
  unit: Exclude<CountUnit, 'all'>
  /** Null means from the first period. */
  from: Date | null
  /** Null means to the last period. */
  before: Date | null
}

/** The part [from, before) of one hour. */
export interface PartOfHour {
  hour: Date
  from: Date
  before: Date
}

/** The start of the hour of a time. */
export function hourOf(at: Date): Date {
  return new Date(floor(at.getTime(), HOUR_MS))
}

/** The start of the day (UTC) of a time. */
export function startOfDay(at: Date): Date {
  return new Date(floor(at.getTime(), DAY_MS))
}

/** Divides the time between two moments, both inclusive, into whole days and hours and at most two parts of hours. */
export function dividedTime({
  from,
  until,
}: {
  from?: Date | undefined
  until?: Date | undefined
}): {
  periods: PeriodRange[]
  parts: PartOfHour[]
} {
  const from_ms = from?.getTime() ?? Number.NEGATIVE_INFINITY
  const before_ms = until ? until.getTime() + 1 : Number.POSITIVE_INFINITY
  const first = ceil(from_ms, HOUR_MS)
  const end = floor(before_ms, HOUR_MS)
  if (from_ms >= before_ms) return { periods: [], parts: [] }
  if (first > end) return { periods: [], parts: [partOf(from_ms, before_ms)] }
  const parts: PartOfHour[] = []
  if (from_ms < first) parts.push(partOf(from_ms, first))
  if (end < before_ms) parts.push(partOf(end, before_ms))
  return { periods: wholePeriods(first, end), parts }
}

/** The whole days between two starts of hours, and the hours before and after these days. */
function wholePeriods(first_ms: number, end_ms: number): PeriodRange[] {
  const days_from_ms = ceil(first_ms, DAY_MS)
  const days_end_ms = floor(end_ms, DAY_MS)
  const ranges: [PeriodRange['unit'], number, number][] =
    days_from_ms < days_end_ms
      ? [
          ['hour', first_ms, days_from_ms],
          ['day', days_from_ms, days_end_ms],
          ['hour', days_end_ms, end_ms],
        ]
      : [['hour', first_ms, end_ms]]
  return ranges
    .filter(([, from, before]) => from < before)
    .map(([unit, from, before]) => ({ unit, from: finite(from), before: finite(before) }))
}

function partOf(from_ms: number, before_ms: number): PartOfHour {
  const from = new Date(from_ms)
  return { hour: hourOf(from), from, before: storable(before_ms) }
}

function finite(ms: number): Date | null {
  return Number.isFinite(ms) ? storable(ms) : null
}

/** The last millisecond that has a year of four digits. PostgreSQL cannot read the text of a later one. */
const INSTANT_MAX_MS = Date.UTC(10_000, 0) - 1

/** Nothing was stored in the last millisecond of the range, so a bound can be moved to it. */
export function storable(ms: number): Date {
  return new Date(Math.min(ms, INSTANT_MAX_MS))
}

function floor(ms: number, unit_ms: number): number {
  return Math.floor(ms / unit_ms) * unit_ms
}

function ceil(ms: number, unit_ms: number): number {
  return Math.ceil(ms / unit_ms) * unit_ms
}
