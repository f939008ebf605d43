import type {
  DkimKey,
  JobRecipient,
  LookupJob,
  MessageRef,
  Outcome,
  SendJob,
} from '../contract/outside/provider.ts'
import type { Content, VoiceContent } from '../contract/resources/content.ts'
import { hasUnsubscribeUrl, withUnsubscribeUrl } from '../contract/signing/unsubscribe-url.ts'
import { fromAddressOf } from '../domains/from-rule.ts'
import type { SigningKey, SigningKeys } from '../domains/signing-keys.ts'
import type { Incoming } from '../inbound/inbound.ts'
import { SANDBOX } from '../providers/installed.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import { heldMinutes } from '../rules/money.ts'
import { isDue } from '../rules/recipients.ts'
import type { Log } from '../runtime/runtime.ts'
import { codeOf, codeSourceOf, withCode, withoutQuotes } from '../secrets/codes.ts'
import type { InFlight } from './in-flight.ts'
import { uptimeMs } from './lane.ts'
import type { MailFiles } from './mail-files.ts'
import {
  FILE_MISSING,
  isNotAccepted,
  NOT_CALLED,
  repliesIn,
  reportAttempts,
  type SendResult,
  type SettleParts,
  senderOf,
  sendResult,
  settleMessages,
  UNANSWERED,
  UNAVAILABLE,
  UNVERIFIED,
} from './message-results.ts'
import type { Performer } from './performer.ts'
import type { Routing } from './routing.ts'

export interface CallParts extends SettleParts {
  performer: Performer
  inFlight: InFlight
  files: MailFiles
  /** The keys of sending domains; null if no mail has an address of its own. */
  signing: SigningKeys | null
  /** Stores the replies of recipients. */
  receive: (provider: string, incoming: readonly Incoming[]) => Promise<void>
  /** The key of one-time codes. */
  codeKey: () => Promise<string>
  /** The link with which the recipient of a message unsubscribes; absent: e-mails have none in their texts. */
  unsubscribeUrl?: ((ref: MessageRef) => string) | undefined
  lease_ms: number
  call_max_ms: number
}

const UNREADABLE: Outcome = {
  type: 'retry',
  error_code: 'sender_key_unreadable',
  error_message: 'The DKIM key of the sending domain cannot be decrypted',
  delay_ms: null,
}

/**
 * Sends a batch through a provider and stores its outcomes. The provider is not called after `start_by_ms`. Calls `storing`
 * when the outcomes are handed to the storage.
 */
export async function sendBatch(
  parts: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
  start_by_ms: number,
  storing: () => void = () => {},
): Promise<void> {
  const { runtime, routing, inFlight, tracing, call_max_ms } = parts
  const end = inFlight.began(provider, messages.length)
  const began_at = runtime.now()
  const began = performance.now()
  const outcomes = await callProvider(() => sendJobs(parts, provider, messages, start_by_ms), {
    call_max_ms,
    log: runtime.log,
    onLate: (late) => settleLate(parts, provider, messages, late),
  })
  end(outcomes === null ? messages.length : outcomes.filter(isUnanswered).length)
  const took = { began_at, duration_ms: performance.now() - began }
  const results = messages.map((message, i) =>
    sendResult(routing, message, outcomes?.[i] ?? UNANSWERED),
  )
  const links = reportAttempts({ runtime, tracing }, provider, messages, results, took)
  await noteOutcomes(parts, provider, results)
  const stored = settleMessages(parts, messages, results, links)
  storing()
  await stored
}

/** Returns the outcome of each message; the provider gets only those that may be sent now. */
async function sendJobs(
  parts: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
  start_by_ms: number,
): Promise<Outcome[]> {
  const { routing, performer } = parts
  const signed = await signJobs(parts, provider, messages)
  // The time is checked here too: while the performer loads, a lease may end and the lane may claim the message again.
  if (signed === null || uptimeMs() > start_by_ms) return messages.map(() => NOT_CALLED)
  const outcomes = signed.map(({ job, outcome }) =>
    routing.isStopped(provider, job.sender) ? NOT_CALLED : outcome,
  )
  const jobs = signed.flatMap(({ job }, i) => (outcomes[i] === null ? [job] : []))
  const sent = jobs.length === 0 ? [] : await performer.send(provider, jobs, start_by_ms)
  if (sent === null) return messages.map(() => NOT_CALLED)
  const answers = sent[Symbol.iterator]()
  const hasCodes = messages.some(({ content }) => codeSourceOf(content) !== null)
  const key = hasCodes ? await parts.codeKey() : null
  return outcomes.map((outcome, i) => {
    const answer = outcome ?? answers.next().value ?? UNANSWERED
    const source = key === null ? null : codeSourceOf((messages[i] as ClaimedMessage).content)
    return key === null || source === null ? answer : withoutQuotes(answer, codeOf(key, source))
  })
}

