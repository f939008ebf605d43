import { statSync } from 'node:fs'
import type { Connection } from '../../storage/sqlite/engine/connection.ts'
import { look } from '../snapshot/sqlite.ts'
import type { EngineFacts } from './facts.ts'

/** The maximum number of reported faults, so that a ruined file does not fill the screen. */
const FAULTS_MAX = 3

const PRAGMAS = ['journal_mode', 'page_size', 'auto_vacuum', 'freelist_count', 'page_count']

/** Facts about a SQLite file. `synchronous` is not in the file: every connection of the service sets and checks it. */
export function sqliteFacts(file: string): EngineFacts {
  return looking(file, (connection) => ({
    engine: 'sqlite',
    version: connection.prepare('select sqlite_version()').pluck().get() as string,
    now: new Date(),
    settings: Object.fromEntries(
      PRAGMAS.map((name) => [name, String(connection.pragma(name, { simple: true }))]),
    ),
    size_bytes: statSync(file).size,
    log_bytes: statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  }))
}

/** The faults of the file's pages and indexes; null without faults. */
export function damageOf(file: string): string | null {
  return looking(file, (connection) => {
    const rows = connection.pragma(`quick_check(${FAULTS_MAX})`) as { quick_check: string }[]
    const faults = rows.map(({ quick_check }) => quick_check).filter((text) => text !== 'ok')
    return faults.length === 0 ? null : faults.join('; ')
  })
}

function looking<T>(file: string, work: (connection: Connection) => T): T {
  const connection = look(file)
  try {
    return work(connection)
  } finally {
    connection.close()
  }
}
