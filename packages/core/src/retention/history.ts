import { setTimeout as pause } from 'node:timers/promises'
import { countLots } from '../credits/lots.ts'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Folded, FoldStep, HistoryPage } from '../storage/ports/stores.ts'
import type { Retention } from './retention.ts'
import { assertDays, LEDGER_DAYS_MIN, RETENTION_DAYS_MIN } from './retention.ts'

const DAY_MS = 24 * 60 * 60_000

/** The number of rows in one transaction; sends wait while it runs. */
const STEP_ROWS = 100

/** The number of ledger entries in one transaction; sends wait while it runs. */
const STEP_ENTRIES = 200

/** The number of bulks of one page: for each of them all its messages are looked at. */
const BULKS = 10

/** The pause after each page, so that sends get the database. */
const PAUSE_MS = 20

/** The maximum number of pages before the other tasks of the sweeper run. */
const PAGES_MAX = 1_000

/** The time from a walk through the whole history to the next one. */
const EVERY_MS = 60 * 60_000

/**
 * Where a month is removed at once, its rows wait for that: at most for the length of the month and as long again, in which unfinished
 * rows can end.
 */
const WAIT_MS = 62 * DAY_MS

/**
 * A message that was accepted before this time was removed if it can be: it was sent 35 days ahead, was valid for 35 more, got
 * reports of networks, and waited for its month.
 */
const ENDS_MS = 76 * DAY_MS + WAIT_MS

/** After this time without a change, nothing of a month is in motion. */
const QUIET_MS = RETENTION_DAYS_MIN * DAY_MS

/** The number of workspaces that one query reads. */
const WORKSPACES = 100

/** The workspace id of received data that belongs to no workspace. */
const NO_WORKSPACE = ''

/**
 * Removes finished history that is older than `days` and unchanged for as long, oldest first: bulks, deliveries, events,
 * messages and received messages. Where the histories have partitions, each month is removed at once if it is finished. A partition that is
 * empty then is dropped. What is not finished stays. With `ledger`, the
 * ledger entries of removed messages that are older than its days are folded into openings; otherwise all entries stay. The
 * rows themselves are the progress, so that a crash between two steps leaves nothing to repair.
 * @throws RangeError unless `days` is a whole number from `RETENTION_DAYS_MIN` to `RETENTION_DAYS_MAX`, and the days of
 * `ledger` one from `LEDGER_DAYS_MIN` to `RETENTION_DAYS_MAX` and at least `days`.
 */
export function createHistoryRetention({
  storage,
  runtime,
  days,
  ledger = null,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'id' | 'log'>
  days: number
  ledger?: FoldedLedger | null
}): Retention {
  assertDays('history_days', days)
  if (ledger) assertLedgerDays(ledger.days, days)
  let done_at: Date | null = null
  /** Where the walk that was interrupted goes on, behind rows that must stay. */
  let places = new Map<string, string>()
  /** Whether rows wait for the removal of their month; null before the months of this walk were looked at. */
  let waits: boolean | null = null

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
      const walk = async ({ name, limit, step, before }: Walk): Promise<boolean> => {
        const before_id = idFloor(before)
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
      const parts = { storage, until, now }
      for await (const workspaceId of workspaceIds(storage)) {
        if (workspaceId === NO_WORKSPACE) continue
        if (!(await walk(bulksOf(parts, workspaceId)))) return
      }
      const quiet_since = new Date(now.getTime() - QUIET_MS)
      waits ??= (await storage.removeMonths?.({ until, quiet_since, at: now, isStopping })) ?? false
      const before = new Date(until.getTime() - (waits ? WAIT_MS : 0))
      for await (const workspaceId of workspaceIds(storage)) {
        for (const each of await walksOf(parts, workspaceId, before)) {
          if (!(await walk(each))) return
        }
      }
      while (mayContinue()) {
        const gone = await storage.write(({ history }) => history.removePositions(STEP_ROWS))
        if (gone < STEP_ROWS) break
        pages += 1
        await pause(PAUSE_MS)
      }
      const foldAll = async ({ days, key: readKey }: FoldedLedger): Promise<void> => {
        const end = startOfDay(now, days)
        const kept_until = new Date(end.getTime() - ENDS_MS)
        const step = { until: end, kept_until, limit: STEP_ENTRIES, at: now }
        for await (const workspaceId of foldable(storage, step.until)) {
          while (mayContinue()) {
            const key = await readKey()
            const next = await fold(storage, workspaceId, { ...step, id: runtime.id(), key })
            pages += 1
            await pause(PAUSE_MS)
            if (next === 'more') continue
            if (next === 'moving') {
              return runtime.log.warn(
                {},
                'no more ledger entries were folded, because a month is half detached or attached: svc partitions status names it',
              )
            }
            if (next === 'invalid') {
              const fields = { workspace_id: workspaceId }
              runtime.log.error(
                fields,
                'the opening of a ledger has no valid signature; nothing was folded',
              )
            }
            break
          }
        }
      }
      // Messages first: the entries of a message that exists are kept as rows.
      if (ledger) await foldAll(ledger)
      if (!mayContinue()) return
      await storage.dropPartitions?.(until)
      places = new Map()
      waits = null
      done_at = now
    },
  }
}

