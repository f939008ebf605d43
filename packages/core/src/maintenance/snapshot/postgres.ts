import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import { appliedIn } from '../../storage/postgres/engine/migrate.ts'
import { detachedMonths } from '../../storage/postgres/engine/partitions/detached.ts'
import { leavingMonths } from '../../storage/postgres/engine/partitions/leaving.ts'
import type { Run } from '../../storage/postgres/engine/transaction.ts'
import { onSession } from './postgres-sessions.ts'
import { assertReadable, type NamedValues, type Snapshot } from './snapshot.ts'

/** One read-only transaction, on its own session. */
export function onPostgresSnapshot<T>(
  url: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  return onSession(url, 'svc_ledger', async (run) => {
    await run('begin isolation level repeatable read read only')
    await run('set local idle_in_transaction_session_timeout = 0')
    await run('set local statement_timeout = 0')
    assertReadable(statusOf(migrationsOf('postgres'), (await appliedIn(run)) ?? new Map()))
    return work(snapshotOn(run))
  })
}

function snapshotOn(run: Run): Snapshot {
  return {
    markOf: (column) => `(cast(hashtext(${column}) & 1073741822 as bigint) + 1)`,
    // The server enforces the types of columns.
    isNo: (type, column) => (type === 'time' ? `not isfinite(${column})` : 'false'),
    shown: (type, column, { isContent }) => {
      const text = isContent
        ? `'text of ' || length(cast(${column} as text)) || ' characters'`
        : type === 'text'
          ? `'"' || left(${column}, 40) || '"'`
          : `cast(${column} as text)`
      return `coalesce(${text}, 'NULL')`
    },
    startOf: (unit, column) =>
      unit === 'all' ? 'to_timestamp(0)' : `date_trunc('${unit}', ${column}, 'UTC')`,
    base: (table) => table,
    leavingMonths: async () => [
      ...(await leavingMonths(run)),
      ...(await detachedMonths(run)).filter(({ step }) => step === 'rest' || step === 'returning'),
    ],
    async rows<Row>(text: string, values: NamedValues = {}) {
      const names: string[] = []
      const numbered = text
        .replace(/ indexed by \w+/g, '')
        .replace(/:(\w+)/g, (_, name: string) => {
          if (!names.includes(name)) names.push(name)
          return `$${names.indexOf(name) + 1}`
        })
      const { rows } = await run(
        numbered,
        names.map((name) => values[name]),
      )
      return rows as Row[]
    },
  }
}
