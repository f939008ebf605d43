import type { Channel, MessageStatus } from '../contract/resources/messages.ts'

/** A new message (`from` null), or one that changed its status. */
export interface StatusChange {
  workspace_id: string
  channel: Channel
  livemode: boolean
  from: MessageStatus | null
  to: MessageStatus
}

/** The change of the number of a workspace's messages of one channel and status. */
export interface CountChange {
  workspace_id: string
  channel: Channel
  status: MessageStatus
  count: number
  /** The share of `count` from test keys. */
  test_count: number
}

/** The sums for each key, without zeros, sorted by key: transactions that lock in one order cannot deadlock. */
export function countChanges(changes: readonly StatusChange[]): CountChange[] {
  const sums = new Map<string, CountChange>()
  const add = (change: StatusChange, status: MessageStatus, count: number) => {
    const { workspace_id, channel, livemode } = change
    const key = `${workspace_id}\n${channel}\n${status}`
    const test_count = livemode ? 0 : count
    const sum = sums.get(key)
    if (sum) {
      sum.count += count
      sum.test_count += test_count
    } else sums.set(key, { workspace_id, channel, status, count, test_count })
  }
  for (const change of changes) {
    if (change.from === change.to) continue
    if (change.from) add(change, change.from, -1)
    add(change, change.to, 1)
  }
  return [...sums]
    .filter(([, { count, test_count }]) => count !== 0 || test_count !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, change]) => change)
}
