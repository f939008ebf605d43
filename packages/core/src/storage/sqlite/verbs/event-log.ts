import type { EventRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'
import type { Connection } from '../engine/connection.ts'
import { insertAll } from '../engine/rows.ts'

/** Gives the next positions of the log to stored events. The log must be kept. */
export function prepareEventLog(
  connection: Connection,
  t: Tables,
): (events: readonly EventRow[]) => void {
  const take = connection
    .prepare(
      "update event_log_state set position = position + ? where name = 'events' returning position",
    )
    .pluck()
  const insert = insertAll(connection, t.event_log, ['position', 'event_id'])
  return (events) => {
    const newest = take.get(events.length) as number
    const first = newest - events.length + 1
    insert(
      events.map(({ workspace_id, id: event_id }, i) => {
        return { position: first + i, workspace_id, event_id }
      }),
    )
  }
}
