import type { ProviderStatus } from '@svc/core/operate'
import { DELIVERY_LATE_MS, dueSinceMs, MESSAGE_LATE_MS } from '../connect/late.ts'
import { countText, durationText } from './amounts.ts'
import type { History } from './history.ts'
import type { Reading } from './reading.ts'

/** A state that needs action (`problem`) or attention (`notice`). */
export interface Finding {
  severity: 'problem' | 'notice'
  code: string
  /** The text for people. The caller must make it printable, because it contains foreign texts. */
  text: string
}

type Pause = ProviderStatus['pauses'][number]

/** Failures are reported if there are at least this number in a minute, and at least this share of the messages. */
const FAILED_MIN = 5
const FAILED_SHARE = 0.1
const MINUTE_MS = 60_000

/** The findings of a reading, problems first; empty when all is well. */
export function findingsOf({ overview, troubles }: Reading, history: History): Finding[] {
  const found = [
    allPaused(overview),
    overview.pause === null ? lateMessages(overview, history) : null,
    ...troubles.providers.flatMap((provider) => pausesOf(provider, overview.at)),
    manyFailures(history),
    unknownOutcomes(overview.message_queue.unknown),
    overview.pause === null ? lateDeliveries(overview) : null,
    failingWebhooks(overview.webhooks.failing),
  ]
  const findings = found.filter((finding) => finding !== null)
  return findings.sort(
    (a, b) => Number(b.severity === 'problem') - Number(a.severity === 'problem'),
  )
}

/** The reason and the end of the pause of a provider or one of its senders. */
export function pauseText({ sender, cause, code, reason, retry_at, created_at }: Pause, now: Date) {
  const subject = sender === '' ? '' : `${sender} `
  if (cause === 'operator') {
    const duration = durationText(now.getTime() - created_at.getTime())
    return `${subject}paused by an operator ${duration} ago, until svc providers resume: ${reason}`
  }
  const wait_ms = retry_at ? retry_at.getTime() - now.getTime() : null
  const next =
    wait_ms === null
      ? 'until svc providers resume'
      : wait_ms > 0
        ? `retried in ${durationText(wait_ms)}`
        : 'being retried'
  return `${subject}paused, refuses its settings (${code ?? 'unknown'}), ${next}: ${reason}`
}

function allPaused({ at, pause, message_queue }: Reading['overview']): Finding | null {
  if (pause === null) return null
  const duration = durationText(at.getTime() - pause.created_at.getTime())
  const text = `all sending and delivering is paused for ${duration} (${countText(message_queue.due)} due): ${pause.reason}`
  return problem('paused', `${text}; svc resume ends the pause`)
}

function lateMessages({ at, message_queue }: Reading['overview'], history: History) {
  const late_ms = dueSinceMs(at, message_queue)
  if (late_ms <= MESSAGE_LATE_MS) return null
  const dequeued = history.growth('dequeued', null, MINUTE_MS)
  const text = `the oldest message is due for ${durationText(late_ms)} (${countText(message_queue.due)} due)`
  const explanation =
    dequeued === null
      ? 'check that a server runs'
      : dequeued === 0
        ? 'probably no server runs'
        : 'messages become due faster than they are sent'
  return problem('messages_late', `${text}: ${explanation}`)
}

function pausesOf({ name, pauses }: ProviderStatus, now: Date): Finding[] {
  return pauses.map((pause) => {
    const text = `provider ${name}: ${pauseText(pause, now)}`
    return pause.sender === '' ? problem('provider_paused', text) : notice('sender_paused', text)
  })
}

function manyFailures(history: History) {
  const failed = history.growth('failed', null, MINUTE_MS) ?? 0
  const dequeued = Math.max(failed, history.growth('dequeued', null, MINUTE_MS) ?? 0)
  if (failed < FAILED_MIN || failed < dequeued * FAILED_SHARE) return null
  const [some, all] = [countText(failed), countText(dequeued)]
  return problem('many_failures', `${some} of ${all} messages failed in the last minute`)
}

function unknownOutcomes(unknown: number) {
  if (unknown === 0) return null
  const messages = `${countText(unknown)} ${unknown === 1 ? 'message' : 'messages'}`
  return notice('outcome_unknown', `it is unknown whether a provider has accepted ${messages}`)
}

function lateDeliveries({ at, delivery_queue }: Reading['overview']) {
  const late_ms = dueSinceMs(at, delivery_queue)
  if (late_ms <= DELIVERY_LATE_MS) return null
  const text = `the oldest webhook delivery is due for ${durationText(late_ms)} (${countText(delivery_queue.due)} due)`
  return notice('deliveries_late', `${text}: its receiver fails, or no server runs`)
}

function failingWebhooks(failing: number) {
  if (failing === 0) return null
  const text = failing === 1 ? '1 webhook fails' : `${countText(failing)} webhooks fail`
  return notice('webhooks_failing', text)
}

function problem(code: string, text: string): Finding {
  return { severity: 'problem', code, text }
}

function notice(code: string, text: string): Finding {
  return { severity: 'notice', code, text }
}
