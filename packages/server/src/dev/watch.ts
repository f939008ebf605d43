import type { Core } from '@svc/core'
import type { Message } from '@svc/core/contract'
import { type MessageRow, messageRow } from './message-row.ts'

/** So many of the newest messages are watched; older ones are shown as they were when they were read. */
export const WATCHED_MAX = 200

const LOOK_MS = 300
/** Looking takes at most this share of the time, however slow the database is. */
const LOOK_SHARE = 0.1

/** What a look at a workspace gave: the rows that are new or changed since the one before. */
export interface Changes {
  messages: MessageRow[]
  total: number
}

export interface Watch {
  /** Hears of changes until the answer is called; first, at once, of all that is watched. */
  listen(workspaceId: string, listener: (changes: Changes) => void): () => void
  close(): void
}

/**
 * Tells what becomes of a workspace's newest messages, whichever process sends them: it looks again and again, for all
 * listeners of a workspace at once, and not at all where nobody listens.
 */
export function createWatch(
  core: Pick<Core, 'messages'>,
  onError: (error: unknown) => void,
): Watch {
  const watches = new Map<string, ReturnType<typeof watchOne>>()

  function watchOne(workspaceId: string) {
    const listeners = new Set<(changes: Changes) => void>()
    let known = new Map<string, { version: string; row: MessageRow }>()
    let total: number | null = null
    let timer: NodeJS.Timeout | undefined

    async function look(): Promise<void> {
      const began = performance.now()
      try {
        const found = await core.messages.list(workspaceId, { page: 1, limit: WATCHED_MAX })
        take(found)
      } catch (error) {
        onError(error)
      }
      if (listeners.size === 0) return
      const took_ms = performance.now() - began
      timer = setTimeout(look, Math.max(LOOK_MS, took_ms / LOOK_SHARE))
      timer.unref()
    }

    function take(found: { messages: Message[]; total: number }): void {
      const now = new Map(
        found.messages.map((message) => {
          const version = `${message.status} ${message.updated_at.getTime()}`
          const before = known.get(message.id)
          const row = before?.version === version ? before.row : messageRow(message)
          return [message.id, { version, row }]
        }),
      )
      const changed = [...now].filter(([id, { row }]) => known.get(id)?.row !== row)
      const isOther = changed.length > 0 || found.total !== total
      known = now
      total = found.total
      if (!isOther) return
      for (const listener of listeners)
        listener({ messages: changed.map(([, { row }]) => row), total })
    }

    return {
      listeners,
      look,
      /** For one who comes later than the first look. */
      all: (): Changes | null =>
        total !== null ? { messages: [...known.values()].map(({ row }) => row), total } : null,
      stop: () => clearTimeout(timer),
    }
  }

  return {
    listen(workspaceId, listener) {
      let watch = watches.get(workspaceId)
      if (!watch) {
        watch = watchOne(workspaceId)
        watches.set(workspaceId, watch)
        void watch.look()
      }
      const { listeners, stop, all } = watch
      const known = all()
      if (known) listener(known)
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        stop()
        watches.delete(workspaceId)
      }
    },
    close() {
      for (const { stop, listeners } of watches.values()) {
        listeners.clear()
        stop()
      }
      watches.clear()
    },
  }
}
