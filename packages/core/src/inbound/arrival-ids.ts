import { createHash } from 'node:crypto'
import { uuidAt } from '../runtime/runtime.ts'
import type { Arrival } from './plan.ts'

/**
 * The ids of what follows from an arrival, one after the other. Where its provider named it they follow from that name:
 * taken in again it is numbered as before, whatever else draws ids meanwhile.
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
