import type { Runtime } from '../runtime/runtime.ts'
import type { SecretsKey } from '../secrets/keys.ts'
import { createSealer, type Sealer } from '../secrets/sealer.ts'
import { createSecrets } from '../secrets/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'
import {
  assertSecretsReadable,
  createSecretsAtRest,
  type SecretsAtRest,
} from './secrets-at-rest.ts'

/** All that keeps secrets in the database. */
export interface OpenedSecrets {
  sealer: Sealer
  /** A secret that the service made for itself. */
  secret: (name: string) => Promise<string>
  secretsAtRest: SecretsAtRest
}

/**
 * Opens what keeps secrets.
 * @param keys the first encrypts, all decrypt.
 * @throws SealedError, having closed the storage, for values of other keys where they are `required`.
 */
export async function openSecrets(
  keys: readonly SecretsKey[],
  { storage, runtime, required }: { storage: Storage; runtime: Runtime; required: boolean },
): Promise<OpenedSecrets> {
  const sealer = createSealer(keys, runtime)
  const plain = createSealer(keys, runtime, null)
  const secretsAtRest = createSecretsAtRest({ storage, runtime, sealer, plain })
  if (required) {
    await assertSecretsReadable(secretsAtRest).catch(async (error) => {
      await storage.close()
      throw error
    })
  }
  return { sealer, secret: createSecrets({ storage, runtime, sealer }), secretsAtRest }
}
