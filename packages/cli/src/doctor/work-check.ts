import type { Core } from '@svc/core'
import { type Finding, findingsOf } from './finding.ts'

const MESSAGE_LATE_MS = 60_000
const DELIVERY_LATE_MS = 5 * 60_000

/** Whether what is due gets done. */
export async function checkWork(core: Core): Promise<Finding[]> {
  const is = findingsOf('queue')
  const { at, message_queue, delivery_queue, pause } = await core.overviews.overview()
  const late_ms = (oldest: Date | null) => (oldest ? at.getTime() - oldest.getTime() : 0)
  const findings: Finding[] = []
  if (pause) {
    findings.push(
      is.warning(
        `nothing is sent or delivered since ${pause.created_at.toISOString()}: ${pause.reason}`,
        pause.cause === 'restore'
          ? 'svc resume --dry-run shows what is doubtful; then svc resume'
          : 'svc resume lets it go on',
      ),
    )
  } else {
    if (late_ms(message_queue.oldest_due_at) > MESSAGE_LATE_MS) {
      findings.push(
        is.error(
          `${message_queue.due} messages are due, the oldest for ${minutes(late_ms(message_queue.oldest_due_at))}`,
          'does a server run on this database? Are its providers paused (svc providers status)?',
        ),
      )
    }
    if (late_ms(delivery_queue.oldest_due_at) > DELIVERY_LATE_MS) {
      findings.push(
        is.warning(
          `${delivery_queue.due} deliveries of webhooks are due, the oldest for ${minutes(late_ms(delivery_queue.oldest_due_at))}`,
          'receivers that do not answer hold up their own; svc top names them',
        ),
      )
    }
  }
  if (message_queue.unknown > 0) {
    findings.push(
      is.warning(
        `of ${message_queue.unknown} messages it is unknown whether a provider has them`,
        'each is looked up, or ends as outcome_unknown after ten minutes where the provider cannot be asked; many of them mean that a provider does not answer',
      ),
    )
  }
  const { waiting } = message_queue
  return findings.length > 0 ? findings : [is.ok(`${waiting} messages wait, none too long`)]
}

function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min`
}
