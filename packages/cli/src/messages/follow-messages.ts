import type { Client, Message } from '@svc/core/contract'
import { isOutage, pause, retryAfterMs } from '../connect/polling.ts'
import { isFinal, type Step, stepsOf } from './message-steps.ts'

const PAGE_SIZE = 100

/** A look reads at most this many pages: of a burst above it the oldest messages are not told. */
const PAGES_MAX = 5

/** How many messages are remembered; the oldest are forgotten first. */
const REMEMBERED_MAX = 10_000

/** Something that happened to a message. */
export interface Change extends Step {
  message: Message
}

interface Remembered {
  told: Set<string>
  finished: boolean
}

/** Looks at the newest messages again and again; each look tells what is new since the one before. */
export interface Follower {
  /** The first look tells nothing: it learns what there is. */
  look(): Promise<Change[]>
}

/**
 * Follows the messages that a client may read, until `signal` aborts.
 *
 * @param onGap told when more came between two looks than one reads: the oldest of those are not told.
 */
export function createFollower(
  client: Client,
  signal: AbortSignal,
  onGap: () => void = () => {},
): Follower {
  const remembered = new Map<string, Remembered>()
  let isFirst = true

  function changesOf(message: Message): Change[] {
    const before = remembered.get(message.id)
    const told = before?.told ?? new Set<string>()
    const news = stepsOf(message).filter(({ status }) => !told.has(status))
    for (const { status } of news) told.add(status)
    // Put back at the end, so that the ones unfinished for longest take turns.
    remembered.delete(message.id)
    remembered.set(message.id, { told, finished: isFinal(message) })
    return news.map((step) => ({ ...step, message }))
  }

  /** One of the unfinished messages that are too old for those pages; they take turns, since requests are limited. */
  async function oneUnfinishedBut(seen: ReadonlySet<string>): Promise<Message[]> {
    for (const [id, { finished }] of remembered) {
      if (!finished && !seen.has(id))
        return [(await client.messages.get({ id }, { signal })).message]
    }
    return []
  }

  return {
    async look() {
      const isKnown = (id: string) => isFirst || remembered.has(id)
      const { recent, isWhole } = await newestUntil(client, isKnown, signal)
      if (!isWhole) onGap()
      const older = isFirst ? [] : await oneUnfinishedBut(new Set(recent.map(({ id }) => id)))
      const changes = [...older, ...recent.toReversed()].flatMap(changesOf)
      for (const id of remembered.keys()) {
        if (remembered.size <= REMEMBERED_MAX) break
        remembered.delete(id)
      }
      if (isFirst) {
        isFirst = false
        return []
      }
      return changes.sort((a, b) => a.at.getTime() - b.at.getTime())
    },
  }
}

/** The newest messages, newest first, down to one that is known or as many pages as one look may read. */
async function newestUntil(
  client: Client,
  isKnown: (id: string) => boolean,
  signal: AbortSignal,
): Promise<{ recent: Message[]; isWhole: boolean }> {
  const recent: Message[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await client.messages.list({ limit: PAGE_SIZE, cursor }, { signal })
    recent.push(...answer.messages)
    const oldest = answer.messages.at(-1)
    cursor = answer.next_cursor ?? undefined
    if (!oldest || isKnown(oldest.id) || cursor === undefined) return { recent, isWhole: true }
  }
  return { recent, isWhole: false }
}

/** Looks every `interval_ms` until `signal` aborts; an outage after the first look is waited out. */
export async function followMessages(
  follower: Follower,
  options: {
    interval_ms: number
    signal: AbortSignal
    /** Told once it is known what there was before: what comes now is told. */
    onReady: () => void
    onChange: (change: Change) => void
    /** Told when the server went out of reach, and when it is back. */
    onOutage: (isOut: boolean) => void
  },
): Promise<void> {
  const { interval_ms, signal, onReady, onChange, onOutage } = options
  let isOut = false
  let isFirst = true
  while (!signal.aborted) {
    let wait_ms = interval_ms
    try {
      const changes = await follower.look()
      if (isFirst) onReady()
      if (isOut) onOutage(false)
      isFirst = false
      isOut = false
      changes.forEach(onChange)
    } catch (error) {
      if (signal.aborted) return
      if (isFirst) throw error
      const asked_ms = retryAfterMs(error)
      const isAway = isOutage(error)
      if (asked_ms === null && !isAway) throw error
      if (isAway && !isOut) onOutage(true)
      isOut ||= isAway
      wait_ms = asked_ms ?? interval_ms
    }
    await pause(wait_ms, signal)
  }
}
