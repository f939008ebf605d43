import type pg from 'pg'
import type { Log } from '../../../runtime/runtime.ts'
import { createListeners } from '../../after-commit.ts'
import type { WakeListener, Work } from '../../ports/hot.ts'
import { type Database, statement } from './database.ts'
import { textOf } from './failure.ts'

const CHANNEL = 'svc_work'

/** The minimum time between announcements of one process: the first is sent at once, the others are sent together. */
const ANNOUNCE_EVERY_MS = 20

/** The wait before a lost connection is opened again. */
const RECONNECT_MS = 1_000

const notify = statement('notify', `select pg_notify('${CHANNEL}', $1)`)

/** Wakes the other processes of one database. */
export interface Waker {
  /**
   * Notifies the other processes that something may be due. A notification can be lost: its receivers must poll too.
   */
  announce(work: Work | 'events'): void
  /** Listens to the other processes, over a separate connection; returns a function that stops it. */
  onWake(listener: WakeListener): () => void
  /** Listens to the other processes for events in the log; returns a function that stops it. */
  onEvents(listener: () => void): () => void
  close(): Promise<void>
}

/**
 * Wake-ups between the processes of one database. They are sent separately, after the commit: a commit that notifies
 * takes a lock that serializes all such commits of the server until they are flushed.
 */
export function createWaker({
  database,
  connect,
  id,
  log,
}: {
  database: Database
  /** Opens a session; null where there is none, and receivers only poll. */
  connect: (() => Promise<pg.Client>) | null
  /** Distinguishes the announcements of this process from those of other processes. */
  id: string
  log: Log
}): Waker {
  const listeners = new Set<WakeListener>()
  const logged = createListeners()
  const listening = connect && listen({ connect, log, onWake: wake })
  /** The kinds of work whose next announcement must wait, and whether to announce them again. */
  const held = new Map<Work | 'events', { again: boolean; timer: NodeJS.Timeout }>()
  const sending = new Set<Promise<unknown>>()

  function wake(payload: string | null): void {
    const [work, sender] = payload?.split(' ') ?? []
    if (sender === id) return
    // Without a payload, any notification may have been missed.
    if (work === 'events' || payload === null) logged.call()
    if (work === 'events') return
    for (const listener of listeners)
      listener(work === 'messages' || work === 'deliveries' ? work : null)
  }

  function announce(work: Work | 'events'): void {
    const since = held.get(work)
    if (since) {
      since.again = true
      return
    }
    const timer = setTimeout(() => {
      const again = held.get(work)?.again
      held.delete(work)
      if (again) announce(work)
    }, ANNOUNCE_EVERY_MS)
    held.set(work, { again: false, timer })
    const sent = database
      .rows(notify, `${work} ${id}`)
      .catch((error) => log.debug({ reason: textOf(error) }, 'a wake-up was lost'))
      .finally(() => sending.delete(sent))
    sending.add(sent)
  }

  return {
    announce,
    onWake(listener) {
      listeners.add(listener)
      listening?.start()
      return () => {
        listeners.delete(listener)
      }
    },
    onEvents(listener) {
      listening?.start()
      return logged.add(listener)
    },
    async close() {
      for (const { timer } of held.values()) clearTimeout(timer)
      await Promise.all([...sending, listening?.stop()])
    },
  }
}

/** Keeps one connection listening after `start`; null is reported when a notification may have been missed. */
function listen({
  connect,
  log,
  onWake,
}: {
  connect: () => Promise<pg.Client>
  log: Log
  onWake: (payload: string | null) => void
}) {
  let started = false
  let stopping = false
  let interrupt = () => {}
  let ended: Promise<void> = Promise.resolve()

  async function once(): Promise<void> {
    const client = await connect()
    if (stopping) return void client.end()
    const gone = new Promise<void>((resolve) => {
      client.on('error', (error) =>
        log.warn({ reason: textOf(error) }, 'listening was interrupted'),
      )
      client.on('end', resolve)
      interrupt = resolve
    })
    client.on('notification', ({ payload }) => onWake(payload ?? null))
    try {
      await client.query(`listen ${CHANNEL}`)
      onWake(null)
      await gone
    } finally {
      // The end is not awaited: a paused server never answers.
      void client.end()
    }
  }

  async function keepListening(): Promise<void> {
    while (!stopping) {
      await once().catch((error) => log.warn({ reason: textOf(error) }, 'listening failed'))
      if (stopping) return
      await new Promise<void>((resolve) => {
        interrupt = resolve
        setTimeout(resolve, RECONNECT_MS).unref()
      })
    }
  }

  return {
    start() {
      if (started) return
      started = true
      ended = keepListening()
    },
    async stop() {
      stopping = true
      interrupt()
      await ended
    },
  }
}
