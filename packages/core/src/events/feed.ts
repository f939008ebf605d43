import { setTimeout as pause } from 'node:timers/promises'
import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import { EVENTS, type EventData, type EventKind } from '../contract/resources/events.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { EventLogState, LoggedEvent } from '../storage/ports/stores.ts'

/** Which events a handler gets. */
export interface HandlerOptions {
  /** Only events of this workspace. Default: of every workspace. */
  workspace_id?: string | undefined
}

/** Which events an iteration has, and when it ends. */
export interface EventsOptions extends HandlerOptions {
  /**
   * Continues behind the event with this `cursor`. null: begins with the oldest stored event. Default: begins with the
   * events from now on.
   */
  after?: string | null | undefined
  /** Ends the iteration. */
  signal?: AbortSignal | undefined
}

/** The events that a handler for this kind gets. */
export type HandledEvent<Kind extends EventKind | '*'> = Kind extends EventKind
  ? EventOf<Kind>
  : CoreEvent

/**
 * Events in the process, after their commit, in the order of the commits. The transaction that stores events locks one row
 * last, until its commit, and takes their positions in `event_log` from it. So a reader that knows the newest position knows
 * every event up to it. Readers wait for a hint or a second, and read pages from the database. Rows of the log, and of events
 * that no webhook gets, are written only while `event_log_state.is_kept`.
 */
export interface EventFeed {
  /**
   * Calls the handler with each event of a kind, or with every event (`*`), from now on; possibly also with events of the
   * second before. The next event follows when the promise of the handler is settled. A handler that throws is logged
   * without contents, and gets the next event. Returns a function that ends the calls. Handlers do not keep the process
   * running.
   */
  on<Kind extends EventKind | '*'>(
    event: Kind,
    handler: (event: HandledEvent<Kind>) => unknown,
    options?: HandlerOptions,
  ): () => void
  /**
   * Iterates over the events in the order of their commits, and waits for new ones. At most 100 events are in memory; the
   * others wait in the database. Ends when the core is closed or `signal` aborts.
   * @throws SvcError `validation_error` for a cursor behind which events are missing: they were not stored, or the
   *   database was restored. Rejects with the error of the database when it fails; continue with `after`.
   */
  events(options?: EventsOptions): AsyncGenerator<CoreEvent, void, undefined>
  /**
   * The next events of a workspace, at most `LIMITS.events_page`, oldest first; a test key gets events of test messages. Waits
   * for the first until `signal` aborts. `next_after` is the `after` of the next page, also if this page has no events.
   * @throws SvcError `validation_error` in the same cases as `events`.
   */
  eventPage(
    viewer: Viewer,
    options?: EventPageOptions,
  ): Promise<{ events: CoreEvent[]; next_after: string }>
}

/** Which events a page has, and how long it waits for the first. */
export interface EventPageOptions {
  /** Continues behind the `next_after` of the last page. Default: the present, so that the page has no events. */
  after?: string | undefined
  /** Ends the wait. Without a signal the page does not wait. */
  signal?: AbortSignal | undefined
}

/** The feed of an open core. */
interface OpenFeed extends EventFeed {
  /** Begins (true) or ends (false) the storing of events in this database; undefined changes nothing. */
  open(keeps: boolean | undefined): Promise<void>
  stop(): void
}

/** The maximum number of events that one query returns. */
const PAGE = LIMITS.events_page

/** The wait before a handler's reading is tried again after a failure of the database. */
const AGAIN_MS = 1_000

