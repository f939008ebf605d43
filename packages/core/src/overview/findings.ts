import { countedText, countText, durationText } from '../contract/fields/amounts.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { ProviderStatus, RecentOutcomes } from '../control/provider-desk.ts'
import type { History } from './history.ts'
import type { Overview, Overviews, PausedCountry, ProviderQueue, Troubles } from './overview.ts'

/** A state that needs action (`problem`) or attention (`notice`). */
export interface Finding {
  severity: 'problem' | 'notice'
  code: string
  /** The workspace that it is about; null for the whole service. */
  workspace_id: string | null
  /** The text for people. The caller must make it printable, because it contains foreign texts. */
  text: string
}

/** One pause of a provider. */
export type Pause = ProviderStatus['pauses'][number]

/** Failures are reported if there are at least this number in a minute, and at least this share of the messages. */
const FAILED_MIN = 5
const FAILED_SHARE = 0.1
const MINUTE_MS = 60_000

/** A provider is silent after this time without an answer, or with this number of unknown outcomes now or since its last acceptance. */
const SILENT_MS = 15_000
const UNKNOWN_MIN = 3

/** The findings of a reading, problems first; empty when all is well. */
export function findingsOf({ overview, troubles }: Reading, history: History): Finding[] {
  const found = [
    allPaused(overview),
    overview.pause === null ? lateMessages(overview, history) : null,
    ...troubles.providers.flatMap((provider) => pausesOf(provider, overview.at)),
    ...overview.provider_queues.map((queue) =>
      silentProvider(queue, unansweredBy(queue.provider, troubles), overview.at),
    ),
    manyFailures(history),
    unknownOutcomes(overview.message_queue.unknown),
    overview.pause === null ? lateDeliveries(overview) : null,
    failingWebhooks(overview.webhooks.failing),
    ...troubles.paused_countries.map((pause) => pausedCountry(pause, overview.at)),
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

type Unanswered = RecentOutcomes['unanswered']

function unansweredBy(provider: string, { providers }: Troubles): Unanswered {
  return providers.find(({ name }) => name === provider)?.recent.unanswered ?? null
}

/**
 * Whether a provider does not answer. A message ends ten minutes after its outcome became unknown, but the provider stays silent
 * until it takes or refuses one, or knows one when it is looked up.
 */
export function isSilent(
  { oldest_call_at, unknown }: Pick<ProviderQueue, 'oldest_call_at' | 'unknown'>,
  unanswered: RecentOutcomes['unanswered'],
  now: Date,
): boolean {
  const hangs_ms = oldest_call_at ? now.getTime() - oldest_call_at.getTime() : 0
  return hangs_ms >= SILENT_MS || unknown >= UNKNOWN_MIN || acceptsNothing(unanswered)
}

function acceptsNothing(unanswered: Unanswered): unanswered is NonNullable<Unanswered> {
  return unanswered !== null && unanswered.count >= UNKNOWN_MIN
}

/**
 * A provider that does not answer: calls without an outcome for longer than an answer takes, or several unknown outcomes. It is
 * found at once, long before its messages are late or fail.
 */
function silentProvider(queue: ProviderQueue, unanswered: Unanswered, now: Date): Finding | null {
  if (!isSilent(queue, unanswered, now)) return null
  const { provider, calls, oldest_call_at, unknown, waiting, oldest_waiting_at } = queue
  const since = (at: Date | null) => (at ? now.getTime() - at.getTime() : 0)
  const isHanging = since(oldest_call_at) >= SILENT_MS
  const open = isHanging
    ? `${countedText(calls, 'call is', 'calls are')} open, the oldest for ${durationText(since(oldest_call_at))}`
    : null
  const lost = unknown > 0 ? `${countedText(unknown, 'outcome is', 'outcomes are')} unknown` : null
  const wait =
    waiting > 0
      ? `${countedText(waiting, 'message waits', 'messages wait')}, the oldest for ${durationText(since(oldest_waiting_at))}`
      : null
  const nothing = acceptsNothing(unanswered)
    ? `no message was accepted for ${durationText(since(unanswered.since))}`
    : null
  const facts = [open, lost, nothing, wait].filter((text) => text !== null).join('; ')
  return problem('provider_silent', `provider ${provider} does not answer: ${facts}`)
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
  const messages = countedText(unknown, 'message')
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
  return notice('webhooks_failing', countedText(failing, 'webhook fails', 'webhooks fail'))
}

function pausedCountry(
  { workspace_id, country, paused_at, sent, approved, is_active }: PausedCountry,
  now: Date,
): Finding {
  const duration = durationText(now.getTime() - paused_at.getTime())
  const codes = `one-time codes of workspace ${workspace_id} to ${country}`
  const counts = `${countText(approved)} of ${countText(sent)} messages were approved`
  if (!is_active) {
    const text = `the pause of ${codes} has ended: it began ${duration} ago, when ${counts}`
    return { ...notice('codes_pause_ended', text), workspace_id }
  }
  const text = `${codes} are paused for ${duration}: ${counts}; svc verify allow ${workspace_id} ${country} ends the pause`
  return { ...notice('codes_paused', text), workspace_id }
}

function problem(code: string, text: string): Finding {
  return { severity: 'problem', code, workspace_id: null, text }
}

function notice(code: string, text: string): Finding {
  return { severity: 'notice', code, workspace_id: null, text }
}

/** The state of the service at one moment. */
export interface Reading {
  overview: Overview
  troubles: Troubles
}

/** Reads once, with at most `limit` failing webhooks and `limit` failed messages. */
export async function readOnce(
  { overviews }: { overviews: Overviews },
  { limit, channel }: { limit: number; channel: Channel | null },
): Promise<Reading> {
  const [overview, troubles] = await Promise.all([
    overviews.overview(),
    overviews.troubles(limit, { channel: channel ?? undefined }),
  ])
  return { overview, troubles }
}

/** A message is late if no worker claims it for longer than this time. */
export const MESSAGE_LATE_MS = 60_000

/**
 * A delivery is late if no worker claims it for longer than this time: the open circuit breaker of a receiver delays its
 * due deliveries for at most five minutes.
 */
export const DELIVERY_LATE_MS = 6 * 60_000

/** The time since the oldest item of a queue is due; 0 if none is due. */
export function dueSinceMs(at: Date, { oldest_due_at }: { oldest_due_at: Date | null }): number {
  return oldest_due_at ? at.getTime() - oldest_due_at.getTime() : 0
}
