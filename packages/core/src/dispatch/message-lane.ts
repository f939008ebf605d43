import type { LookupResult, Outcome } from '../contract/outside/provider.ts'
import { SANDBOX } from '../providers/installed.ts'
import type { MessageRow } from '../rows/rows.ts'
import type { ClaimedMessage, Route, Routed } from '../rules/claim.ts'
import type { MessageClaim } from '../storage/ports/hot.ts'
import { createInFlight, type InFlight, type LoadParts } from './in-flight.ts'
import { batches, type Lane, uptimeMs } from './lane.ts'
import { createMailFiles, storedLength } from './mail-files.ts'
import { type CallParts, lookUpBatch, sendBatch, sendWithFiles } from './message-calls.ts'
import {
  NOT_BEGUN,
  providerOf,
  type Result,
  senderOf,
  sendResult,
  settleMessages,
  UNAVAILABLE,
} from './message-results.ts'
import type { Routing } from './routing.ts'

/** The lease is longer than any provider call. A process that has not settled a message within its lease counts as dead. */
const LEASE_MS = 60_000
const CALL_MAX_MS = 30_000

const SLOTS = 1024
const CALL_BATCH_MAX = 64

/** A claim is the batch of one call. A larger claim holds the writer of a SQLite file for longer, and requests wait for it. */
const CLAIM_MAX = CALL_BATCH_MAX

/** Maximum slots for one slow provider. */
const SLOW_MAX = 384

interface MessageLaneParts
  extends Omit<CallParts, 'inFlight' | 'files' | 'lease_ms' | 'call_max_ms'>,
    LoadParts {
  /** The length of a claim's lease; a provider call may take at most half of the lease. */
  lease_ms?: number | undefined
}

type NewRow = Pick<MessageRow, 'workspace_id' | 'bulk_id'>

/** Sends due messages and looks up messages whose result is not known. */
export function messageLane({
  lease_ms = LEASE_MS,
  ...others
}: MessageLaneParts): Lane<ClaimedMessage, MessageClaim, NewRow> {
  const { storage, runtime, routing } = others
  const call_max_ms = Math.min(CALL_MAX_MS, lease_ms / 2)
  const { connections, callsOf } = others
  const { elapsed } = runtime
  const inFlight = createInFlight({ max: SLOW_MAX, elapsed, connections, callsOf })
  const files = createMailFiles(storage.read)
  const parts: CallParts = { ...others, inFlight, files, lease_ms, call_max_ms }
  /** The number of messages of each provider in transactions that claim them as they queue them. */
  const offered = new Map<string, number>()
  const waiting = waitingSends(parts)
  const termsOf = (limit: number, route: MessageClaim['route']): MessageClaim => ({
    now: runtime.now(),
    elapsed_ms: runtime.elapsed(),
    limit,
    lease_ms,
    token: runtime.id(),
    route,
  })
  return {
    name: 'messages',
    slots: SLOTS,
    batch: CLAIM_MAX,
    workspaceOf: ({ workspace_id, bulk_id }) => (bulk_id === null ? workspace_id : null),
    claim: (limit, onLeft) =>
      storage.hot.claimMessages({
        ...termsOf(limit, claimRouter(routing, inFlight, new Map())),
        onLeft,
      }),
    offer(limit) {
      const route = claimRouter(routing, inFlight, offered)
      const providers: string[] = []
      const terms = termsOf(limit, (message) => {
        const chosen = route(message)
        if (chosen.provider !== null) providers.push(chosen.provider)
        return chosen
      })
      return {
        terms,
        end() {
          for (const name of providers) offered.set(name, (offered.get(name) ?? 0) - 1)
        },
      }
    },
    async run(messages, done, _look, claimed_ms, storing) {
      // A call that begins at or before this time ends within the lease.
      const start_by_ms = claimed_ms + lease_ms - call_max_ms
      const { settled, results, sends, lookups } = splitClaim(parts, messages)
      const work: Promise<void>[] = []
      for (const [provider, group] of sends) {
        const [large, rest] = partition(group, (one) => needsFiles(provider, one))
        for (const message of large) {
          const sent = sendWithFiles(parts, provider, message, start_by_ms)
          work.push(sent.finally(() => done(1)))
        }
        if (connections?.has(provider)) {
          work.push(waiting.add(provider, rest, { start_by_ms, done }))
          continue
        }
        for (const batch of batches(rest, CALL_BATCH_MAX)) {
          const { length } = batch
          const sent = sendBatch(parts, provider, batch, start_by_ms, () => storing(length))
          work.push(sent.finally(() => done(length)))
        }
      }
      for (const [provider, group] of lookups) {
        for (const batch of batches(group, CALL_BATCH_MAX)) {
          const found = lookUpBatch(parts, provider, batch)
          work.push(found.finally(() => done(batch.length)))
        }
      }
      if (settled.length > 0) {
        const written = settleMessages(parts, settled, results)
        work.push(written.finally(() => done(settled.length)))
      }
      await Promise.all(work)
    },
    stopping() {
      files.stop()
      waiting.giveBack()
    },
  }
}

