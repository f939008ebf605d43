import { setTimeout as pause } from 'node:timers/promises'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import { MonthMisfit, type Reads, type Storage, type Writes } from '../storage/ports/storage.ts'
import type { RetentionKind } from '../storage/ports/stores.ts'
import { erasedBody } from '../webhooks/erased-body.ts'

/** After this time no network reports on a message any more, and no delivery is retried automatically. */
export const RETENTION_DAYS_MIN = 7

/** No payment provider allows a dispute or a refund after this time, and a year of books is closed. */
export const LEDGER_DAYS_MIN = 400

/** The maximum is about a hundred years. */
export const RETENTION_DAYS_MAX = 36_500

export interface Retention {
  /** Continues where the last call stopped. Resolves when nothing is due, or after 1,000 steps. */
  apply(isStopping: () => boolean): Promise<void>
}

const DAY_MS = 24 * 60 * 60_000
const HOUR_MS = 60 * 60_000

/** The number of rows in one transaction; sends wait while it runs. */
const STEP_ROWS = 200

/** The pause between two steps, so that sends get the database. */
const PAUSE_MS = 20

/** The maximum number of steps before the other tasks of the sweeper run. */
const STEPS_MAX = 1_000

/** The time from a search that found nothing due to the next search. */
const EVERY_MS = HOUR_MS

/** After this time, a message that was scheduled 35 days ahead and is valid for 35 more days has ended. */
const LATE_MS = 75 * DAY_MS

/** Messages that end later than this after they were accepted belong to `late_messages`. */
const SENDING_MS = DAY_MS

/** The number of workspaces that one query reads. */
const WORKSPACES = 100

/**
 * Erases recipients and content from messages and events that are older than `days`, and removes received messages and
 * rejected recipients and contents of bulks of that age, oldest first. The ledger does not change. Messages that have not ended are skipped, and are visited again
 * after `LATE_MS`, when they must have ended. A detached month whose tables do not fit any more is skipped, and the log names it.
 * @throws RangeError unless `days` is a whole number from `RETENTION_DAYS_MIN` to `RETENTION_DAYS_MAX`.
 */
export function createRetention({
  storage,
  runtime,
  days,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'log'>
  days: number
}): Retention {
  assertDays('retention_days', days)
  let done_at: Date | null = null
  return {
    async apply(isStopping) {
      const now = runtime.now()
      const since_ms = done_at ? now.getTime() - done_at.getTime() : EVERY_MS
      // `since_ms` is negative when the clock was ahead at the last search.
      if (since_ms >= 0 && since_ms < EVERY_MS) return
      let steps = 0
      const mayContinue = () => !isStopping() && steps < STEPS_MAX
      const times: Times = { now, over: new Date(now.getTime() - days * DAY_MS) }
      const latest_mark = idFloor(new Date(now.getTime() - RETENTION_DAYS_MIN * DAY_MS))
      /** Walks through the rows of one kind in one place; returns whether the next walk may follow. */
      const walkAll = async ({ due, write }: Place, kind: RetentionKind): Promise<boolean> => {
        const step = STEPS[kind]
        const before_id = idFloor(new Date(times.over.getTime() - (LATE[kind] ?? 0)))
        const of = (stores: Writes, workspaceId: string) =>
          walk(stores, { workspaceId, kind, before_id, latest_mark, times, step })
        for await (const workspaceId of dueWorkspaces(due, kind, { before_id, latest_mark })) {
          let isLeft = true
          while (isLeft && mayContinue()) {
            steps += 1
            isLeft = await write((stores) => of(stores, workspaceId))
            await pause(PAUSE_MS)
          }
          if (!mayContinue()) return false
        }
        return true
      }
      for (const place of await placesOf(storage)) {
        for (const kind of place.kinds) {
          try {
            if (!(await walkAll(place, kind))) return
          } catch (error) {
            if (place.month === null || !(error instanceof MonthMisfit)) throw error
            runtime.log.error(
              { err: error, month: place.month, kind },
              'rows of a detached month stay as they are, because a migration changed its tables since',
            )
          }
        }
      }
      done_at = now
    },
  }
}

/** @throws RangeError unless `days` is a whole number from `RETENTION_DAYS_MIN` to `RETENTION_DAYS_MAX`. */
export function assertDays(setting: string, days: number): void {
  if (Number.isInteger(days) && days >= RETENTION_DAYS_MIN && days <= RETENTION_DAYS_MAX) return
  throw new RangeError(
    `${setting} must be a whole number from ${RETENTION_DAYS_MIN} to ${RETENTION_DAYS_MAX}`,
  )
}

interface Times {
  now: Date
  /** Rows older than this are erased. */
  over: Date
}

interface Walk {
  workspaceId: string
  kind: RetentionKind
  before_id: string
  /** A later mark is not used: it was set while the clock was ahead, and rows that were inserted since then lie before it. */
  latest_mark: string
  times: Times
  step: Step
}

/** Returns the id from which the next step begins, or `from_id` when the walk cannot continue now. */
type Step = (stores: Writes, walk: Walk & { from_id: string }) => Promise<string>

/** The additional age of a kind in ms. */
const LATE: { [kind in RetentionKind]?: number } = {
  late_messages: LATE_MS,
  late_responses: LATE_MS,
}

const STEPS: Record<RetentionKind, Step> = {
  messages: stepMessages,
  late_messages: stepMessages,
  events: stepEvents,
  late_responses: stepResponses,
  received_messages: stepReceived,
  bulk_rejections: stepRejections,
  bulk_texts: stepTexts,
}

