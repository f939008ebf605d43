import type { DeliveryResult } from '../rules/record.ts'
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from '../runtime/telemetry.ts'

const KNOWN: ReadonlySet<string> = new Set(DELIVERY_OUTCOMES)

/** How a try ended, in few words: for counting. */
export function deliveryOutcome({
  response_status,
  error,
}: Pick<DeliveryResult, 'response_status' | 'error'>): DeliveryOutcome {
  const word =
    response_status === null ? error : `${Math.floor(Math.min(response_status, 599) / 100)}xx`
  return word !== null && KNOWN.has(word) ? (word as DeliveryOutcome) : 'failed'
}