export function createEventFeed(parts: { storage: Storage; runtime: Runtime }): OpenFeed {
  const { storage, runtime } = parts
  const newest = createNewest(parts)
  const closing = new AbortController()
  let keeping: Promise<EventLogState> | null = null

  function keep(): Promise<EventLogState> {
    keeping ??= storage.read.eventLog
      .state()
      .then((state) =>
        state.is_kept ? state : storage.write(({ eventLog }) => eventLog.keep(true)),
      )
      .then((state) => {
        if (!closing.signal.aborted) newest.follow(state)
        return state
      })
      .catch((error) => {
        keeping = null
        throw error
      })
    return keeping
  }

  /** The position behind which a reader begins. */
  async function startOf({ after }: EventsOptions, known: number | null): Promise<number> {
    const { since, position: kept } = await keep()
    if (after === undefined) return known ?? kept
    const { position } = await storage.read.eventLog.state()
    if (after === null) return 0
    const start = positionOf(after)
    if (start < since) {
      throw invalid('after', 'Events after this cursor were not stored: read the messages instead')
    }
    if (start > position) {
      throw invalid('after', 'There is no such event: an older backup was restored')
    }
    return start
  }

  function known(row: LoggedEvent): CoreEvent | null {
    const event = eventOf(row)
    if (event) return event
    const { id, event: kind } = row
    runtime.log.error({ event_id: id, event: kind }, 'an event of an unknown form was left out')
    return null
  }

  /** The events behind a position, and the position of each. */
  async function* read(
    start: number,
    { workspace_id, signal }: { workspace_id?: string | undefined; signal: AbortSignal },
  ): AsyncGenerator<{ event: CoreEvent | null; position: number }, void, undefined> {
    let at = start
    while (!signal.aborted) {
      const until = Math.min(at + PAGE, newest.position() ?? at)
      if (until <= at) {
        await newest.above(at, signal)
        continue
      }
      for (const row of await storage.read.eventLog.between({ after: at, until }, workspace_id)) {
        if (signal.aborted) return
        yield { event: known(row), position: row.position }
      }
      at = until
    }
  }

  async function* iterate(
    options: EventsOptions,
    start: Promise<number>,
    signal: AbortSignal,
  ): AsyncGenerator<CoreEvent, void, undefined> {
    const release = newest.hold()
    try {
      const { workspace_id } = options
      for await (const { event } of read(await start, { workspace_id, signal })) {
        if (event) yield event
      }
    } catch (error) {
      // A closed database is the end, not a failure.
      if (!closing.signal.aborted) throw error
    } finally {
      release()
    }
  }

  async function handle(
    kind: EventKind | '*',
    handler: (event: never) => unknown,
    event: CoreEvent | null,
  ): Promise<void> {
    if (!event || (kind !== '*' && kind !== event.event)) return
    try {
      await handler(event as never)
    } catch (error) {
      const { id, workspace_id } = event
      const fields = { event: event.event, event_id: id, workspace_id, error: nameOf(error) }
      runtime.log.error(fields, 'a handler of events failed')
    }
  }

  async function deliver(
    kind: EventKind | '*',
    handler: (event: never) => unknown,
    { workspace_id, signal }: HandlerOptions & { signal: AbortSignal },
  ): Promise<void> {
    let at = newest.position()
    while (!signal.aborted) {
      try {
        at = await startOf({}, at)
        for await (const { event, position } of read(at, { workspace_id, signal })) {
          await handle(kind, handler, event)
          at = position
        }
      } catch (error) {
        if (signal.aborted) return
        runtime.log.warn({ reason: nameOf(error) }, 'events could not be read')
        await pause(AGAIN_MS, undefined, { ref: false })
      }
    }
  }

  return {
    on(kind, handler, options = {}) {
      const ending = new AbortController()
      const signal = AbortSignal.any([ending.signal, closing.signal])
      void deliver(kind, handler, { ...options, signal })
      return () => ending.abort()
    },
    events(options = {}) {
      const { signal: given } = options
      // A signal of its own for each iteration: Node warns of more than ten listeners on one signal.
      const signal = AbortSignal.any(given ? [given, closing.signal] : [closing.signal])
      const start = startOf(options, newest.position())
      // The first step of the iteration reports the failure.
      start.catch(() => {})
      return iterate(options, start, signal)
    },
    async eventPage(viewer, { after, signal } = {}) {
      const { workspace_id, livemode } = viewOf(viewer)
      let at = await startOf({ after }, newest.position())
      if (after === undefined) return { events: [], next_after: cursorOf(at) }
      const ending = AbortSignal.any(signal ? [signal, closing.signal] : [closing.signal])
      for (;;) {
        const until = Math.min(at + PAGE, newest.position() ?? at)
        if (until > at) {
          const rows = await storage.read.eventLog.between({ after: at, until }, workspace_id)
          at = until
          const events = rows
            .map(known)
            .filter((event) => event !== null)
            .filter(({ data }) => livemode !== false || !data.livemode)
          if (events.length > 0) return { events, next_after: cursorOf(at) }
        } else if (!signal || ending.aborted) return { events: [], next_after: cursorOf(at) }
        else await newest.above(at, ending)
      }
    },
    async open(keeps) {
      if (keeps === true) await keep()
      if (keeps === false) await storage.write(({ eventLog }) => eventLog.keep(false))
    },
    stop() {
      closing.abort()
      newest.stop()
    },
  }
}