function isUnanswered(outcome: Outcome): boolean {
  return outcome.type === 'ambiguous' && !outcome.answered
}

/**
 * Sends a message with stored files. One large mail is loaded and sent after another, so that their files are not all in
 * memory at once.
 */
export async function sendWithFiles(
  parts: CallParts,
  provider: string,
  message: ClaimedMessage,
  start_by_ms: number,
): Promise<void> {
  const { files, routing } = parts
  const release = await files.reserve(message, start_by_ms - uptimeMs())
  if (!release) return sendBatch(parts, provider, [message], NEVER)
  try {
    const content = await loadFiles(parts, message)
    if (content === 'missing') {
      await settleMessages(parts, [message], [sendResult(routing, message, FILE_MISSING)])
    } else if (content === 'not_read') await sendBatch(parts, provider, [message], NEVER)
    else await sendBatch(parts, provider, [{ ...message, content }], start_by_ms)
  } finally {
    release()
  }
}

async function loadFiles(
  { files, runtime }: CallParts,
  message: ClaimedMessage,
): Promise<Content | 'missing' | 'not_read'> {
  const { workspace_id, message_id } = message
  try {
    const content = await files.load(message)
    if (content !== null) return content
    runtime.log.error({ workspace_id, message_id }, 'a file of a message is missing')
    return 'missing'
  } catch (error) {
    runtime.log.warn(
      { err: error, workspace_id, message_id },
      'the files of a message were not read',
    )
    return 'not_read'
  }
}

/** Before any call may start: the provider is not called. */
const NEVER = 0

/** A job with its key. A job with an outcome is not sent. */
interface SignedJob {
  job: SendJob
  outcome: Outcome | null
}

/**
 * Gives each job with a sender address of its own the key of its domain. Only a provider that signs gets keys. A domain may
 * have been removed since the message was accepted; then no mail leaves the service. Returns null if the jobs could not be
 * made, for example because the database did not answer.
 */
async function signJobs(
  { runtime, routing, signing, codeKey, unsubscribeUrl }: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
): Promise<SignedJob[] | null> {
  const { signs = false } = routing.traits.get(provider) ?? {}
  const known = new Map<string, Promise<SigningKey>>()
  const keyOf = (keys: SigningKeys, workspaceId: string, address: string) => {
    const place = `${workspaceId} ${address.slice(address.indexOf('@') + 1)}`
    const key = known.get(place) ?? keys.of(workspaceId, address)
    known.set(place, key)
    return key
  }
  try {
    const hasCodes = messages.some(({ content }) => codeSourceOf(content) !== null)
    const key = hasCodes ? await codeKey() : null
    const jobs = messages.map((message) =>
      withLink(sendJob(routing, key === null ? message : filledIn(message, key)), unsubscribeUrl),
    )
    if (signing === null || provider === SANDBOX.name) {
      return jobs.map((job) => ({ job, outcome: null }))
    }
    return await Promise.all(
      jobs.map(async (job) => {
        const address = fromAddressOf(job)
        if (address === null) return { job, outcome: null }
        return signedJob(job, await keyOf(signing, job.workspace_id, address), signs)
      }),
    )
  } catch (error) {
    runtime.log.warn({ err: error, provider }, 'a key of the service was not read')
    return null
  }
}

function signedJob(job: SendJob, key: SigningKey, signs: boolean): SignedJob {
  if (key === 'unverified') return { job, outcome: UNVERIFIED }
  if (!signs) return { job, outcome: null }
  if (key === 'unreadable') return { job, outcome: UNREADABLE }
  return { job: { ...job, dkim: key satisfies DkimKey }, outcome: null }
}

/** The job of an e-mail whose texts show its unsubscribe link. */
function withLink(job: SendJob, urlOf: CallParts['unsubscribeUrl']): SendJob {
  if (job.channel !== 'email' || !urlOf || !hasUnsubscribeUrl(job.content)) return job
  return { ...job, content: withUnsubscribeUrl(job.content, urlOf(job)) }
}

/** The message with its one-time code in place of the mask. */
function filledIn(message: ClaimedMessage, key: string): ClaimedMessage {
  const source = codeSourceOf(message.content)
  if (source === null) return message
  const content = withCode(message.content, codeOf(key, source), message.channel)
  return { ...message, content }
}

function sendJob(routing: Routing, message: ClaimedMessage): SendJob {
  const { workspace_id, message_id, channel, recipient, content, attempt } = message
  return {
    workspace_id,
    message_id,
    channel,
    sender: senderOf(routing, message),
    recipient,
    ...(message.recipients && { recipients: message.recipients.map(jobRecipient(message)) }),
    content,
    attempt,
    created_at_ms: message.created_at.getTime(),
    // A call must not cost more than the credits held for it.
    max_duration_s: channel === 'voice' ? heldMinutes(content as VoiceContent) * 60 : null,
  }
}

