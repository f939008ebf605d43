import type { Outcome } from '../contract/outside/provider.ts'
import type { Content } from '../contract/resources/content.ts'
import type { SigningKeys } from '../domains/signing-keys.ts'
import type { Incoming } from '../inbound/inbound.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import type { Log } from '../runtime/runtime.ts'
import type { InFlight } from './in-flight.ts'
import { uptimeMs } from './lane.ts'
import type { MailFiles } from './mail-files.ts'
import {
  FILE_MISSING,
  isNotAccepted,
  lookupJob,
  NOT_CALLED,
  repliesIn,
  reportAttempts,
  type SendResult,
  type SettleParts,
  sendJob,
  sendResult,
  settleMessages,
  UNANSWERED,
  UNAVAILABLE,
} from './message-results.ts'
import type { Performer } from './performer.ts'
import { type SignedJob, sendSigned, signJobs } from './signed-jobs.ts'

export interface CallParts extends SettleParts {
  performer: Performer
  inFlight: InFlight
  files: MailFiles
  /** The keys of sending domains; null if no mail has an address of its own. */
  signing: SigningKeys | null
  /** Stores the replies of recipients. */
  receive: (provider: string, incoming: readonly Incoming[]) => Promise<void>
  lease_ms: number
  call_max_ms: number
}

/** Sends a batch through a provider and stores its outcomes. The provider is not called after `start_by_ms`. */
export async function sendBatch(
  parts: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
  start_by_ms: number,
): Promise<void> {
  const { runtime, routing, performer, inFlight, tracing, call_max_ms } = parts
  const end = inFlight.began(provider, messages.length)
  const isStopped = (i: number) => routing.isStopped(provider, messages[i] as ClaimedMessage)
  const began_at = runtime.now()
  const began = performance.now()
  const outcomes = await callProvider(
    async () => {
      const signed = await signBatch(parts, provider, messages)
      // The time is checked here too: while the performer loads, a lease may end and the lane may claim the message again.
      const isLate = signed === null || uptimeMs() > start_by_ms
      const outcomes = isLate
        ? null
        : await sendSigned(
            signed.map((one, i) => (isStopped(i) ? { outcome: NOT_CALLED } : one)),
            (jobs) => performer.send(provider, jobs, start_by_ms),
          )
      return messages.map((_, i) => (outcomes === null ? NOT_CALLED : (outcomes[i] ?? UNANSWERED)))
    },
    {
      call_max_ms,
      log: runtime.log,
      onLate: (late) => settleLate(parts, messages, late),
    },
  )
  end(outcomes === null ? messages.length : outcomes.filter(isUnanswered).length)
  const took = { began_at, duration_ms: performance.now() - began }
  const results = messages.map((message, i) =>
    sendResult(routing, message, outcomes?.[i] ?? UNANSWERED),
  )
  const links = reportAttempts({ runtime, tracing }, provider, messages, results, took)
  await noteOutcomes(parts, provider, results)
  await settleMessages(parts, messages, results, links)
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

/** Returns null if the jobs could not be made, for example because the database did not answer: no provider was called then. */
async function signBatch(
  { runtime, routing, signing }: CallParts,
  provider: string,
  messages: readonly ClaimedMessage[],
): Promise<SignedJob[] | null> {
  try {
    const jobs = messages.map((message) => sendJob(routing, message))
    return await signJobs(signing, { name: provider, signs: routing.signs(provider) }, jobs)
  } catch (error) {
    runtime.log.warn({ err: error, provider }, 'the keys of sending domains were not read')
    return null
  }
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
  messages: readonly ClaimedMessage[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const known = messages.flatMap((message, i) => {
    const outcome = outcomes[i]
    if (!outcome) return []
    return outcome.type === 'accepted' || isNotAccepted(outcome) ? [{ message, outcome }] : []
  })
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
  const results = messages.map((_, i) => found?.[i] ?? UNAVAILABLE)
  for (const { type } of results) runtime.telemetry?.lookedUp(provider, type)
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
