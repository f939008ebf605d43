import type { CountChange } from '../../../rules/count-changes.ts'
import type { Connection } from '../engine/connection.ts'

/** Adds to the stored counts of messages. */
export function addCounts(connection: Connection): (changes: readonly CountChange[]) => void {
  const add = connection.prepare(
    `insert into message_counts (workspace_id, channel, status, count, test_count)
     values (?, ?, ?, ?, ?)
     on conflict do update set count = count + excluded.count, test_count = test_count + excluded.test_count`,
  )
  return (changes) => {
    for (const { workspace_id, channel, status, count, test_count } of changes) {
      add.run(workspace_id, channel, status, count, test_count)
    }
  }
}
