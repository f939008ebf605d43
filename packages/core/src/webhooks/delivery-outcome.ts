import { DELIVERY_OUTCOMES, type DeliveryOutcome } from '../runtime/telemetry.ts'
import type { DeliverAnswer } from './deliver.ts'

const OUTCOMES: ReadonlySet<string> = new Set(DELIVERY_OUTCOMES)

/** The outcome of an attempt as metrics count it. */
export function deliveryOutcome({
  response_status,
  error,
}: Pick<DeliverAnswer, 'response_status' | 'error'>): DeliveryOutcome {
  const outcome =
    response_status === null ? error : `${Math.floor(Math.min(response_status, 599) / 100)}xx`
  return outcome !== null && OUTCOMES.has(outcome) ? (outcome as DeliveryOutcome) : 'failed'
}
