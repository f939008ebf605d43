import type { RecordPlan } from '../rules/record.ts'
import type { SettlePlan } from '../rules/settlement.ts'
import type { Telemetry } from '../runtime/telemetry.ts'

/** Reports commits; undefined without telemetry. */
export function reportCommitted(telemetry: Telemetry | undefined) {
  return telemetry && ((jobs: number, ms: number) => telemetry.committed(jobs, ms))
}

/** Reports settlements, once they are on disk. */
export function reportSettled(telemetry: Telemetry, plan: SettlePlan): void {
  for (const { channel, status } of plan.reached) telemetry.reached(channel, status, 1)
  for (const { kind, amount } of plan.entries) if (kind === 'refund') telemetry.refunded(amount)
}

/** Reports ended deliveries, once they are on disk. */
export function reportRecorded(telemetry: Telemetry, { deliveries }: RecordPlan): void {
  for (const { status, next_attempt_at } of deliveries) {
    const hasEnded = next_attempt_at === null && (status === 'delivered' || status === 'failed')
    if (hasEnded) telemetry.deliveryEnded(status)
  }
}