/** The folding of old ledger entries. */
export interface FoldedLedger {
  /** The age of the entries. */
  days: number
  /** The key that signs openings. */
  key: () => Promise<string>
}

function assertLedgerDays(days: number, history_days: number): void {
  assertDays('ledger_days', days)
  if (days < LEDGER_DAYS_MIN) {
    throw new RangeError(`ledger_days must be at least ${LEDGER_DAYS_MIN}, got ${days}`)
  }
  if (days < history_days) {
    throw new RangeError(`ledger_days must be at least history_days, got ${days}, ${history_days}`)
  }
}

/** The start of the day (UTC) that was `days` before `now`. */
function startOfDay(now: Date, days: number): Date {
  return new Date((Math.floor(now.getTime() / DAY_MS) - days) * DAY_MS)
}

/** One step for one workspace, in one transaction. */
function fold({ write }: Storage, workspaceId: string, step: FoldStep): Promise<Folded['next']> {
  return write(async (stores) => {
    const folded = await stores.ledgerOpenings.fold(workspaceId, step)
    if (folded.next !== 'lots') return folded.next
    await stores.credits.lock(workspaceId)
    await countLots(stores, workspaceId, folded.lots_seq)
    return 'more'
  })
}

async function* foldable({ write }: Storage, until: Date): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const page = { after, limit: WORKSPACES }
    const ids = await write(({ ledgerOpenings }) => ledgerOpenings.due(until, page))
    yield* ids
    if (ids.length < WORKSPACES) return
    after = ids.at(-1) ?? after
  }
}

/** The way through the rows of one kind, oldest first. */
interface Walk {
  /** Unique among all walks. */
  name: string
  /** The number of rows of a page. */
  limit: number
  /** Rows with ids of this time and later stay. */
  before: Date
  step: Step
}

/** Removes what is finished of one page; returns the ids of the page. */
type Step = (page: HistoryPage) => Promise<string[]>

/** What the walks of a call have in common. */
interface Parts {
  storage: Storage
  /** Only what is unchanged since is removed. */
  until: Date
  now: Date
}

async function* workspaceIds({ read }: Pick<Storage, 'read'>): AsyncGenerator<string> {
  yield NO_WORKSPACE
  for (let after = ''; ; ) {
    const ids = await read.history.due(after, WORKSPACES)
    yield* ids
    if (ids.length < WORKSPACES) return
    after = ids.at(-1) ?? after
  }
}

/** The walk through the bulks of one workspace. Their messages can go then. */
function bulksOf({ storage: { read, write }, until, now }: Parts, workspaceId: string): Walk {
  const step: Step = async (page) => {
    const found = await read.history.bulks(workspaceId, page, until)
    for (const { id } of found.filter(({ is_finished }) => is_finished)) {
      const some = { limit: STEP_ROWS, at: now }
      while (await write(({ history }) => history.removeBulk(workspaceId, id, some))) {
        await pause(PAUSE_MS)
      }
    }
    return found.map(({ id }) => id)
  }
  return { name: `${workspaceId} bulks`, limit: BULKS, before: until, step }
}

/** The other walks through one workspace, in their order: what refers to other rows goes first. */
async function walksOf(
  { storage: { read, write }, until, now }: Parts,
  workspaceId: string,
  before: Date,
): Promise<Walk[]> {
  const walk = (name: string, step: Step, end = before): Walk => {
    return { name: `${workspaceId} ${name}`, limit: STEP_ROWS, before: end, step }
  }
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
  if (workspaceId === NO_WORKSPACE) return [walk('received', received, until)]
  const webhooks = await read.history.webhooks(workspaceId)
  const deliveries = webhooks.map((id) =>
    walk(
      `deliveries ${id}`,
      pageBy(
        (page) => read.history.deliveries(workspaceId, id, page),
        (ids) => write(({ history }) => history.removeDeliveries(workspaceId, id, ids, until)),
      ),
    ),
  )
  const events = pageBy(
    (page) => read.history.ids(workspaceId, 'events', page),
    (ids) => write(({ history }) => history.removeEvents(workspaceId, ids)),
  )
  const messages = pageBy(
    (page) => read.history.ids(workspaceId, 'messages', page),
    (ids) => write(({ history }) => history.removeMessages(workspaceId, ids, { until, at: now })),
  )
  return [
    ...deliveries,
    walk('events', events),
    walk('messages', messages),
    walk('received', received, until),
  ]
}
