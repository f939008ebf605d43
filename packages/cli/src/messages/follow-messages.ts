import type { EventKind, Message, MessageStatus, Svc } from '@svc/client'
import { isOutage, pause, retryAfterMs } from '../connect/polling.ts'
import type { Step } from './message-steps.ts'

/** The wait of one request for events: below the wait after which a command gives up an answer. */
const WAIT_S = 25

/** The time between two looks at the queue: no event says that a message was accepted. */
const LOOK_EVERY_MS = 10_000

/** The messages of one look. */
const PAGE_SIZE = 100

/** The maximum number of messages that are tracked; the oldest are dropped first. */
const TRACKED_MAX = 10_000

/** A text below every id. */
const NO_ID = ' '

/** The events that change the status of a message. */
const STATUS_OF: Partial<Record<EventKind, MessageStatus>> = {
  'message.sent': 'sent',
  'message.delivered': 'delivered',
  'message.failed': 'failed',
  'message.read': 'read',
}

/** What an event and a record both say about a message. */
type ChangedMessage = Pick<
  Message,
  | 'id'
  | 'channel'
  | 'recipient'
  | 'status'
  | 'credits_used'
  | 'metadata'
  | 'bulk_id'
  | 'livemode'
  | 'provider_message_id'
  | 'error_code'
  | 'error_message'
>

/** A new status of a message. */
export interface Change extends Step {
  message: ChangedMessage
}

/** Reads the changes since the last call. */
interface Follower {
  /** Returns the changes; waits for one. The first call returns none: it begins at the present. */
  next(): Promise<Change[]>
}

/**
 * Follows the messages that a client may read: a request waits on the server until an event happens, and a look at the queue
 * every ten seconds finds messages without an event.
 *
 * @param onGap called when events are missing, for example after a restore.
 * @param now the time in ms, for tests.
 */
export function createFollower(
  client: Svc,
  signal: AbortSignal,
  onGap: () => void = () => {},
  now: () => number = Date.now,
): Follower {
  /** The messages whose acceptance was reported. */
  const accepted = new Set<string>()
  let after: string | undefined
  /** The newest message before the command: later ones have a higher id. */
  let newest_before = ''
  let looks_at_ms = 0

  /** The acceptance of a message, unless it was reported or is older than the command. */
  function acceptanceOf(message: ChangedMessage): Change[] {
    if (accepted.has(message.id) || message.id <= newest_before) return []
    accepted.add(message.id)
    for (const id of accepted) {
      if (accepted.size <= TRACKED_MAX) break
      accepted.delete(id)
    }
    const at = timeOf(message.id)
    return [{ status: 'queued', at, message: { ...message, status: 'queued' } }]
  }

  async function queued(): Promise<Change[]> {
    looks_at_ms = now() + LOOK_EVERY_MS
    const query = { status: 'queued', limit: PAGE_SIZE } as const
    const { messages } = await client.messages.list(query, { signal })
    return messages.toReversed().flatMap((message) => acceptanceOf(changedOf(message)))
  }

  async function events(): Promise<Change[]> {
    const wait = Math.min(WAIT_S, Math.max(1, Math.ceil((looks_at_ms - now()) / 1000)))
    const found = await client.events.list({ after, wait }, { signal })
    after = found.next_after
    return found.events.flatMap(({ event, data }) => {
      const status = STATUS_OF[event]
      if (!status) return []
      const change = data as unknown as ChangedMessage & { message_id: string; occurred_at: string }
      const message = changedOf({ ...change, id: change.message_id, status })
      return [...acceptanceOf(message), { status, at: new Date(change.occurred_at), message }]
    })
  }

  return {
    async next() {
      if (after === undefined) {
        const { next_after } = await client.events.list({}, { signal })
        const { messages } = await client.messages.list({ limit: 1 }, { signal })
        newest_before ||= messages[0]?.id ?? NO_ID
        looks_at_ms = now() + LOOK_EVERY_MS
        after = next_after
        return []
      }
      if (now() >= looks_at_ms) {
        const changes = await queued()
        if (changes.length > 0) return changes
      }
      try {
        return await events()
      } catch (error) {
        if (!isGap(error)) throw error
        after = undefined
        onGap()
        return []
      }
    },
  }
}

function isGap(error: unknown): boolean {
  const { code, details } = error as { code?: unknown; details?: { path: string }[] }
  return code === 'validation_error' && details?.[0]?.path === 'after'
}

function changedOf(message: ChangedMessage): ChangedMessage {
  const { id, channel, recipient, status, credits_used, metadata, bulk_id, livemode } = message
  const { provider_message_id, error_code, error_message } = message
  return {
    ...{ id, channel, recipient, status, credits_used, metadata, bulk_id, livemode },
    ...{ provider_message_id, error_code, error_message },
  }
}

/** The time of creation, which the id of a message begins with (UUIDv7: 48 bits of milliseconds). */
function timeOf(id: string): Date {
  return new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))
}

/**
 * Follows until `signal` aborts. It continues after an outage, except at the first request.
 * @param options.interval_ms the minimum time between two requests that find something
 */
export async function followMessages(
  follower: Follower,
  options: {
    interval_ms: number
    signal: AbortSignal
    /** Called after the first request. Only later changes are reported. */
    onReady: () => void
    onChange: (change: Change) => void
    /** Called when an outage of the server starts (true) and ends (false). */
    onOutage: (isOut: boolean) => void
  },
): Promise<void> {
  const { interval_ms, signal, onReady, onChange, onOutage } = options
  let isOut = false
  let isFirst = true
  while (!signal.aborted) {
    let wait_ms = 0
    try {
      const changes = await follower.next()
      if (isFirst) onReady()
      if (isOut) onOutage(false)
      isFirst = false
      isOut = false
      changes.forEach(onChange)
      if (changes.length > 0) wait_ms = interval_ms
    } catch (error) {
      if (signal.aborted) return
      if (isFirst) throw error
      const retry_ms = retryAfterMs(error)
      const isAway = isOutage(error)
      if (retry_ms === null && !isAway) throw error
      if (isAway && !isOut) onOutage(true)
      isOut ||= isAway
      wait_ms = retry_ms ?? interval_ms
    }
    await pause(wait_ms, signal)
  }
}
