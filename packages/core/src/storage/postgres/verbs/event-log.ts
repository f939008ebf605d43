import type { EventRow } from '../../../rows/rows.ts'
import { statement, type Transaction } from '../engine/database.ts'

const insertPlaces = statement(
  'place_events',
  `with taken as (
     update event_log_state set position = position + cardinality($2::text[])
     where name = 'events' and is_kept returning position - cardinality($2::text[]) as last)
   insert into event_log (position, workspace_id, event_id)
   select taken.last + r.n, r.workspace_id, r.id
   from taken, unnest($1::text[], $2::text[]) with ordinality r(workspace_id, id, n)`,
)

/**
 * Gives the next positions of the log to stored events. The row of the log stays locked until the commit, so that the
 * positions rise in the order of the commits and have no gaps; it must be the last lock of the transaction.
 */
export function placeEvents(tx: Transaction, events: readonly EventRow[]): void {
  void tx.rows(
    insertPlaces,
    events.map(({ workspace_id }) => workspace_id),
    events.map(({ id }) => id),
  )
}
