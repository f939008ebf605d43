import type { Message, Svc } from '@svc/client'
import { isOutage, pause, retryAfterMs } from '../connect/polling.ts'
import { isFinal, type Step, stepsOf } from './message-steps.ts'

const PAGE_SIZE = 100

/** The maximum number of pages of one poll. The oldest messages of a larger burst are not reported. */
const PAGES_MAX = 5

/** The maximum number of messages that are tracked; the oldest are dropped first. */
const TRACKED_MAX = 10_000

/** A new status of a message. */
export interface Change extends Step {
  message: Message
}

interface Tracked {
  reported: Set<string>
  finished: boolean
}

/** Polls the newest messages; each poll returns the changes since the previous one. */
export interface Follower {
  /** Returns the changes. The first poll returns none, because it only reads the existing messages. */
  poll(): Promise<Change[]>
}

/**
 * Follows the messages that a client may read.
 *
 * @param onGap called when more messages came between two polls than one poll reads. The oldest are not reported.
 */
export function createFollower(
  client: Svc,
  signal: AbortSignal,
  onGap: () => void = () => {},
): Follower {
  const tracked = new Map<string, Tracked>()
  let isFirst = true

  function changesOf(message: Message): Change[] {
    const before = tracked.get(message.id)
    const reported = before?.reported ?? new Set<string>()
    const news = stepsOf(message).filter(({ status }) => !reported.has(status))
    for (const { status } of news) reported.add(status)
    // Move the message to the end, so that `oneUnfinished` polls the unfinished messages in turn.
    tracked.delete(message.id)
    tracked.set(message.id, { reported, finished: isFinal(message) })
    return news.map((step) => ({ ...step, message }))
  }

  /** Reads one unfinished message that is older than the pages: the rate limit allows only one more request a poll. */
  async function oneUnfinished(seen: ReadonlySet<string>): Promise<Message[]> {
    for (const [id, { finished }] of tracked) {
      if (!finished && !seen.has(id)) return [(await client.messages.get(id, { signal })).message]
    }
    return []
  }

  return {
    async poll() {
      const isKnown = (id: string) => isFirst || tracked.has(id)
      const { recent, isWhole } = await newestUntil(client, isKnown, signal)
      if (!isWhole) onGap()
      const older = isFirst ? [] : await oneUnfinished(new Set(recent.map(({ id }) => id)))
      const changes = [...older, ...recent.toReversed()].flatMap(changesOf)
      for (const id of tracked.keys()) {
        if (tracked.size <= TRACKED_MAX) break
        tracked.delete(id)
      }
      if (isFirst) {
        isFirst = false
        return []
      }
      return changes.sort((a, b) => a.at.getTime() - b.at.getTime())
    },
  }
}

/** Reads the newest messages, newest first, until it finds a known message or reaches the page limit. */
async function newestUntil(
  client: Svc,
  isKnown: (id: string) => boolean,
  signal: AbortSignal,
): Promise<{ recent: Message[]; isWhole: boolean }> {
  const recent: Message[] = []
  let after: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const response = await client.messages.list({ limit: PAGE_SIZE, after }, { signal })
    recent.push(...response.messages)
    const oldest = response.messages.at(-1)
    after = response.next_after ?? undefined
    if (!oldest || isKnown(oldest.id) || after === undefined) return { recent, isWhole: true }
  }
  return { recent, isWhole: false }
}

/** Polls every `interval_ms` until `signal` aborts. It continues after an outage, except at the first poll. */
export async function followMessages(
  follower: Follower,
  options: {
    interval_ms: number
    signal: AbortSignal
    /** Called after the first poll. Only later changes are reported. */
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
    let wait_ms = interval_ms
    try {
      const changes = await follower.poll()
      if (isFirst) onReady()
      if (isOut) onOutage(false)
      isFirst = false
      isOut = false
      changes.forEach(onChange)
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
