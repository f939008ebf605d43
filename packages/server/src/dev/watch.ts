import type { Message } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { type MessageRow, messageRow } from './message-row.ts'

/** The number of the newest messages that are watched; older ones do not update. */
export const WATCHED_MAX = 200

const POLL_MS = 300
/** Polling takes at most this share of the time, even if the database is slow. */
const POLL_SHARE = 0.1

/** The result of a poll: the rows that are new or changed since the previous poll. */
export interface Changes {
  messages: MessageRow[]
  total: number
}

export interface Watch {
  /** Calls `listener` with all watched messages, then with changes. Returns the function that stops this. */
  subscribe(workspaceId: string, listener: (changes: Changes) => void): () => void
  close(): void
}

/**
 * Reports the changes of a workspace's newest messages, also if another process sends the messages. It polls the
 * database once for all listeners of a workspace, and does not poll without listeners.
 */
export function createWatch(
  core: Pick<DecodedCore, 'messages'>,
  onError: (error: unknown) => void,
): Watch {
  const watches = new Map<string, ReturnType<typeof watchOne>>()

  function watchOne(workspaceId: string) {
    const listeners = new Set<(changes: Changes) => void>()
    let known = new Map<string, { version: string; row: MessageRow }>()
    let total: number | null = null
    let timer: NodeJS.Timeout | undefined

    async function poll(): Promise<void> {
      const began = performance.now()
      try {
        const found = await core.messages.list(workspaceId, { page: 1, limit: WATCHED_MAX })
        take(found)
      } catch (error) {
        onError(error)
      }
      if (listeners.size === 0) return
      const took_ms = performance.now() - began
      timer = setTimeout(poll, Math.max(POLL_MS, took_ms / POLL_SHARE))
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
      const hasChanged = changed.length > 0 || found.total !== total
      known = now
      total = found.total
      if (!hasChanged) return
      for (const listener of listeners)
        listener({ messages: changed.map(([, { row }]) => row), total })
    }

    return {
      listeners,
      poll,
      /** The current rows, for a listener that comes after the first poll. */
      all: (): Changes | null =>
        total !== null ? { messages: [...known.values()].map(({ row }) => row), total } : null,
      stop: () => clearTimeout(timer),
    }
  }

  return {
    subscribe(workspaceId, listener) {
      let watch = watches.get(workspaceId)
      if (!watch) {
        watch = watchOne(workspaceId)
        watches.set(workspaceId, watch)
        void watch.poll()
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
