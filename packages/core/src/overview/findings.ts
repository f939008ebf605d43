import { countText, durationText } from '../contract/fields/amounts.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { ProviderStatus, RecentOutcomes } from '../control/provider-desk.ts'
import type { History } from './history.ts'
import type { Overview, Overviews, PausedCountry, ProviderQueue, Troubles } from './overview.ts'

/** A sentence in English with its values in braces, so that it can be translated. `one`: the sentence if the value `n` is 1. */
export interface Sentence {
  text: string
  one: string | null
  values: readonly { name: string; value: string | number }[]
}

/** A state that needs action (`problem`) or attention (`notice`). */
export interface Finding {
  severity: 'problem' | 'notice'
  code: string
  /** The workspace that it is about; null for the whole service. */
  workspace_id: string | null
  /** The text for people in English. The caller must make it printable, because it contains foreign texts. */
  text: string
  /** The sentences of `text`, for translation. A string is a text of a person or a provider, after a colon. The second sentence too follows a colon. */
  sentences: readonly (Sentence | string)[]
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

const RESUME_PROVIDER = 'svc providers resume'

/** The reason and the end of the pause of a provider or one of its senders. */
export function pauseText(pause: Pause, now: Date): string {
  const sender = pause.sender === '' ? '' : `${pause.sender} `
  return `${sender}${wordsOf(pauseSentences(pause, now))}`
}

/** The first sentence has no subject. */
function pauseSentences(
  { cause, code, reason, retry_at, created_at }: Pause,
  now: Date,
): readonly [Sentence, string] {
  if (cause === 'operator') {
    const duration = durationText(now.getTime() - created_at.getTime())
    return [
      say('paused by an operator {duration} ago, until {command}', {
        duration,
        command: RESUME_PROVIDER,
      }),
      reason,
    ]
  }
  const values = { code: code ?? 'unknown' }
  const wait_ms = retry_at ? retry_at.getTime() - now.getTime() : null
  if (wait_ms === null) {
    return [
      say('paused, refuses its settings ({code}), until {command}', {
        ...values,
        command: RESUME_PROVIDER,
      }),
      reason,
    ]
  }
  if (wait_ms <= 0) {
    return [say('paused, refuses its settings ({code}), being retried', values), reason]
  }
  const next = { ...values, duration: durationText(wait_ms) }
  return [say('paused, refuses its settings ({code}), retried in {duration}', next), reason]
}

function allPaused({ at, pause, message_queue: { due } }: Reading['overview']): Finding | null {
  if (pause === null) return null
  const duration = durationText(at.getTime() - pause.created_at.getTime())
  return problem(
    'paused',
    say('all sending and delivering is paused for {duration} ({due} due)', { duration, due }),
    pause.reason,
    say('{command} ends the pause', { command: 'svc resume' }),
  )
}

function lateMessages({ at, message_queue }: Reading['overview'], history: History) {
  const late_ms = dueSinceMs(at, message_queue)
  if (late_ms <= MESSAGE_LATE_MS) return null
  const dequeued = history.growth('dequeued', null, MINUTE_MS)
  const values = { duration: durationText(late_ms), due: message_queue.due }
  return problem(
    'messages_late',
    say('the oldest message is due for {duration} ({due} due)', values),
    dequeued === null
      ? say('check that a server runs')
      : dequeued === 0
        ? say('probably no server runs')
        : say('messages become due faster than they are sent'),
  )
}

function pausesOf({ name, pauses }: ProviderStatus, now: Date): Finding[] {
  return pauses.map((pause) => {
    const { sender } = pause
    const sentences = pauseSentences(pause, now)
    return sender === ''
      ? problem('provider_paused', say('provider {name}', { name }), ...sentences)
      : notice(
          'sender_paused',
          say('provider {name}, sender {sender}', { name, sender }),
          ...sentences,
        )
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
  const { provider: name, calls, oldest_call_at, unknown, waiting, oldest_waiting_at } = queue
  const since = (at: Date | null) => (at ? now.getTime() - at.getTime() : 0)
  const facts = [
    since(oldest_call_at) >= SILENT_MS &&
      say(
        '{n} calls are open, the oldest for {duration}',
        { n: calls, duration: durationText(since(oldest_call_at)) },
        '{n} call is open, the oldest for {duration}',
      ),
    unknown > 0 && say('{n} outcomes are unknown', { n: unknown }, '{n} outcome is unknown'),
    acceptsNothing(unanswered) &&
      say('no message was accepted for {duration}', {
        duration: durationText(since(unanswered.since)),
      }),
    waiting > 0 &&
      say(
        '{n} messages wait, the oldest for {duration}',
        { n: waiting, duration: durationText(since(oldest_waiting_at)) },
        '{n} message waits, the oldest for {duration}',
      ),
  ]
  return problem(
    'provider_silent',
    say('provider {name} does not answer', { name }),
    ...facts.filter((fact) => fact !== false),
  )
}

function manyFailures(history: History) {
  const failed = history.growth('failed', null, MINUTE_MS) ?? 0
  const all = Math.max(failed, history.growth('dequeued', null, MINUTE_MS) ?? 0)
  if (failed < FAILED_MIN || failed < all * FAILED_SHARE) return null
  return problem(
    'many_failures',
    say('{failed} of {all} messages failed in the last minute', { failed, all }),
  )
}

function unknownOutcomes(n: number) {
  if (n === 0) return null
  return notice(
    'outcome_unknown',
    say(
      'it is unknown whether a provider has accepted {n} messages',
      { n },
      'it is unknown whether a provider has accepted {n} message',
    ),
  )
}

function lateDeliveries({ at, delivery_queue }: Reading['overview']) {
  const late_ms = dueSinceMs(at, delivery_queue)
  if (late_ms <= DELIVERY_LATE_MS) return null
  const values = { duration: durationText(late_ms), due: delivery_queue.due }
  return notice(
    'deliveries_late',
    say('the oldest webhook delivery is due for {duration} ({due} due)', values),
    say('its receiver fails, or no server runs'),
  )
}

function failingWebhooks(n: number) {
  if (n === 0) return null
  return notice('webhooks_failing', say('{n} failing webhooks', { n }, '{n} failing webhook'))
}

function pausedCountry(
  { workspace_id, country, paused_at, sent, approved, is_active }: PausedCountry,
  now: Date,
): Finding {
  const values = { country, workspace: workspace_id }
  const duration = durationText(now.getTime() - paused_at.getTime())
  const counts = { approved, sent }
  const found = is_active
    ? notice(
        'codes_paused',
        say('one-time codes of workspace {workspace} to {country} are paused for {duration}', {
          ...values,
          duration,
        }),
        say('{approved} of {sent} messages were approved', counts),
        say('{command} ends the pause', { command: `svc verify allow ${workspace_id} ${country}` }),
      )
    : notice(
        'codes_pause_ended',
        say('the pause of one-time codes of workspace {workspace} to {country} has ended', values),
        say('it began {duration} ago, when {approved} of {sent} messages were approved', {
          ...counts,
          duration,
        }),
      )
  return { ...found, workspace_id }
}

/** Tests read the first and the last argument of each call: the catalogues must have them. */
function say(
  text: string,
  values: Record<string, string | number> = {},
  one: string | null = null,
): Sentence {
  return { text, one, values: Object.entries(values).map(([name, value]) => ({ name, value })) }
}

function wordsOf(sentences: Finding['sentences']): string {
  return sentences
    .map((one, i) => {
      const separator = i === 0 ? '' : i === 1 || typeof one === 'string' ? ': ' : '; '
      return separator + (typeof one === 'string' ? one : inEnglish(one))
    })
    .join('')
}

function inEnglish({ text, one, values }: Sentence): string {
  const given = (name: string) => values.find((value) => value.name === name)?.value ?? ''
  const template = given('n') === 1 && one !== null ? one : text
  return template.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = given(name)
    return typeof value === 'number' ? countText(value) : value
  })
}

function problem(code: string, ...sentences: Finding['sentences']): Finding {
  return { severity: 'problem', code, workspace_id: null, text: wordsOf(sentences), sentences }
}

function notice(code: string, ...sentences: Finding['sentences']): Finding {
  return { ...problem(code, ...sentences), severity: 'notice' }
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
