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

interface OpenedSecrets {
  sealer: Sealer
  /** A secret that the service generated. */
  secret: (name: string) => Promise<string>
  secretsAtRest: SecretsAtRest
}

/**
 * @param keys the first key encrypts, all keys decrypt.
 * @param required whether values that other keys encrypted are an error.
 * @throws SealedError for values that other keys encrypted.
 */
export async function openSecrets(
  keys: readonly SecretsKey[],
  { storage, runtime, required }: { storage: Storage; runtime: Runtime; required: boolean },
): Promise<OpenedSecrets> {
  const sealer = createSealer(keys, runtime)
  const plain = createSealer(keys, runtime, null)
  const secretsAtRest = createSecretsAtRest({ storage, runtime, sealer, plain })
  if (required) await assertSecretsReadable(secretsAtRest)
  return { sealer, secret: createSecrets({ storage, runtime, sealer }), secretsAtRest }
}