/** Where rows to erase are: the histories, and months that are detached from them, with marks of their own. */
interface Place extends Pick<Storage, 'write'> {
  /** The detached month; null for the histories. */
  month: string | null
  kinds: readonly RetentionKind[]
  due: Reads['retention']['due']
}

async function placesOf({ read, write, detachedMonths }: Storage): Promise<Place[]> {
  const kinds = Object.keys(STEPS) as RetentionKind[]
  const months = (await detachedMonths?.()) ?? []
  return [
    { month: null, kinds, write, due: read.retention.due },
    ...months.map(
      ({ month, write }): Place => ({
        month,
        // Received messages are never detached.
        kinds: kinds.filter((kind) => kind !== 'received_messages'),
        write,
        due: (kind, page) => write(({ retention }) => retention.due(kind, page)),
      }),
    ),
  ]
}

async function* dueWorkspaces(
  due: Place['due'],
  kind: RetentionKind,
  range: { before_id: string; latest_mark: string },
): AsyncGenerator<string> {
  let after: string | null = null
  for (;;) {
    const ids: string[] = await due(kind, { ...range, after, limit: WORKSPACES })
    yield* ids
    after = ids.at(-1) ?? null
    if (ids.length < WORKSPACES) return
  }
}

/** One step of a walk; returns whether more steps are due. */
async function walk(stores: Writes, walk: Walk): Promise<boolean> {
  const { workspaceId, kind, latest_mark } = walk
  const from_id = await stores.retention.mark(workspaceId, kind, latest_mark)
  const next = await walk.step(stores, { ...walk, from_id })
  if (next === from_id) return false
  await stores.retention.setMark(workspaceId, kind, next)
  return next !== walk.before_id
}

/** The rows of a step, and the id from which the next step begins. `rows` holds at most one row more than a step. */
function pageOf<Row>(
  rows: Row[],
  idOf: (row: Row) => string,
  before_id: string,
): { page: Row[]; next: string } {
  const more = rows[STEP_ROWS]
  return { page: rows.slice(0, STEP_ROWS), next: more === undefined ? before_id : idOf(more) }
}

async function stepMessages(
  { retention, erasure }: Writes,
  { workspaceId, kind, times, ...range }: Walk & { from_id: string },
): Promise<string> {
  const found = await retention.messages(workspaceId, range, STEP_ROWS + 1)
  const { page, next } = pageOf(found, ({ id }) => id, range.before_id)
  const until = new Date(times.over.getTime() + SENDING_MS)
  const isOver = ({ ended_at }: (typeof page)[number]) => ended_at !== null && ended_at < until
  const open = page.find((message) => message.erased_at === null && !isOver(message))
  // The first walk skips messages that have not ended; the late walk stops at them, so that it erases all of them.
  const stop = kind === 'late_messages' && open ? open.id : next
  const over = page.filter((one) => one.erased_at === null && one.id < stop && isOver(one))
  if (over.length > 0) {
    const ids = over.map(({ id }) => id)
    await erasure.messages(workspaceId, ids, times.now)
    const last_sent = new Date(until.getTime() + SENDING_MS)
    await retention.forgetConversations(workspaceId, over, last_sent)
  }
  return stop
}

async function stepEvents(
  { retention, erasure }: Writes,
  { workspaceId, from_id, before_id }: Walk & { from_id: string },
): Promise<string> {
  const found = await retention.events(workspaceId, { from_id, before_id }, STEP_ROWS + 1)
  const { page, next } = pageOf(found, ({ id }) => id, before_id)
  const erased = page.flatMap(({ id, body }) => {
    const without = erasedBody(body)
    return without === null ? [] : [{ id, body: without }]
  })
  await erasure.rewriteEvents(workspaceId, erased)
  // The ids of deliveries and of their events come from the same clock.
  await retention.forgetResponses(workspaceId, { from_id, before_id: next })
  return next
}

/** A delivery that was tried again when it was old has an answer since the walk of its event. */
async function stepResponses(
  { retention }: Writes,
  { workspaceId, from_id, before_id }: Walk & { from_id: string },
): Promise<string> {
  const found = await retention.events(workspaceId, { from_id, before_id }, STEP_ROWS + 1)
  const { next } = pageOf(found, ({ id }) => id, before_id)
  await retention.forgetResponses(workspaceId, { from_id, before_id: next })
  return next
}

async function stepReceived(
  { retention, erasure }: Writes,
  { workspaceId, from_id, before_id }: Walk & { from_id: string },
): Promise<string> {
  const found = await retention.received(workspaceId, { from_id, before_id }, STEP_ROWS + 1)
  const { page, next } = pageOf(found, (id) => id, before_id)
  await erasure.removeReceived(workspaceId, page)
  return next
}

async function stepRejections(
  { retention }: Writes,
  { workspaceId, from_id, before_id }: Walk & { from_id: string },
): Promise<string> {
  const last = await retention.removeRejections(workspaceId, { from_id, before_id }, STEP_ROWS)
  return last ?? before_id
}

async function stepTexts(
  { retention }: Writes,
  { workspaceId, from_id, before_id }: Walk & { from_id: string },
): Promise<string> {
  const next = await retention.forgetTexts(workspaceId, { from_id, before_id }, STEP_ROWS)
  return next ?? before_id
}
