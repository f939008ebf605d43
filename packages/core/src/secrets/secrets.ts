import type { Runtime } from '../runtime.ts'
import type { Storage } from '../storage/storage.ts'

const SECRET_BYTES = 32

/**
 * Answers for secrets that nobody set: 256 unpredictable bits in base64url, made when a name is first asked for. They
 * are kept in the database, so that all its servers have the same and a backup is whole.
 */
export function createSecrets({ storage, runtime }: { storage: Storage; runtime: Runtime }) {
  return async (name: string): Promise<string> => {
    const known = await storage.read.secrets.byName(name)
    if (known) return known
    const value = runtime.bytes(SECRET_BYTES).toString('base64url')
    return storage.write(({ secrets }) =>
      secrets.keepFirst({ name, value, created_at: runtime.now() }),
    )
  }
}
