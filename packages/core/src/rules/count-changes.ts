import type { Channel, MessageStatus } from '../contract/resources/messages.ts'

/** A message that came to be (`from` null) or went from one status to another. */
export interface StatusChange {
  workspace_id: string
  channel: Channel
  livemode: boolean
  from: MessageStatus | null
  to: MessageStatus
}

/** By how much the number of a workspace's messages of one channel and status changes. */
export interface CountChange {
  workspace_id: string
  channel: Channel
  status: MessageStatus
  count: number
  /** The part of `count` that messages of test keys are. */
  test_count: number
}

/**
 * What a batch of changes does to the kept numbers, one for each key and none of zero, in the order of the keys: who
 * locks their rows in that order waits for nobody in a ring.
 */
export function countChanges(changes: readonly StatusChange[]): CountChange[] {
  const sums = new Map<string, CountChange>()
  const add = (of: StatusChange, status: MessageStatus, count: number) => {
    const { workspace_id, channel, livemode } = of
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
