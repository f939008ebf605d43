import type { Sealed } from '../rows/sealed.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { SecretsKey } from './keys.ts'
import { createSealer, type Place, SealedError, type Sealer } from './sealer.ts'

const SECRET_BYTES = 32

export function placeOfSecret(name: string): Place {
  return { table: 'secrets', column: 'value', workspace_id: '', id: name }
}

/** A new secret: 256 random bits in base64url. */
export function newSecret({ bytes }: Pick<Runtime, 'bytes'>): string {
  return bytes(SECRET_BYTES).toString('base64url')
}

/**
 * Returns the service's own secrets by name: 256 random bits in base64url, generated at the first request. The database
 * holds them, encrypted, so that all its servers share them and a backup is complete.
 */
export function createSecrets({
  storage,
  runtime,
  sealer,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
}) {
  return async (name: string): Promise<string> => {
    const place = placeOfSecret(name)
    const known = await storage.read.secrets.byName(name)
    return sealer.open(place, known ?? (await keepNew(name, place)))
  }

  function keepNew(name: string, place: Place): Promise<Sealed> {
    const value = sealer.seal(place, newSecret(runtime))
    return storage.write(({ secrets }) =>
      secrets.keepFirst({ name, value, created_at: runtime.now() }),
    )
  }
}

/** Decrypts the secret of that name with these keys; the result is null without the key of the value. */
export function secretOpener(
  name: string,
  keys: readonly SecretsKey[],
): (value: string) => string | null {
  // Nothing is encrypted, so that no random bytes are needed.
  const sealer = createSealer(keys, { bytes: Buffer.alloc }, null)
  return (value) => {
    try {
      return sealer.open(placeOfSecret(name), value as Sealed)
    } catch (error) {
      if (error instanceof SealedError) return null
      throw error
    }
  }
}

/** The key from which one-time codes are derived. */
export interface CodeKey {
  /** Makes the key if there is none. */
  get(): Promise<string>
  /** Null if no code was derived yet. */
  known(): Promise<string | null>
}

/** A key that was discarded or replaced, by any process, counts for this time after the last read. */
const KEY_MS = 1_000

/** The key of one-time codes. A read takes as long as a check, so the key is kept for a short time. */
export function createCodeKey(parts: Parameters<typeof createSecrets>[0]): CodeKey {
  const secret = createSecrets(parts)
  const { storage, runtime } = parts
  let kept: { key: string; read_ms: number } | null = null
  const recent = () => (kept && runtime.elapsed() - kept.read_ms < KEY_MS ? kept.key : null)
  const get = async () => {
    const known = recent()
    if (known !== null) return known
    const read_ms = runtime.elapsed()
    const key = await secret('codes')
    kept = { key, read_ms }
    return key
  }
  return {
    get,
    async known() {
      return recent() ?? ((await storage.read.secrets.byName('codes')) === null ? null : get())
    },
  }
}
