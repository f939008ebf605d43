import type { Core } from '@svc/core'
import { DELIVERY_LATE_MS, dueSinceMs, MESSAGE_LATE_MS } from '@svc/core/operate'
import { counted } from './counted.ts'
import { type Finding, findingsOf } from './finding.ts'

/** Checks that due messages and deliveries are sent. */
export async function checkWork(core: Core): Promise<Finding[]> {
  const is = findingsOf('queue')
  const { at, message_queue, delivery_queue, pause } = await core.overviews.overview()
  const message_ms = dueSinceMs(at, message_queue)
  const delivery_ms = dueSinceMs(at, delivery_queue)
  const findings: Finding[] = []
  if (pause) {
    findings.push(
      is.warning(
        `all sending and delivering is paused since ${pause.created_at.toISOString()}: ${pause.reason}`,
        pause.cause === 'restore'
          ? 'svc resume --dry-run shows the doubtful messages; then svc resume'
          : 'svc resume ends the pause',
      ),
    )
  } else {
    if (message_ms > MESSAGE_LATE_MS) {
      findings.push(
        is.error(
          `${counted(message_queue.due, 'message is', 'messages are')} due, the oldest for ${minutes(message_ms)}`,
          'check that a server runs on this database, and that its providers are not paused (svc providers status)',
        ),
      )
    }
    if (delivery_ms > DELIVERY_LATE_MS) {
      findings.push(
        is.warning(
          `${counted(delivery_queue.due, 'webhook delivery is', 'webhook deliveries are')} due, the oldest for ${minutes(delivery_ms)}`,
          'a receiver that does not answer delays its own deliveries; svc top shows it',
        ),
      )
    }
  }
  if (message_queue.unknown > 0) {
    findings.push(
      is.warning(
        `it is unknown whether a provider has accepted ${counted(message_queue.unknown, 'message')}`,
        'the service queries the provider; without an answer a message ends as outcome_unknown after ten minutes. If there are many, a provider does not answer',
      ),
    )
  }
  const { waiting } = message_queue
  return findings.length > 0
    ? findings
    : [is.ok(`${counted(waiting, 'message waits', 'messages wait')}, none is late`)]
}

function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min`
}