/** How often the log is looked at, because reports of other processes can get lost. */
const LOOK_EVERY_MS = 1_000

/** The newest position of the log, for all readers of this process. */
interface Newest {
  /** The newest known position; null until it is known for the first time. */
  position(): number | null
  /** Takes over a state that was read, and begins to follow the log. */
  follow(state: EventLogState): void
  /** Resolves when the newest position is above `position`, or when `signal` aborts. */
  above(position: number, signal: AbortSignal): Promise<void>
  /** Keeps the process running while there are such readers. */
  hold(): () => void
  stop(): void
}

function createNewest({ storage, runtime }: { storage: Storage; runtime: Runtime }): Newest {
  let newest: number | null = null
  let timer: NodeJS.Timeout | null = null
  let holders = 0
  let isLooking = false
  let looksAgain = false
  let unlisten = () => {}
  const waiting = new Set<() => void>()

  function set(position: number): void {
    if (newest !== null && position <= newest) return
    newest = position
    for (const wake of [...waiting]) wake()
  }

  async function look(): Promise<void> {
    if (isLooking) {
      looksAgain = true
      return
    }
    isLooking = true
    do {
      looksAgain = false
      try {
        set((await storage.read.eventLog.state()).position)
      } catch (error) {
        // The next look finds the events.
        runtime.log.debug({ reason: nameOf(error) }, 'the log of events could not be read')
      }
    } while (looksAgain && timer !== null)
    isLooking = false
  }

  return {
    position: () => newest,
    follow({ position }) {
      set(position)
      if (timer !== null) return
      unlisten = storage.onEvents(() => void look())
      timer = setInterval(() => void look(), LOOK_EVERY_MS)
      if (holders === 0) timer.unref()
    },
    async above(position, signal) {
      if (newest !== null && newest > position) return
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
        if (signal.aborted) wake()
      })
    },
    hold() {
      holders += 1
      timer?.ref()
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        holders -= 1
        if (holders === 0) timer?.unref()
      }
    },
    stop() {
      unlisten()
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}

/** The name of an error. Its text could have contents of messages. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}

/** One event of this kind: the body that a webhook gets, decoded, and its place in the order of all events. */
export interface EventOf<Kind extends EventKind> {
  /** The kind of the event. */
  event: Kind
  /** What a webhook gets as `data`: instants are Dates, amounts are micro-credits. */
  data: EventData<Kind>
  /** The id of the event; a webhook gets it in the header `webhook-id`. */
  id: string
  /** The workspace that the event is about. */
  workspace_id: string
  /** The place of the event: pass it as `after` to continue behind this event. */
  cursor: string
  /** When the event happened. */
  created_at: Date
}

/** An event of any kind; `event` tells the kinds apart. */
export type CoreEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind]

/** The event of a row; null if this version does not know its kind or its form. */
function eventOf({ body, id, workspace_id, created_at, position }: LoggedEvent) {
  const { event, data } = JSON.parse(body) as { event: string; data: unknown }
  if (!isKind(event)) return null
  const decoded = EVENTS[event].data.safeParse(data)
  if (!decoded.success) return null
  const cursor = cursorOf(position)
  // The schema of the kind decoded the data of the kind.
  return { event, data: decoded.data, id, workspace_id, cursor, created_at } as CoreEvent
}

function isKind(event: string): event is EventKind {
  return Object.hasOwn(EVENTS, event)
}

/** The cursor of a position. */
function cursorOf(position: number): string {
  return String(position)
}

/** The position of a cursor. @throws SvcError `validation_error` */
function positionOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw invalid('after', 'Invalid cursor')
  return Number(cursor)
}
