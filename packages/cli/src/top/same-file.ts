import { stat } from 'node:fs/promises'
import { Failure } from '../process/failure.ts'

/**
 * Answers what throws once the file of a database is gone or another one stands in its place: whoever has it open still
 * reads the old one, and would be told nothing new for ever. `path` null is a database that is no file.
 */
export async function createSameFile(path: string | null): Promise<() => Promise<void>> {
  if (path === null) return async () => {}
  const first = await identityOf(path)
  return async () => {
    const now = await identityOf(path)
    if (now === null) throw new Failure('database_gone', `there is no file ${path} any more`)
    if (now === first) return
    throw new Failure('database_replaced', `${path} is another file now: start svc top again`)
  }
}

async function identityOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null)
  return found && `${found.dev} ${found.ino}`
}
