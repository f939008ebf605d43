import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import type { Data } from '../contract/endpoints/endpoint.ts'
import type { webhooks as endpoints, HealthPeriod } from '../contract/resources/webhooks.ts'
import { summaryOf } from '../rules/answer-times.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { visibleWebhook } from './views.ts'

/** The points of each period; a point of several hours is a day (UTC). */
const PERIODS = {
  '24h': { unit: 'hour', hours_each: 1, points: 24 },
  '7d': { unit: 'day', hours_each: 24, points: 7 },
  '30d': { unit: 'day', hours_each: 24, points: 30 },
} as const

/** The age in hours at which counts of attempts are removed: no period begins earlier. */
export const HEALTH_HOURS = 31 * 24

/** The characters of an answer that are shown; the delivery has the whole stored answer. */
const BODY_MAX = 1_000

/** How the receiver of a webhook answers, in a period that ends now. */
export type WebhookHealthReport = Data<typeof endpoints.health>['health']

/**
 * The attempts of a webhook in a period, from counts that are written with the results, so that a million deliveries cost no
 * more than one.
 * @throws SvcError `not_found`, also for a webhook that the viewer may not see.
 */
export async function healthOf(
  { storage, runtime }: { storage: Pick<Storage, 'read'>; runtime: Pick<Runtime, 'now'> },
  viewer: Viewer,
  webhookId: string,
  period: HealthPeriod,
): Promise<WebhookHealthReport> {
  const view = viewOf(viewer)
  const { workspace_id, livemode } = view
  const { webhooks: read } = storage.read
  const row = visibleWebhook(view, await read.byId(workspace_id, webhookId))
  const { unit, hours_each, points } = PERIODS[period]
  const now_hour = Math.floor(runtime.now().getTime() / HOUR_MS)
  const last = Math.floor(now_hour / hours_each)
  const first = last - points + 1
  const hours = { from: first * hours_each, until: now_hour, hours_each }
  const [counts, failures] = await Promise.all([
    read.attemptCounts(workspace_id, webhookId, hours),
    read.lastFailures(workspace_id, webhookId, { livemode, body_max: BODY_MAX }),
  ])
  const { failing_since, disabled_at, disabled_reason } = row
  const all = summaryOf(counts)
  return {
    period,
    unit,
    ...all,
    success_rate: all.attempts === 0 ? null : all.succeeded / all.attempts,
    points: Array.from({ length: points }, (_, i) => ({
      since: new Date((first + i) * hours_each * HOUR_MS),
      ...summaryOf(counts.filter((count) => count.period === first + i)),
    })),
    failures: failures.map(({ delivery, attempt }) => ({
      delivery_id: delivery.id,
      event: delivery.event as WebhookHealthReport['failures'][number]['event'],
      attempt: attempt.number,
      at: new Date(attempt.started_at.getTime() + attempt.duration_ms),
      duration_ms: attempt.duration_ms,
      response_status: attempt.response_status,
      response_body: attempt.response_body,
      error: attempt.error,
    })),
    failing_since,
    disabled_at,
    disabled_reason,
  }
}
