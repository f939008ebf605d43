import { createHash } from 'node:crypto'
import { uuidAt } from '../runtime/runtime.ts'
import type { Arrival } from './plan.ts'

/**
 * The ids of the rows of an arrival, in order. They are derived from the provider's id if there is one, so that a
 * repeated arrival gets the same ids.
 */
export function idsFor(
  { provider, provider_message_id, at }: Arrival,
  newId: () => string,
): () => string {
  if (provider_message_id === null) return newId
  let n = 0
  return () =>
    uuidAt(
      at,
      createHash('sha256')
        .update(JSON.stringify([provider, provider_message_id, n++]))
        .digest(),
    )
}
