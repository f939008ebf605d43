import type { Units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type {
  MessageRow,
  VerificationCountRow,
  VerificationPauseRow,
  VerificationRow,
  VerificationSpendingRow,
  WorkspaceRow,
} from '../rows/rows.ts'
import type { CodeSource } from '../rows/verifications.ts'
import { HOUR_MS } from './count-changes.ts'

/** A request for a message with a code, which is committed with the message and its debit. */
export interface CodeRequest {
  /** The verification that begins, unless one is pending for the address. Its message is the only one of the request. */
  verification: VerificationRow
  /** A resend: the pending verification whose code is sent. Null: a start. */
  resends: string | null
  /** The next channel of the pending verification `resends`, whose row was read before. */
  is_fallback?: boolean
  /** The country of the number, where the verification has none because it is not counted. */
  country?: string | null
  /** The code of another service, which has its own verification; absent: the code of the verification. */
  source?: CodeSource | undefined
  /** The stored answer for an `Idempotency-Key`; `message` is null if none is sent. */
  response: (of: { verification: VerificationRow; message: MessageRow | null }) => string
}

/** What decides about requests for codes. `codeKeys` makes the keys of the maps. */
export interface CodeState {
  /** The verifications of an address in the last day, newest first. */
  recent: Map<string, VerificationRow[]>
  /** The verifications in the last day whose second address gets a message of a request. */
  seconds: Map<string, OfAddress[]>
  /** Those whose first address gets a message as the second one of another verification. */
  firsts: Map<string, OfAddress[]>
  /** How many verifications of a mode a network of clients started in the last hour. */
  started: Map<string, number>
  /** The counts of a country in the last day. */
  counts: Map<string, VerificationCountRow[]>
  pauses: Map<string, VerificationPauseRow>
  /** The limits of each workspace; absent: none. */
  limits: Map<string, CodeLimits>
  /** What each workspace spent on codes; absent: nothing yet. */
  spent: Map<string, VerificationSpendingRow>
}

/** The limits of a workspace for its codes; null: no limit. */
export interface CodeLimits {
  daily_credits: Units | null
  countries: readonly string[] | null
}

export function emptyCodeState(): CodeState {
  return {
    recent: new Map(),
    seconds: new Map(),
    firsts: new Map(),
    started: new Map(),
    counts: new Map(),
    pauses: new Map(),
    limits: new Map(),
    spent: new Map(),
  }
}

/** The limits in the columns of a workspace. */
export function codeLimitsOf({
  verification_daily_credits: daily_credits,
  verification_countries: countries,
}: Pick<WorkspaceRow, 'verification_daily_credits' | 'verification_countries'>): CodeLimits {
  return { daily_credits, countries }
}

/** The keys of a verification in the maps of a state. */
export function codeKeys(of: {
  workspace_id: string
  livemode: boolean
  recipient: string
  country: string | null
  client_network: string | null
}): { address: string; country: string | null; network: string | null } {
  const { workspace_id, livemode, recipient, country, client_network } = of
  return {
    address: `${workspace_id}\n${livemode}\n${recipient}`,
    country: livemode && country !== null ? `${workspace_id}\n${country}` : null,
    network: client_network === null ? null : `${workspace_id}\n${livemode}\n${client_network}`,
  }
}

/** What says when a verification had messages to one of its addresses. */
export type OfAddress = Pick<VerificationRow, 'id' | 'sent_at' | 'messages'>

/** The address of a verification that gets a message of the channel, with its key in the maps of a state. */
export function addressOf(
  of: Parameters<typeof codeKeys>[0] & Pick<VerificationRow, 'other_recipient'>,
  channel: MessageRow['channel'],
): { address: string; key: string; is_second: boolean } {
  const { recipient, other_recipient: other } = of
  const is_second = other !== null && other.includes('@') === (channel === 'email')
  const address = is_second ? other : recipient
  return { address, key: codeKeys({ ...of, recipient: address }).address, is_second }
}

export type CodeRefusal =
  /** A code was sent a short time ago: nothing is sent, and the pending verification is the answer. */
  | { outcome: 'code_pending'; verification: VerificationRow }
  /** The verification of a resend is not pending; null: there is none. */
  | { outcome: 'code_over'; verification: VerificationRow | null }
  | { outcome: 'code_limit'; of: 'recipient' | 'network'; retry_after_s: number }
  /** The workspace sends codes to `countries` only; null: a number of no country. */
  | { outcome: 'code_country'; country: string; countries: readonly string[] }
  | { outcome: 'code_credits'; required: Units; limit: Units; spent: Units }
  /** `counts`: the counts that are the reason; null if the pause was announced in the last day. */
  | { outcome: 'country_paused'; country: string; counts: Tally | null; ends_at: Date }

/** The verification of an accepted request as it is stored, and the one that ended with it. */
export interface CodePlan {
  outcome: 'planned'
  verification: VerificationRow
  canceled: VerificationRow | null
  count: VerificationCountRow | null
  /** What the workspace spent on codes with this one; null for a test. */
  spending: VerificationSpendingRow | null
}

/** The counts of messages with codes and of approvals. */
export interface Tally {
  sent: number
  approved: number
}

const DAY_MS = 24 * HOUR_MS

/**
 * The guard against pumping: bots that ask for codes to numbers that pay them. A workspace sends no codes to a country while
 * the messages without an approval, in the last two hours or in the last day, are `FREE` and twice the approvals. So an
 * attack on a country without approvals costs at most `FREE` messages in a day. Honest requests are refused only while more
 * than that many wait for their approvals, and approvals end the pause.
 */
const FREE = 50
const UNAPPROVED_PER_APPROVAL = 2

/** The country of a number that belongs to none. */
export const NO_COUNTRY = 'ZZ'

/** Decides about a request for a code. */
export function decideCode(
  { verification: asked, resends, source, is_fallback = false, country: number }: CodeRequest,
  message: MessageRow,
  state: CodeState,
): CodeRefusal | CodePlan {
  const at = message.created_at
  const keys = codeKeys(asked)
  const recent = state.recent.get(keys.address) ?? []
  const open = recent.find((one) => isPending(one, at)) ?? null
  const [newest] = recent
  if (resends !== null && (open?.id !== resends || (is_fallback && !isSameStep(open, asked)))) {
    return { outcome: 'code_over', verification: recent.find(({ id }) => id === resends) ?? null }
  }
  if (open && !is_fallback && !source && at < nextSendAt(open)) {
    return { outcome: 'code_pending', verification: open }
  }
  const refused =
    countryLimit(asked.workspace_id, number ?? asked.country, state) ??
    (newest && newest.status !== 'approved' && !is_fallback ? cooldownOf(newest, at) : null) ??
    addressLimit(recent.flatMap(sendsOf), at) ??
    addressLimit(sendsTo(asked, message, state), at) ??
    (resends === null && keys.network !== null ? networkLimit(state, keys.network) : null) ??
    (keys.country === null ? null : pauseOf(asked.country as string, state, keys.country, at)) ??
    creditLimit(message, state)
  if (refused) return refused
  const count = countOf(asked, message, { sent: 1, approved: 0 }, at)
  const spending = spendingWith(message, state)
  const planned = { outcome: 'planned', count, spending } as const
  if (!open || source) {
    return { ...planned, verification: withMessage(asked, message, at), canceled: null }
  }
  const { channel, locale, options, metadata, other_recipient } = asked
  const country = open.country ?? asked.country
  if (is_fallback) {
    const next = { ...withoutStep(open), channel, locale, country }
    return { ...planned, verification: withMessage(next, message, at), canceled: null }
  }
  const expires_at = endWhenResent(open, asked.expires_in, at)
  const isOther =
    at.getTime() + asked.expires_in * 1000 > expires_at.getTime() ||
    asked.code_length !== open.code_length ||
    (open.other_recipient !== null && open.other_recipient !== other_recipient)
  if (resends === null && isOther) {
    // The code is too old to be sent again, has another length, or was sent to another person too: it ends, and another begins.
    const verification = withMessage(asked, message, at)
    return { ...planned, verification, canceled: ended(open, 'canceled', at) }
  }
  const { fallback } = asked
  const renewed = resends === null ? { options, metadata, fallback, other_recipient } : {}
  const next = { ...open, ...renewed, channel, locale, country, expires_at }
  const verification = withMessage(next, message, at)
  return { ...planned, verification, canceled: null }
}

/** Makes the state what it is after the request. */
export function applyCode(
  { verification, canceled, count, spending }: CodePlan,
  state: CodeState,
): void {
  if (spending) state.spent.set(spending.workspace_id, spending)
  const { address, network, country } = codeKeys(verification)
  const recent = state.recent.get(address) ?? []
  const isNew = !recent.some(({ id }) => id === verification.id)
  const others = recent.filter(({ id }) => id !== verification.id)
  const kept = others.map((one) => (one.id === canceled?.id ? canceled : one))
  state.recent.set(address, [verification, ...kept])
  const { other_recipient: other } = verification
  const second = other && codeKeys({ ...verification, recipient: other }).address
  for (const [map, key] of [
    [state.firsts, address],
    [state.seconds, second],
  ] as const) {
    const known = key && map.get(key)?.filter(({ id }) => id !== verification.id)
    if (known) map.set(key, [verification, ...known])
  }
  if (isNew && network) state.started.set(network, (state.started.get(network) ?? 0) + 1)
  if (count && country) state.counts.set(country, withCount(state.counts.get(country) ?? [], count))
}

/** Whether the channel that is tried next is still the same, and its message was not sent. */
export function isSameStep(
  a: Pick<VerificationRow, 'message_id' | 'fallback'>,
  b: Pick<VerificationRow, 'message_id' | 'fallback'>,
): boolean {
  return a.message_id === b.message_id && a.fallback?.length === b.fallback?.length
}

/** The verification without the channel that is tried next. */
export function withoutStep(row: VerificationRow): VerificationRow {
  const rest = row.fallback?.slice(1) ?? []
  return { ...row, fallback: rest.length > 0 ? rest : null }
}

/** The verification with one message more. */
function withMessage(row: VerificationRow, message: MessageRow, at: Date): VerificationRow {
  const sent = { id: message.id, channel: message.channel, sent_at: at.getTime() }
  const wait_ms = (row.options.fallback_after ?? LIMITS.verification_fallback_s) * 1000
  return {
    ...row,
    messages: [...(row.messages ?? []), sent],
    fallback_at: row.fallback === null ? null : new Date(at.getTime() + wait_ms),
    sent_at: [...row.sent_at, at.getTime()],
    message_id: message.id,
    credits_used: (row.credits_used + message.credits_used) as Units,
    updated_at: at,
  }
}

/** The end of a code that is sent again: `expires_in` seconds from now, but not beyond the longest life of a code. */
export function endWhenResent(
  { created_at }: Pick<VerificationRow, 'created_at'>,
  expires_in: number,
  at: Date,
): Date {
  const last_ms = created_at.getTime() + LIMITS.verification_lifetime_s * 1000
  return new Date(Math.min(last_ms, at.getTime() + expires_in * 1000))
}

/** From what the code of a pending verification is derived. */
export function sourceOf({ seed, code_length }: VerificationRow): CodeSource {
  if (seed === null) throw new Error('a verification that ended has no code')
  return { seed, length: code_length }
}

export function isPending({ status, expires_at }: VerificationRow, at: Date): boolean {
  return status === 'pending' && at < expires_at
}

/** The earliest time of the next message: 30 s after the first one, and twice as long after each further one. */
export function nextSendAt({ sent_at }: Pick<VerificationRow, 'sent_at'>): Date {
  const { verification_cooldown_s: first, verification_cooldown_max_s: max } = LIMITS
  const wait_s = Math.min(max, first * 2 ** Math.max(0, sent_at.length - 1))
  return new Date((sent_at.at(-1) ?? 0) + wait_s * 1000)
}

/** The owner's list of countries. An e-mail address has no country. */
function countryLimit(
  workspaceId: string,
  country: string | null,
  { limits }: CodeState,
): CodeRefusal | null {
  const countries = limits.get(workspaceId)?.countries
  if (!countries || country === null || countries.includes(country)) return null
  return { outcome: 'code_country', country, countries }
}

function creditLimit(message: MessageRow, state: CodeState): CodeRefusal | null {
  const limit = state.limits.get(message.workspace_id)?.daily_credits ?? null
  const spending = spendingWith(message, state)
  if (limit === null || spending === null || spending.spent <= limit) return null
  const required = message.credits_used
  return { outcome: 'code_credits', required, limit, spent: (spending.spent - required) as Units }
}

/** What the workspace spent on codes on the day (UTC) of a live message, with this message. Refunds do not reduce it. */
function spendingWith(
  { workspace_id, livemode, created_at, credits_used }: MessageRow,
  { spent }: CodeState,
): VerificationSpendingRow | null {
  if (!livemode) return null
  const day = Math.floor(created_at.getTime() / DAY_MS)
  const known = spent.get(workspace_id)
  // A clock that was set back must not begin the day again.
  if (known && known.day >= day) {
    return { ...known, spent: (known.spent + credits_used) as Units }
  }
  return { workspace_id, day, spent: credits_used }
}

/** A verification that ended without an approval does not shorten the wait. */
function cooldownOf(newest: VerificationRow, at: Date): CodeRefusal | null {
  const wait_ms = nextSendAt(newest).getTime() - at.getTime()
  if (wait_ms <= 0) return null
  return { outcome: 'code_limit', of: 'recipient', retry_after_s: Math.ceil(wait_ms / 1000) }
}

/** Limits the messages with codes to an address, from the times of those in the last day. */
function addressLimit(sent_at: readonly number[], at: Date): CodeRefusal | null {
  const sent = [...sent_at].sort((a, b) => b - a)
  const now = at.getTime()
  for (const [max, window_ms] of [
    [LIMITS.verification_sends_per_hour, HOUR_MS],
    [LIMITS.verification_sends_per_day, DAY_MS],
  ] as const) {
    const oldest = sent[max - 1]
    if (oldest === undefined || oldest <= now - window_ms) continue
    const retry_after_s = Math.ceil((oldest + window_ms - now) / 1000)
    return { outcome: 'code_limit', of: 'recipient', retry_after_s }
  }
  return null
}

function sendsOf({ sent_at }: Pick<VerificationRow, 'sent_at'>): number[] {
  return sent_at
}

/** The times of messages with codes to the address of a message, also as the second address of a verification. */
function sendsTo(asked: VerificationRow, message: MessageRow, state: CodeState): number[] {
  const { key, is_second } = addressOf(asked, message.channel)
  const isMail = message.channel === 'email'
  const firsts = (is_second ? state.firsts : state.recent).get(key) ?? []
  const asSecond = (state.seconds.get(key) ?? []).flatMap(({ messages }) => messages ?? [])
  return [
    ...firsts.flatMap(sendsOf),
    ...asSecond.filter(({ channel }) => (channel === 'email') === isMail).map((one) => one.sent_at),
  ]
}

function networkLimit({ started }: CodeState, network: string): CodeRefusal | null {
  if ((started.get(network) ?? 0) < LIMITS.verifications_per_network) return null
  return { outcome: 'code_limit', of: 'network', retry_after_s: HOUR_MS / 1000 }
}

function pauseOf(
  country: string,
  { counts, pauses }: CodeState,
  key: string,
  at: Date,
): CodeRefusal | null {
  const pause = pauses.get(key)
  if (pause?.allowed_until && at < pause.allowed_until) return null
  const counted = counts.get(key) ?? []
  const tally = failingTally(pause, counted, at)
  if (tally === null) return null
  const ends_at = endOfFailure(pause, counted, at)
  const isAnnounced = pause?.allowed_until === null && isRecent(pause, at)
  return { outcome: 'country_paused', country, counts: isAnnounced ? null : tally, ends_at }
}

/**
 * The time at which a noted pause ends without an approval; null: it refuses no codes any more. `counts`: those of its country,
 * since `codeWindows(at).counts`.
 */
export function endOfPause(
  pause: Pick<VerificationPauseRow, 'allowed_until'>,
  counts: readonly VerificationCountRow[],
  at: Date,
): Date | null {
  if (pause.allowed_until && at < pause.allowed_until) return null
  const end = endOfFailure(pause, counts, at)
  return end > at ? end : null
}

/** The first whole hour in which enough of the messages without an approval are forgotten; `at` if they are already. */
function endOfFailure(
  pause: Pick<VerificationPauseRow, 'allowed_until'> | undefined,
  counts: readonly VerificationCountRow[],
  at: Date,
): Date {
  let end = at
  while (failingTally(pause, counts, end) !== null) {
    end = new Date((Math.floor(end.getTime() / HOUR_MS) + 1) * HOUR_MS)
  }
  return end
}

/** The counts of a window with too few approvals; null: none. */
function failingTally(
  pause: Pick<VerificationPauseRow, 'allowed_until'> | undefined,
  counts: readonly VerificationCountRow[],
  at: Date,
): Tally | null {
  // What was counted while an operator allowed the country is forgotten.
  const since = pause?.allowed_until?.getTime() ?? 0
  for (const window_ms of [HOUR_MS, DAY_MS]) {
    const from = at.getTime() - window_ms - HOUR_MS
    const tally = tallyOf(
      counts.filter(({ hour }) => hour.getTime() > from && hour.getTime() >= since),
    )
    const unapproved = tally.sent - tally.approved
    if (unapproved >= FREE + tally.approved * UNAPPROVED_PER_APPROVAL) return tally
  }
  return null
}

/** Whether a pause was announced in the last day. */
export function isRecent(
  { paused_at }: Pick<VerificationPauseRow, 'paused_at'>,
  at: Date,
): boolean {
  return at.getTime() - paused_at.getTime() < DAY_MS
}

function tallyOf(counts: readonly VerificationCountRow[]): Tally {
  const tally = { sent: 0, approved: 0 }
  for (const { sent, approved } of counts) {
    tally.sent += sent
    tally.approved += approved
  }
  return tally
}

/** The change of the counts; null for a test, and for an e-mail address, which has no country. */
function countOf(
  { workspace_id, country, livemode }: VerificationRow,
  message: Pick<MessageRow, 'credits_used'> | null,
  tally: Tally,
  at: Date,
): VerificationCountRow | null {
  if (!livemode || country === null) return null
  const { hour } = countedAt(at)
  const credits_used = message?.credits_used ?? (0 as Units)
  return { workspace_id, country, hour, ...tally, credits_used }
}

/** The hour in which a message with a code is counted, and the earliest time at which its verification began. */
export function countedAt(created_at: Date): { hour: Date; since: Date } {
  const hour = new Date(Math.floor(created_at.getTime() / HOUR_MS) * HOUR_MS)
  return { hour, since: new Date(created_at.getTime() - LIMITS.verification_lifetime_s * 1000) }
}

/** The counts of a country with one more. */
export function withCount(
  counts: readonly VerificationCountRow[],
  added: VerificationCountRow,
): VerificationCountRow[] {
  const isSame = ({ hour }: VerificationCountRow) => hour.getTime() === added.hour.getTime()
  return [...counts.filter((one) => !isSame(one)), addedCount(counts.find(isSame), added)]
}

/** Two counts of a country in an hour together. */
export function addedCount(
  a: VerificationCountRow | undefined,
  b: VerificationCountRow,
): VerificationCountRow {
  if (!a) return b
  const credits_used = (a.credits_used + b.credits_used) as Units
  return { ...b, sent: a.sent + b.sent, approved: a.approved + b.approved, credits_used }
}

/** The time from which counts, verifications of a network and of an address decide about a request. */
export function codeWindows(at: Date): { counts: Date; network: Date; recent: Date } {
  const ago = (ms: number) => new Date(at.getTime() - ms)
  return { counts: ago(DAY_MS + HOUR_MS), network: ago(HOUR_MS), recent: ago(DAY_MS) }
}

/** A verification that ends: its code is not right any more. */
export function ended(
  row: VerificationRow,
  status: Exclude<VerificationRow['status'], 'pending'>,
  at: Date,
): VerificationRow {
  return { ...row, status, seed: null, updated_at: at, ended_at: at }
}

export interface Checked {
  /** The status for the answer; `used`: the code was approved before. */
  status: VerificationRow['status'] | 'used'
  /** The verification as it is stored from now on; null: unchanged. */
  changed: VerificationRow | null
  count: VerificationCountRow | null
}

/**
 * Decides about a given code. One approval ends the verification, and each wrong code counts, so that parallel guesses
 * never get more than `LIMITS.verification_attempts`.
 */
export function decideCheck(row: VerificationRow, isRight: boolean, at: Date): Checked {
  const unchanged = { changed: null, count: null }
  if (row.status === 'approved') return { status: 'used', ...unchanged }
  if (row.status !== 'pending') return { status: row.status, ...unchanged }
  if (!isPending(row, at)) {
    return { status: 'expired', changed: ended(row, 'expired', at), count: null }
  }
  if (isRight) {
    const count = countOf(row, null, { sent: 0, approved: 1 }, at)
    return { status: 'approved', changed: ended(row, 'approved', at), count }
  }
  const counted = { ...row, attempts: row.attempts + 1, updated_at: at }
  if (attemptsLeft(counted) > 0) return { status: 'pending', changed: counted, count: null }
  return { status: 'max_attempts', changed: ended(counted, 'max_attempts', at), count: null }
}

export function attemptsLeft({ status, attempts }: Pick<VerificationRow, 'status' | 'attempts'>) {
  return status === 'pending' ? Math.max(0, LIMITS.verification_attempts - attempts) : 0
}
