import type { LookupResult, Outcome, Reply, SendJob } from '../contract/outside/provider.ts'
import type { VoiceContent } from '../contract/resources/content.ts'
import type { Incoming } from '../inbound/inbound.ts'
import { SANDBOX } from '../providers/registry.ts'
import type { ClaimedMessage, Route, Routed } from '../rules/claim.ts'
import type { Settlement } from '../rules/settlement.ts'
import { heldMinutes } from '../rules/voice-minutes.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Link, Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { createInFlight } from './in-flight.ts'
import type { Lane } from './lane.ts'
import type { Performer } from './performer.ts'
import { persist } from './persist.ts'
import { logAttempt, reportAttempts } from './report-attempts.ts'
import type { Routing } from './routing.ts'
import { uptimeMs } from './uptime.ts'

/** Longer than any call to a provider may take: who does not answer within it is taken for dead. */
const LEASE_MS = 60_000
const CALL_MAX_MS = 30_000

const SLOTS = 1024
const CALL_BATCH_MAX = 64

/** One call's worth: a larger claim holds the writer of a SQLite file for longer, and callers wait for that. */
const CLAIM_MAX = CALL_BATCH_MAX

/** So many of the slots are one provider's at the most, while it is slow. */
const SLOW_MAX = 384

/** Messages on their way to a provider, and questions about those that are there. */
export function messageLane(parts: {
  storage: Storage
  runtime: Runtime
  performer: Performer
  routing: Routing
  /** Takes in what recipients wrote back. */
  receive: (provider: string, incoming: readonly Incoming[]) => Promise<void>
  /** Told when deliveries may have been queued. */
  onSettled: () => void
  tracing: Tracing | null
  /** How long a claim is its claimant's; a call is waited for half as long at the most. */
  lease_ms?: number | undefined
}): Lane<ClaimedMessage> {
  const { storage, runtime, performer, routing, receive, onSettled, tracing } = parts
  const { lease_ms = LEASE_MS } = parts
  const call_max_ms = Math.min(CALL_MAX_MS, lease_ms / 2)
  const inFlight = createInFlight({ max: SLOW_MAX, elapsed: runtime.elapsed })

  /** Sends go where the claim routed them, as it journalled it; questions to whoever has the message. */
  function carrierOf({ task, route, provider }: ClaimedMessage): string {
    return (task === 'send' ? route?.provider : null) ?? provider ?? SANDBOX.name
  }

  function senderOf(message: ClaimedMessage): string | null {
    return routing.senderOf(carrierOf(message), message)
  }

  function jobOf(message: ClaimedMessage): SendJob {
    const { workspace_id, message_id, channel, recipient, content, attempt } = message
    const sender = senderOf(message)
    const created_at_ms = message.created_at.getTime()
    const job = { workspace_id, message_id, channel, sender, recipient, content, attempt }
    return { ...job, created_at_ms, max_duration_s: maxDurationOf(message) }
  }

  async function settle(
    message: ClaimedMessage,
    result: Settlement['result'],
  ): Promise<Settlement> {
    const provider = carrierOf(message)
    return {
      workspace_id: message.workspace_id,
      message_id: message.message_id,
      token: isHeld(message) ? null : message.token,
      provider,
      abilities: routing.abilitiesOf(provider),
      result,
      at: runtime.now(),
    }
  }

  async function write(
    messages: readonly ClaimedMessage[],
    results: Settlement['result'][],
    learned: Link[] = [],
  ) {
    const settlements = await Promise.all(
      messages.map((message, i) => settle(message, results[i] as Settlement['result'])),
    )
    const store = () => persist(settlements, storage.hot.settle, runtime.log)
    await (tracing ? tracing.settle(settlements.length, learned, store) : store())
    for (const [i, message] of messages.entries()) logAttempt(runtime, message, results[i])
    onSettled()
  }

  async function send(
    provider: string,
    messages: readonly ClaimedMessage[],
    start_by_ms: number,
  ): Promise<void> {
    const ended = inFlight.began(provider, messages.length)
    const began_at = runtime.now()
    const began = performance.now()
    const outcomes = await callProvider(
      async () => {
        // Looked at here too: while a performer loads, the lane may claim again what it has lost.
        const isLate = uptimeMs() > start_by_ms
        const jobs = messages.map(jobOf)
        const outcomes = isLate ? null : await performer.send(provider, jobs, start_by_ms)
        return outcomes ?? messages.map(() => NOT_CALLED)
      },
      (late) => settleLate(messages, late),
    ).finally(ended)
    const took = { began_at, duration_ms: performance.now() - began }
    const results = messages.map((message, i) => sent(message, outcomes?.[i] ?? UNANSWERED))
    const spans = reportAttempts({ runtime, tracing }, provider, messages, results, took)
    await learn(provider, results)
    await write(messages, results, spans)
  }

  /** What was learned must be written whether or not anything can be learned from it. */
  async function learn(
    provider: string,
    answers: readonly { sender: string | null; outcome: Outcome }[],
  ): Promise<void> {
    try {
      await routing.learn(provider, answers)
    } catch (error) {
      runtime.log.warn({ err: error, provider }, 'the state of a provider was not written')
    }
  }

  /**
   * Settles a late answer. That a provider accepted a message, or was never called, stays true after the claim was lost.
   */
  async function settleLate(messages: readonly ClaimedMessage[], outcomes: readonly Outcome[]) {
    const known = messages.flatMap((message, i) => {
      const outcome = outcomes[i]
      return outcome?.type === 'accepted' || outcome === NOT_CALLED ? [{ message, outcome }] : []
    })
    await write(
      known.map(({ message }) => message),
      known.map(({ message, outcome }) => sent(message, outcome)),
    )
  }

  function sent(message: ClaimedMessage, outcome: Outcome) {
    const { attempt, unknown_since } = message
    // Where an attempt before this one is in doubt, the message stays in doubt.
    const never_called = outcome === NOT_CALLED && unknown_since === null
    const result = { task: 'send' as const, attempt, outcome, sender: senderOf(message) }
    return never_called ? { ...result, never_called } : result
  }

  async function lookUp(provider: string, messages: readonly ClaimedMessage[]): Promise<void> {
    const now_ms = runtime.now().getTime()
    const jobs = messages.map((message) => ({
      ...jobOf(message),
      provider_message_id: message.provider_message_id,
      attempted_at_ms: attemptedAt(message).getTime(),
      ...(message.unknown_since && { unknown_since_ms: message.unknown_since.getTime() }),
      now_ms,
    }))
    const ended = inFlight.began(provider, messages.length)
    const found = await callProvider(() => performer.lookup(provider, jobs)).finally(ended)
    for (const one of found ?? messages.map(() => UNAVAILABLE)) {
      runtime.telemetry?.lookedUp(provider, one.type)
    }
    // Before the look-up is done with: one that is lost is repeated, and the same reply is not taken twice.
    await takeReplies(provider, messages, found ?? [])
    await write(
      messages,
      messages.map((_, i) => ({ task: 'lookup', found: found?.[i] ?? UNAVAILABLE })),
    )
  }

  /** When the attempt began, or a little before: what is not known of an unknown one is when within its lease. */
  function attemptedAt({ sent_at, unknown_since, created_at }: ClaimedMessage): Date {
    if (sent_at) return sent_at
    return unknown_since ? new Date(unknown_since.getTime() - lease_ms) : created_at
  }

  async function takeReplies(
    provider: string,
    messages: readonly ClaimedMessage[],
    found: readonly LookupResult[],
  ): Promise<void> {
    const incoming = messages.flatMap((message, i): Incoming[] => {
      const result = found[i]
      return result?.type === 'found' ? result.replies.map((reply) => replyOf(message, reply)) : []
    })
    if (incoming.length > 0) await receive(provider, incoming)
  }

  /** What somebody wrote back to a message of ours. */
  function replyOf(message: ClaimedMessage, { provider_message_id, text }: Reply): Incoming {
    const { workspace_id, livemode, channel, recipient: sender } = message
    const recipient = senderOf(message) ?? carrierOf(message)
    const about = { workspace_id, livemode }
    const content = { text, media: [] }
    return { type: 'received', channel, provider_message_id, sender, recipient, content, about }
  }

  /** What needs no provider to be answered. */
  function foregone(message: ClaimedMessage): Settlement['result'] | null {
    if (message.task !== 'send') {
      const isFull = inFlight.isFull(carrierOf(message))
      return isFull ? { task: 'lookup', found: UNAVAILABLE } : null
    }
    const { attempt } = message
    if (message.interrupted) {
      return { task: 'send', attempt, outcome: INTERRUPTED, sender: senderOf(message) }
    }
    if (message.status !== 'queued') return { task: 'lookup', found: NOTHING_MORE }
    if (message.suppressed) return { task: 'suppressed' }
    if (message.route?.provider === null) {
      const { wait_ms, error_message } = message.route
      return { task: 'postponed', wait_ms, error_message }
    }
    if (message.expires_at && message.expires_at <= runtime.now()) {
      return { task: 'send', attempt, outcome: EXPIRED }
    }
    return null
  }

  /** A peer that neither answers nor fails must not hold its messages for ever. */
  async function callProvider<T>(
    call: () => Promise<T[]>,
    onLate: (results: T[]) => Promise<void> = async () => {},
  ): Promise<T[] | null> {
    let timer: NodeJS.Timeout | undefined
    let gaveUp = false
    const timeout = new Promise<null>((resolve) => {
      timer = setTimeout(() => {
        gaveUp = true
        resolve(null)
      }, call_max_ms)
    })
    const answer = call()
    answer
      .then((results) => (gaveUp ? onLate(results) : undefined))
      .catch((error) => gaveUp && runtime.log.error({ err: error }, 'a late answer was lost'))
    try {
      return await Promise.race([answer, timeout])
    } catch (error) {
      runtime.log.error({ err: error }, 'a provider call was lost')
      return null
    } finally {
      clearTimeout(timer)
    }
  }

  /** Routes what one claim takes: what it has given somebody is not under way yet. */
  function router(): (message: Routed) => Route {
    const given = new Map<string, number>()
    const isBusy = (provider: string) => inFlight.isFull(provider, given.get(provider))
    return (message) => {
      const route = routing.route(message, isBusy)
      if (route.provider !== null) {
        given.set(route.provider, (given.get(route.provider) ?? 0) + 1)
      }
      return route
    }
  }

  return {
    name: 'messages',
    slots: SLOTS,
    batch: CLAIM_MAX,
    claim: (limit) =>
      storage.hot.claimMessages({
        now: runtime.now(),
        elapsed_ms: runtime.elapsed(),
        limit,
        lease_ms,
        token: runtime.id(),
        route: router(),
      }),
    async run(messages, done, _look, claimed_ms) {
      // A call that begins by then ends within the lease.
      const start_by_ms = claimed_ms + lease_ms - call_max_ms
      const known: ClaimedMessage[] = []
      const results: Settlement['result'][] = []
      const calls = new Map<string, ClaimedMessage[]>()
      for (const message of messages) {
        const result = foregone(message)
        if (result) {
          known.push(message)
          results.push(result)
          continue
        }
        const provider = carrierOf(message)
        const key = `${message.task} ${provider}`
        const group = calls.get(key)
        if (group) group.push(message)
        else calls.set(key, [message])
      }
      const work = [...calls].flatMap(([key, group]) => {
        const [task, provider = ''] = key.split(' ')
        const call = task === 'send' ? send : lookUp
        return chunks(group, CALL_BATCH_MAX).map((batch) =>
          call(provider, batch, start_by_ms).finally(() => done(batch.length)),
        )
      })
      if (known.length > 0) work.push(write(known, results).finally(() => done(known.length)))
      await Promise.all(work)
    },
  }
}

