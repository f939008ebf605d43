import { setTimeout as pause } from 'node:timers/promises'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { HistoryPage } from '../storage/ports/stores.ts'
import type { Retention } from './retention.ts'
import { assertDays } from './retention.ts'

const DAY_MS = 24 * 60 * 60_000

/** The number of rows in one transaction; sends wait while it runs. */
const STEP_ROWS = 100

/** The number of bulks of one page: for each of them all its messages are looked at. */
const BULKS = 10

/** The pause after each page, so that sends get the database. */
const PAUSE_MS = 20

/** The maximum number of pages before the other tasks of the sweeper run. */
const PAGES_MAX = 1_000

/** The time from a walk through the whole history to the next one. */
const EVERY_MS = 60 * 60_000

/** The number of workspaces that one query reads. */
const WORKSPACES = 100

/** The workspace id of received data that belongs to no workspace. */
const NO_WORKSPACE = ''

/**
 * Removes finished history that is older than `days` and unchanged for as long, oldest first: deliveries, events, bulks,
 * messages and received messages. A partition that is empty then is dropped. Ledger entries and everything that is not finished stay. The rows themselves are the
 * progress, so that a crash between two steps leaves nothing to repair.
 * @throws RangeError unless `days` is a whole number from `RETENTION_DAYS_MIN` to `RETENTION_DAYS_MAX`.
 */
export function createHistoryRetention({
  storage,
  runtime,
  days,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now'>
  days: number
}): Retention {
  assertDays('history_days', days)
  let done_at: Date | null = null
  /** Where the walk that was interrupted goes on, behind rows that must stay. */
  let places = new Map<string, string>()

  return {
    async apply(isStopping) {
      const now = runtime.now()
      const since_ms = done_at ? now.getTime() - done_at.getTime() : EVERY_MS
      // `since_ms` is negative when the clock was ahead at the last walk.
      if (since_ms >= 0 && since_ms < EVERY_MS) return
      const until = new Date(now.getTime() - days * DAY_MS)
      let pages = 0
      const mayContinue = () => !isStopping() && pages < PAGES_MAX
      /** Goes through the rows of one kind; returns whether it reached their end. */
      const walk = async (name: string, limit: number, step: Step): Promise<boolean> => {
        const before_id = idFloor(until)
        for (let after_id = places.get(name) ?? ''; mayContinue(); ) {
          const ids = await step({ after_id, before_id, limit })
          const last = ids.at(-1)
          if (last === undefined) return true
          after_id = last
          places.set(name, last)
          pages += 1
          await pause(PAUSE_MS)
          if (ids.length < limit) return true
        }
        return false
      }
      for await (const workspaceId of workspaceIds(storage)) {
        for (const [name, limit, step] of await stepsOf(storage, workspaceId, { until, now })) {
          if (!(await walk(`${workspaceId} ${name}`, limit, step))) return
        }
      }
      while (mayContinue()) {
        const gone = await storage.write(({ history }) => history.removePositions(STEP_ROWS))
        if (gone < STEP_ROWS) break
        pages += 1
        await pause(PAUSE_MS)
      }
      if (!mayContinue()) return
      await storage.dropPartitions?.(until)
      places = new Map()
      done_at = now
    },
  }
}

/** Removes what is finished of one page; returns the ids of the page. */
type Step = (page: HistoryPage) => Promise<string[]>

async function* workspaceIds({ read }: Pick<Storage, 'read'>): AsyncGenerator<string> {
  yield NO_WORKSPACE
  for (let after = ''; ; ) {
    const ids = await read.history.due(after, WORKSPACES)
    yield* ids
    if (ids.length < WORKSPACES) return
    after = ids.at(-1) ?? after
  }
}

/** The walks through one workspace, in their order: what refers to other rows goes first. */
async function stepsOf(
  { read, write }: Storage,
  workspaceId: string,
  { until, now }: { until: Date; now: Date },
): Promise<[string, number, Step][]> {
  /** Reads a page, and writes only if it has rows. */
  const pageBy =
    (
      find: (page: HistoryPage) => Promise<string[]>,
      remove: (ids: string[]) => Promise<unknown>,
    ): Step =>
    async (page) => {
      const ids = await find(page)
      if (ids.length > 0) await remove(ids)
      return ids
    }
  const received = pageBy(
    (page) => read.history.ids(workspaceId, 'received_messages', page),
    (ids) => write(({ history }) => history.removeReceived(workspaceId, ids)),
  )
  if (workspaceId === NO_WORKSPACE) return [['received', STEP_ROWS, received]]
  const webhooks = await read.history.webhooks(workspaceId)
  const deliveries = webhooks.map((id): [string, number, Step] => [
    `deliveries ${id}`,
    STEP_ROWS,
    pageBy(
      (page) => read.history.deliveries(workspaceId, id, page),
      (ids) => write(({ history }) => history.removeDeliveries(workspaceId, id, ids, until)),
    ),
  ])
  const events = pageBy(
    (page) => read.history.ids(workspaceId, 'events', page),
    (ids) => write(({ history }) => history.removeEvents(workspaceId, ids)),
  )
  const bulks: Step = async (page) => {
    const found = await read.history.bulks(workspaceId, page, until)
    for (const { id } of found.filter(({ is_finished }) => is_finished)) {
      const some = { limit: STEP_ROWS, at: now }
      while (await write(({ history }) => history.removeBulk(workspaceId, id, some))) {
        await pause(PAUSE_MS)
      }
    }
    return found.map(({ id }) => id)
  }
  const messages = pageBy(
    (page) => read.history.ids(workspaceId, 'messages', page),
    (ids) => write(({ history }) => history.removeMessages(workspaceId, ids, { until, at: now })),
  )
  return [
    ...deliveries,
    ['events', STEP_ROWS, events],
    ['bulks', BULKS, bulks],
    ['messages', STEP_ROWS, messages],
    ['received', STEP_ROWS, received],
  ]
}
