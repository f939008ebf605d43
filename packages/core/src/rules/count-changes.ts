import type { Channel, MessageStatus } from '../contract/resources/messages.ts'
import type { CountUnit } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import { HOUR_MS, startOfDay } from './periods.ts'

/** A new message (`from` is null), or a message that changed its status. */
export interface StatusChange
  extends Pick<MessageRow, 'id' | 'workspace_id' | 'channel' | 'livemode' | 'created_at'> {
  from: MessageStatus | null
  to: MessageStatus
}

/** The change of a count: the messages of one workspace, channel and status that were created in one period. */
export interface CountChange {
  workspace_id: string
  unit: CountUnit
  since: Date
  channel: Channel
  status: MessageStatus
  count: number
  /** The part of `count` that test keys created. */
  test_count: number
  /** The lowest and the highest id of the new messages of a day or an hour. */
  first_id: string | null
  last_id: string | null
}

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

function created({
  id,
  workspace_id,
  channel,
  livemode,
  created_at,
  status,
}: MessageRow): StatusChange {
  return { id, workspace_id, channel, livemode, created_at, from: null, to: status }
}

/** The sums for each hour: a batch has many messages, but few hours, channels and statuses. */
function changesByHour(changes: readonly StatusChange[]): Iterable<CountChange> {
  const sums = new Map<string, CountChange>()
  const sumOf = ({ workspace_id, channel }: StatusChange, status: MessageStatus, hour: number) => {
    const key = `${workspace_id}\n${hour}\n${channel}\n${status}`
    let sum = sums.get(key)
    if (!sum) {
      const since = new Date(hour)
      const period = { workspace_id, unit: 'hour', since, channel, status } as const
      sum = { ...period, count: 0, test_count: 0, first_id: null, last_id: null }
      sums.set(key, sum)
    }
    return sum
  }
  let sum: CountChange | null = null
  const addOne = (change: StatusChange, status: MessageStatus, count: number) => {
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
  to: MessageStatus,
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