const UNANSWERED: Outcome = {
  type: 'ambiguous',
  error_code: 'no_answer',
  error_message: 'The provider did not answer',
}
const NOT_CALLED: Outcome = {
  type: 'retry',
  error_code: 'not_called',
  error_message: 'The service stood still for too long; the provider was not called',
  delay_ms: 0,
}
const INTERRUPTED: Outcome = {
  type: 'ambiguous',
  error_code: 'interrupted',
  error_message: 'The service stopped while the provider was being called',
}
const EXPIRED: Outcome = {
  type: 'rejected',
  error_code: 'expired',
  error_message: 'It was not sent before it expired',
}
const UNAVAILABLE: LookupResult = { type: 'unavailable' }
const NOTHING_MORE: LookupResult = {
  type: 'found',
  receipts: [],
  replies: [],
  lookup_after_ms: null,
}

/** A call may cost no more than what is held for it. */
function maxDurationOf({ channel, content }: ClaimedMessage): number | null {
  return channel === 'voice' ? heldMinutes(content as VoiceContent) * 60 : null
}

function isHeld({ suppressed, route }: ClaimedMessage): boolean {
  return suppressed || route?.provider === null
}

export function chunks<T>(items: readonly T[], size: number): T[][] {
  const all: T[][] = []
  for (let at = 0; at < items.length; at += size) all.push(items.slice(at, at + size))
  return all
}
