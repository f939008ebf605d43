import type { CountChange } from '../../../rules/count-changes.ts'
import type { Connection } from '../engine/connection.ts'

/** The number of rows of one statement: a change of one status counts in three periods. */
const ROWS = 3

/** Adds to the stored counts of messages. */
export function addCounts(connection: Connection): (changes: readonly CountChange[]) => void {
  const prepare = (rows: number) =>
    connection.prepare(
      `insert into message_counts
         (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id)
       values ${Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
       on conflict do update set count = count + excluded.count, test_count = test_count + excluded.test_count,
         first_id = min(coalesce(first_id, excluded.first_id), coalesce(excluded.first_id, first_id)),
         last_id = max(coalesce(last_id, excluded.last_id), coalesce(excluded.last_id, last_id))`,
    )
  const addOne = prepare(1)
  const addSome = prepare(ROWS)
  return (changes) => {
    const alone_from = changes.length - (changes.length % ROWS)
    for (let i = 0; i < alone_from; i += ROWS) {
      addSome.run(...changes.slice(i, i + ROWS).flatMap(valuesOf))
    }
    for (const change of changes.slice(alone_from)) addOne.run(...valuesOf(change))
  }
}

function valuesOf(change: CountChange): (string | number | null)[] {
  const { workspace_id, unit, since, channel, status, count, test_count, first_id, last_id } =
    change
  const key = [workspace_id, unit, since.getTime(), channel, status]
  return [...key, count, test_count, first_id, last_id]
}
