import type { ProviderStatus } from '@svc/core/operate'
import { countText, spanText } from './amounts.ts'
import type { History } from './history.ts'
import type { Reading } from './reading.ts'

/** Something to act on (`problem`) or to know (`notice`). */
export interface Finding {
  severity: 'problem' | 'notice'
  code: string
  /** Of other people's words in it nothing is printable yet. */
  text: string
}

type Pause = ProviderStatus['pauses'][number]

/** A message that nobody took for so long is not just waiting for its turn. */
const MESSAGE_LATE_MS = 60_000
/** A receiver's breaker lets nothing through for up to five minutes; that is its own trouble. */
const DELIVERY_LATE_MS = 6 * 60_000
/** Less than so many failures in a minute, or less than this share, is everyday life. */
const FAILED_MIN = 5
const FAILED_SHARE = 0.1
const MINUTE_MS = 60_000

/** What is wrong, the worst first; empty when all is well. */
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

/** Why a provider, or one of its senders, is paused, and until when. */
export function pauseText({ sender, cause, code, reason, retry_at, created_at }: Pause, now: Date) {
  const what = sender === '' ? '' : `${sender} `
  if (cause === 'operator') {
    const since = spanText(now.getTime() - created_at.getTime())
    return `${what}paused by an operator ${since} ago, until it is resumed: ${reason}`
  }
  const wait_ms = retry_at ? retry_at.getTime() - now.getTime() : null
  const next =
    wait_ms === null
      ? 'until it is resumed'
      : wait_ms > 0
        ? `tried again in ${spanText(wait_ms)}`
        : 'being tried again'
  return `${what}paused, refuses its settings (${code ?? 'unknown'}), ${next}: ${reason}`
}

function allPaused({ at, pause, message_queue }: Reading['overview']): Finding | null {
  if (pause === null) return null
  const since = spanText(at.getTime() - pause.created_at.getTime())
  const text = `nothing is sent or delivered for ${since} (${countText(message_queue.due)} due): ${pause.reason}`
  return problem('paused', `${text}; svc resume lets it go on`)
}

function lateMessages({ at, message_queue }: Reading['overview'], history: History) {
  const { oldest_due_at, due } = message_queue
  const late_ms = oldest_due_at ? at.getTime() - oldest_due_at.getTime() : 0
  if (late_ms < MESSAGE_LATE_MS) return null
  const left = history.growth('left', null, MINUTE_MS)
  const text = `the oldest message is due for ${spanText(late_ms)} (${countText(due)} due)`
  const why =
    left === null
      ? 'is a server dispatching?'
      : left === 0
        ? 'no server is dispatching?'
        : 'more is due than is sent'
  return problem('messages_late', `${text}: ${why}`)
}

function pausesOf({ name, pauses }: ProviderStatus, now: Date): Finding[] {
  return pauses.map((pause) => {
    const text = `provider ${name}: ${pauseText(pause, now)}`
    return pause.sender === '' ? problem('provider_paused', text) : notice('sender_paused', text)
  })
}

function manyFailures(history: History) {
  const failed = history.growth('failed', null, MINUTE_MS) ?? 0
  const left = Math.max(failed, history.growth('left', null, MINUTE_MS) ?? 0)
  if (failed < FAILED_MIN || failed < left * FAILED_SHARE) return null
  const [some, all] = [countText(failed), countText(left)]
  return problem('many_failures', `${some} of ${all} messages failed within the last minute`)
}

function unknownOutcomes(unknown: number) {
  if (unknown === 0) return null
  const text = `of ${countText(unknown)} ${unknown === 1 ? 'message' : 'messages'} it is not known whether a provider has them`
  return notice('outcome_unknown', unknown === 1 ? text.replace(/them$/, 'it') : text)
}

function lateDeliveries({ at, delivery_queue }: Reading['overview']) {
  const { oldest_due_at, due } = delivery_queue
  const late_ms = oldest_due_at ? at.getTime() - oldest_due_at.getTime() : 0
  if (late_ms < DELIVERY_LATE_MS) return null
  const text = `the oldest webhook delivery is due for ${spanText(late_ms)} (${countText(due)} due)`
  return notice('deliveries_late', `${text}: its receiver is down, or no server delivers`)
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