/** The messages that wait until their provider can carry them, in order. */
interface WaitingSends {
  /** Sends the messages; resolves when each has a stored result. Calls `done` for each part that has one. */
  add(
    provider: string,
    messages: readonly ClaimedMessage[],
    rest: { start_by_ms: number; done: (count: number) => void },
  ): Promise<void>
  /** Returns the waiting messages to the queue, and lets no message wait any more. */
  giveBack(): void
}

interface WaitingSend {
  message: ClaimedMessage
  start_by_ms: number
  leave: () => void
  /** Ends with the storing of the message's result. */
  follow: (stored: Promise<void>) => void
}

/** The pause before the room of a provider is checked again if no call ends. */
const LOOK_MS = 500

/** A message returns to the queue after this wait in the lane: meanwhile nothing that happens to it is noticed. */
const WAIT_MAX_MS = 10_000

function waitingSends(parts: CallParts): WaitingSends {
  const { inFlight, runtime } = parts
  /** The `uptimeMs` at which the message expires: it is claimed again then, and ends. */
  const expiryOf = ({ expires_at }: ClaimedMessage) =>
    expires_at
      ? uptimeMs() + expires_at.getTime() - runtime.now().getTime()
      : Number.POSITIVE_INFINITY
  const queues = new Map<string, { sends: WaitingSend[]; timer: NodeJS.Timeout | null }>()
  let isStopping = false

  function begin(provider: string, sends: readonly WaitingSend[]): void {
    for (const { leave } of sends) leave()
    const start_by_ms = Math.min(...sends.map((one) => one.start_by_ms))
    const messages = sends.map(({ message }) => message)
    const stored = sendBatch(parts, provider, messages, start_by_ms)
    for (const { follow } of sends) follow(stored)
    stored.catch(() => {}).finally(() => pump(provider))
  }

  /** Returns messages to the queue; their provider was not called. */
  function requeue(sends: readonly WaitingSend[]): void {
    if (sends.length === 0) return
    for (const { leave } of sends) leave()
    const messages = sends.map(({ message }) => message)
    const results = messages.map((message) => sendResult(parts.routing, message, NOT_BEGUN))
    const stored = settleMessages(parts, messages, results)
    for (const { follow } of sends) follow(stored)
  }

  function pump(provider: string): void {
    const queue = queues.get(provider)
    if (!queue) return
    const now_ms = uptimeMs()
    const isLate = ({ start_by_ms }: WaitingSend) => isStopping || now_ms > start_by_ms
    const late = queue.sends.filter(isLate)
    if (late.length > 0) queue.sends = queue.sends.filter((one) => !isLate(one))
    requeue(late)
    const { sends } = queue
    for (;;) {
      const room = inFlight.roomOf(provider)
      const count = Math.min(sends.length, room.messages, room.batch)
      if (count === 0) break
      begin(provider, sends.splice(0, count))
    }
    if (sends.length === 0 || queue.timer) return
    queue.timer = setTimeout(() => {
      queue.timer = null
      pump(provider)
    }, LOOK_MS)
  }

  return {
    async add(provider, messages, { start_by_ms, done }) {
      const queue = queues.get(provider) ?? { sends: [], timer: null }
      queues.set(provider, queue)
      const work = messages.map(
        (message) =>
          new Promise<void>((resolve) => {
            queue.sends.push({
              message,
              start_by_ms: Math.min(start_by_ms, uptimeMs() + WAIT_MAX_MS, expiryOf(message)),
              leave: inFlight.waits(provider, 1),
              follow: (stored) => resolve(stored.finally(() => done(1))),
            })
          }),
      )
      pump(provider)
      await Promise.all(work)
    },
    giveBack() {
      isStopping = true
      for (const [provider, { timer }] of queues) {
        if (timer) clearTimeout(timer)
        pump(provider)
      }
    },
  }
}