function jobRecipient({ left_out }: ClaimedMessage): (one: StoredRecipient) => JobRecipient {
  return (one) => {
    const { address, role } = one
    return { address, role, is_due: isDue(one) && !left_out.includes(address) }
  }
}

function lookupJob(
  routing: Routing,
  message: ClaimedMessage,
  { now, lease_ms }: { now: Date; lease_ms: number },
): LookupJob {
  const { provider_message_id, unknown_since } = message
  return {
    ...sendJob(routing, message),
    provider_message_id,
    attempted_at_ms: attemptedAtMs(message, lease_ms),
    ...(unknown_since && { unknown_since_ms: unknown_since.getTime() }),
    now_ms: now.getTime(),
  }
}

/** The start of the attempt, or up to one lease earlier: with an unknown outcome, the exact start is not recorded. */
function attemptedAtMs(
  { sent_at, unknown_since, created_at }: ClaimedMessage,
  lease_ms: number,
): number {
  if (sent_at) return sent_at.getTime()
  return unknown_since ? unknown_since.getTime() - lease_ms : created_at.getTime()
}

/** An error here must not prevent the storing of the outcomes. */
async function noteOutcomes(
  { runtime, routing }: CallParts,
  provider: string,
  results: readonly SendResult[],
): Promise<void> {
  try {
    await routing.noteOutcomes(provider, results)
  } catch (error) {
    runtime.log.warn({ err: error, provider }, 'the state of a provider was not stored')
  }
}

/** A late outcome counts if it is still true after the claim was lost: the provider accepted the message, or did not. */
async function settleLate(
  parts: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const known = messages.flatMap((message, i) => {
    const outcome = outcomes[i]
    if (!outcome) return []
    return outcome.type === 'accepted' || isNotAccepted(outcome) ? [{ message, outcome }] : []
  })
  const isAnswer = (one: Outcome) =>
    one.type === 'accepted' || (one.type === 'rejected' && one !== UNVERIFIED)
  if (outcomes.some(isAnswer)) parts.routing.noteAnswer(provider)
  await settleMessages(
    parts,
    known.map(({ message }) => message),
    known.map(({ message, outcome }) => sendResult(parts.routing, message, outcome)),
  )
}

/** Looks up a batch with its provider and stores the results. */
export async function lookUpBatch(
  parts: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
): Promise<void> {
  const { runtime, routing, performer, inFlight, lease_ms, call_max_ms } = parts
  const time = { now: runtime.now(), lease_ms }
  const jobs = messages.map((message) => lookupJob(routing, message, time))
  const end = inFlight.began(provider, messages.length)
  const found = await callProvider(() => performer.lookup(provider, jobs), {
    call_max_ms,
    log: runtime.log,
  })
  end()
  const answers = messages.map((_, i) => found?.[i] ?? UNAVAILABLE)
  const hasCodes = messages.some(({ content }) => codeSourceOf(content) !== null)
  const key = hasCodes ? await parts.codeKey() : null
  const results = answers.map((answer, i): (typeof answers)[number] => {
    const source = key === null ? null : codeSourceOf((messages[i] as ClaimedMessage).content)
    if (key === null || source === null || answer.type !== 'found') return answer
    const receipts = answer.receipts.map((one) => withoutQuotes(one, codeOf(key, source)))
    return { ...answer, receipts }
  })
  for (const { type } of results) {
    if (type !== 'not_begun') runtime.telemetry?.lookedUp(provider, type)
  }
  // A provider whose look-ups work may still take no message, so a message that it took before shows nothing.
  const isDoubtful = (i: number) => messages[i]?.unknown_since != null
  if (results.some(({ type }, i) => type === 'found' && isDoubtful(i))) {
    routing.noteAnswer(provider)
  }
  // Replies are stored before the look-up is settled: a lost look-up is repeated, and a repeated reply is ignored.
  const replies = repliesIn(routing, messages, results)
  if (replies.length > 0) await parts.receive(provider, replies)
  await settleMessages(
    parts,
    messages,
    results.map((found) => ({ task: 'lookup', found })),
  )
}

/**
 * Returns null after `call_max_ms` or after an error, because a provider that never answers must not hold its messages
 * forever. `onLate` receives results that arrive later.
 */
async function callProvider<T>(
  call: () => Promise<T[]>,
  {
    call_max_ms,
    log,
    onLate,
  }: { call_max_ms: number; log: Log; onLate?: (results: T[]) => Promise<void> },
): Promise<T[] | null> {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => {
      isOver = true
      resolve(null)
    }, call_max_ms)
  })
  const answer = call()
  answer
    .then((results) => (isOver ? onLate?.(results) : undefined))
    .catch((error) => isOver && log.error({ err: error }, 'a late answer of a provider was lost'))
  try {
    return await Promise.race([answer, timeout])
  } catch (error) {
    log.error({ err: error }, 'a provider call failed')
    return null
  } finally {
    clearTimeout(timer)
  }
}
