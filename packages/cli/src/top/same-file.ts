import { stat } from 'node:fs/promises'
import { Failure } from '../process/failure.ts'

/**
 * Returns a check that throws when the file of a database was removed or replaced, because an open connection would
 * read the old file forever. A null `path` means a PostgreSQL database.
 */
export async function createSameFile(path: string | null): Promise<() => Promise<void>> {
  if (path === null) return async () => {}
  const first = await identityOf(path)
  return async () => {
    const now = await identityOf(path)
    if (now === null) throw new Failure('database_gone', `the file ${path} was removed`)
    if (now === first) return
    throw new Failure('database_replaced', `${path} was replaced: start svc top again`)
  }
}

async function identityOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null)
  return found && `${found.dev} ${found.ino}`
}