/** Whether the call needs files that are stored apart. The sandbox reads no file. */
function needsFiles(provider: string, { content }: ClaimedMessage): boolean {
  return provider !== SANDBOX.name && storedLength(content) > 0
}

function partition<T>(items: readonly T[], is: (item: T) => boolean): [T[], T[]] {
  const parts: [T[], T[]] = [[], []]
  for (const item of items) parts[is(item) ? 0 : 1].push(item)
  return parts
}

/** Routes the messages of one claim. `routed` counts the messages of each provider, which count as in flight. */
function claimRouter(
  routing: Routing,
  inFlight: InFlight,
  routed: Map<string, number>,
): (message: Routed) => Route {
  const load = { inFlight, routed }
  return (message) => {
    const route = routing.route(message, load)
    if (route.provider !== null) {
      routed.set(route.provider, (routed.get(route.provider) ?? 0) + 1)
    }
    return route
  }
}

interface SplitClaim {
  /** Messages for which no provider is called, and their results. */
  settled: ClaimedMessage[]
  results: Result[]
  /** The messages to send, indexed by provider. */
  sends: Map<string, ClaimedMessage[]>
  lookups: Map<string, ClaimedMessage[]>
}

function splitClaim(parts: CallParts, messages: readonly ClaimedMessage[]): SplitClaim {
  const split: SplitClaim = { settled: [], results: [], sends: new Map(), lookups: new Map() }
  for (const message of messages) {
    const result = resultWithoutCall(parts, message)
    if (result) {
      split.settled.push(message)
      split.results.push(result)
      continue
    }
    const groups = message.task === 'send' ? split.sends : split.lookups
    const provider = providerOf(message)
    const group = groups.get(provider)
    if (group) group.push(message)
    else groups.set(provider, [message])
  }
  return split
}

const INTERRUPTED: Outcome = {
  type: 'ambiguous',
  error_code: 'interrupted',
  error_message: 'The service stopped while the provider was being called',
}
const EXPIRED: Outcome = {
  type: 'rejected',
  error_code: 'expired',
  error_message: 'The message was not sent before it expired',
}
const NOTHING_MORE: LookupResult = {
  type: 'found',
  receipts: [],
  replies: [],
  lookup_after_ms: null,
}

/** The result of a message for which no provider is called now; null if a provider must be called. */
function resultWithoutCall(
  { routing, inFlight, runtime }: CallParts,
  message: ClaimedMessage,
): Result | null {
  const { task, attempt, route, expires_at } = message
  if (task !== 'send') {
    const isFull = inFlight.isFull(providerOf(message))
    return isFull ? { task: 'lookup', found: UNAVAILABLE } : null
  }
  if (message.interrupted) {
    return { task: 'send', attempt, outcome: INTERRUPTED, sender: senderOf(routing, message) }
  }
  if (message.status !== 'queued') return { task: 'lookup', found: NOTHING_MORE }
  if (message.suppressed) return { task: 'suppressed' }
  if (route?.provider === null) {
    return { task: 'postponed', wait_ms: route.wait_ms, error_message: route.error_message }
  }
  if (expires_at && expires_at <= runtime.now()) {
    return { task: 'send', attempt, outcome: EXPIRED, by_service: true }
  }
  return null
}
