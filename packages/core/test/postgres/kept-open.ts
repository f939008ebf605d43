import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import type { TestDatabase } from '../postgres-database.ts'
import type { OpenStorage } from '../storage/bench.ts'

/**
 * One storage for all tests of a file, over a database that is empty before each: half of what a test took was opening
 * connections, and their first statements.
 */
export function keptOpen(database: () => TestDatabase): {
  open: OpenStorage
  end(): Promise<void>
} {
  let storage: Storage | undefined
  const opened = async () => {
    storage ??= await openPostgres(database().url, testRuntime('storage'), {
      clock: 'caller',
      // On a busy machine a statement about 5,000 rows took more than the default of 10 s.
      answer_max_ms: 60_000,
    })
    return storage
  }
  const end = async () => {
    const open = storage
    storage = undefined
    await open?.close()
  }
  return {
    async open() {
      await database().clear()
      return {
        storage: await opened(),
        async reopen() {
          await end()
          return opened()
        },
        close: async () => {},
      }
    },
    end,
  }
}
