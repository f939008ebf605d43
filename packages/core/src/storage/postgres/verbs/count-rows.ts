import { dialects } from '../../../rows/dialect.ts'
import { tables } from '../../../rows/tables.ts'
import type { CountChange } from '../../../rules/count-changes.ts'
import type { RowsStatement } from '../engine/database.ts'
import { insertInto } from '../engine/rows.ts'

const inserted = insertInto('insert_message_counts', tables(dialects.postgres).message_counts)

/**
 * Adds to the stored counts of messages. The counts are written after the accounts are locked, row by row in the order
 * of the keys, which prevents deadlocks.
 */
export const addCounts: RowsStatement<CountChange> = {
  ...inserted,
  text: `${inserted.text} order by r.workspace_id, r.unit, r.since, r.channel, r.status
         on conflict (workspace_id, unit, since, channel, status)
         do update set count = message_counts.count + excluded.count,
           test_count = message_counts.test_count + excluded.test_count,
           first_id = least(message_counts.first_id, excluded.first_id),
           last_id = greatest(message_counts.last_id, excluded.last_id)`,
}
