import type { Database } from 'bun:sqlite'
import type { DedupeStore } from '@svc/client'

/** A claim of a process that crashed ends after this time. */
const CLAIM_S = 60

/** Longer than the three days of retries. */
const DONE_S = 7 * 24 * 3600

/** Remembers handled events in SQLite, so that a restarted receiver does not handle them again. */
export function dedupeIn(database: Database): DedupeStore {
  database.run(
    'CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, state TEXT, expires_at INTEGER)',
  )
  database.run('CREATE INDEX IF NOT EXISTS events_expiry ON events (expires_at)')
  const removeOld = database.query('DELETE FROM events WHERE expires_at <= unixepoch()')
  const insert = database.query(
    `INSERT INTO events VALUES (?, 'busy', unixepoch() + ${CLAIM_S}) ON CONFLICT DO NOTHING`,
  )
  const find = database.query<{ state: 'busy' | 'done' }, string>(
    'SELECT state FROM events WHERE id = ?',
  )
  const finish = database.query(
    `UPDATE events SET state = 'done', expires_at = unixepoch() + ${DONE_S} WHERE id = ?`,
  )
  const remove = database.query('DELETE FROM events WHERE id = ?')

  const claim = database.transaction((id: string) => {
    removeOld.run()
    return insert.run(id).changes === 1 ? 'claimed' : (find.get(id)?.state ?? 'busy')
  })
  return {
    claim: (id) => claim.immediate(id),
    complete: (id) => void finish.run(id),
    release: (id) => void remove.run(id),
  }
}
