import { realpathSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dialects } from '../../../rows/dialect.ts'
import { tables } from '../../../rows/tables.ts'
import { isLarge } from '../../../rules/accept.ts'
import type { SettleContext } from '../../../rules/settlement.ts'
import { gather } from '../../../runtime/gather.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { Telemetry } from '../../../runtime/telemetry.ts'
import {
  createLogWatch,
  createWriteWatch,
  noteCommits,
  reportRecorded,
  reportSettled,
} from '../../after-commit.ts'
import type { Durability } from '../../database-url.ts'
import type { HotVerbs } from '../../ports/hot.ts'
import { createClockSteps, type GivenLanes } from '../../queueing.ts'

import { prepareAccept } from '../verbs/accept.ts'
import { prepareCheckCodes } from '../verbs/check-codes.ts'
import { prepareClaimDeliveries } from '../verbs/claim-deliveries.ts'
import { prepareClaimMessages } from '../verbs/claim-messages.ts'
import { prepareRecordDeliveries } from '../verbs/record-deliveries.ts'
import { prepareReschedule } from '../verbs/reschedule.ts'
import { prepareSettle } from '../verbs/settle.ts'
import { CACHE_KIB, type Connection, connect, migrateFile, takeDispatchLock } from './connection.ts'

import { type Query, queryOver } from './query.ts'
import { namesOf, selectFrom } from './rows.ts'
import { createWriter, refusesWrites, type Writer } from './writer.ts'

/** The maximum number of requests of a batch: limits how long a commit takes. */
const BATCH_MAX = 512

/** The maximum for the dispatcher's work. Callers wait for a running batch: 64 settlements take about 4 ms. */
const BACKGROUND_BATCH_MAX = 64

/**
 * The pages of a large job that stay in memory; further changed pages go to the log. For 1,000 mails of 60 KB, the longest
 * turn of the event loop was 28 ms with 4 MiB, 40 ms with 16 MiB and 55 ms without this bound.
 */
const SPILLING_KIB = 4_096

/** The writing connection, its writer and the verbs. */
export interface Engine
  extends Pick<
    Required<HotVerbs>,
    | 'findApiKey'
    | 'keysVersion'
    | 'accept'
    | 'requested'
    | 'claimMessages'
    | 'settle'
    | 'cancel'
    | 'checkCodes'
    | 'reschedule'
    | 'claimDeliveries'
    | 'recordDeliveries'
    | 'setLanes'
  > {
  /** One durable transaction over the statements of the stores; if `work` throws, nothing is written. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** @throws Error when another process dispatches on this file. */
  takeDispatch(): Promise<void>
  releaseDispatch(): Promise<void>
  /** Whether another process has the right to dispatch. */
  isTaken(): boolean
  /** Resolves when writes reach the disk. @throws Error when they do not. */
  checkWrites(): Promise<void>
  /** See `Storage.fault`. */
  fault(): string | null
  close(): Promise<void>
}

/** Opens a file for writing, creating and migrating it as needed. */
export function openEngine(
  file: string,
  context: SettleContext,
  {
    onFailure,
    telemetry,
    log,
    onLogged,
    durability = 'disk',
    writeBack,
  }: {
    onFailure: (error: Error) => void
    /** Called after a commit that added events to the log. */
    onLogged: () => void
    telemetry?: Telemetry | undefined
    log: Pick<Log, 'warn'>
    durability?: Durability
    /** Makes a checkpoint in another thread; without it, the commits make the checkpoints. */
    writeBack?: (() => Promise<unknown>) | undefined
  },
): Engine {
  const connection = connect(file, { durability })
  migrateFile(connection, file)
  // By default, the pages that a savepoint may restore go to a new file of the system's temporary folder as soon as they
  // exceed 64 KiB. A migration may sort a whole table, and keeps the default.
  connection.pragma('temp_store = MEMORY')
  if (writeBack) connection.pragma('wal_autocheckpoint = 0')
  const watch = createWriteWatch({ refuses: refusesWrites, probe: () => writer.run(probe) })
  const logFile = `${realpathSync(file)}-wal`
  const logWatch = createLogWatch({
    log,
    logBytes: () => statSync(logFile, { throwIfNoEntry: false })?.size ?? 0,
    checkpoint() {
      const [row] = connection.pragma('wal_checkpoint(PASSIVE)') as CheckpointRow[]
      return { is_complete: row !== undefined && row.busy === 0 && row.log === row.checkpointed }
    },
    behind: writeBack
      ? {
          waiting() {
            const [row] = connection.pragma('wal_checkpoint(NOOP)') as CheckpointRow[]
            return row ? row.log - row.checkpointed : 0
          },
          async run() {
            try {
              await writeBack()
            } catch (error) {
              // The flush may have covered pages of a running commit, whose own flush then finds nothing to write.
              if ((error as { code?: unknown }).code === 'SQLITE_IOERR_FSYNC') writer.fail(error)
              throw error
            }
          },
        }
      : null,
  })
  let hasFailed = false
  const writer = createWriter(connection, {
    onFailure(error) {
      hasFailed = true
      onFailure(error)
    },
    onError: watch.failed,
    onCommit: noteCommits({
      telemetry,
      totalChanges: connection.prepare('select total_changes()').pluck(),
      writes: watch,
      logFile: logWatch,
    }),
  })
  /**
   * Runs a job that writes much. Its pages go to the log during the job, and are flushed by another thread, so that the
   * commit, which blocks the event loop, writes and flushes only the last pages. A flush that fails is reported to the
   * next flush of the connection too.
   */
  async function spilling<T>(job: () => Promise<T>): Promise<T> {
    connection.pragma(`cache_size = -${SPILLING_KIB}`)
    try {
      const result = await job()
      if (durability === 'disk') {
        const handle = await open(logFile, 'r+')
        await handle.datasync().finally(() => handle.close())
      }
      return result
    } finally {
      connection.pragma(`cache_size = -${CACHE_KIB}`)
    }
  }
  /** Writes one page to the log: SQLite writes this number even if it does not change. svc does not use the number. */
  const probe = () => void connection.pragma('user_version = 0')
  const t = tables(dialects.sqlite)
  const { run, runInBackground } = writer
  const bounds = { batch_max: BACKGROUND_BATCH_MAX }
  const steps = createClockSteps()
  const lanes: GivenLanes = { current: null }
  const accept = prepareAccept(connection, t, {
    steps,
    lanes,
    afterCommit: writer.afterCommit,
    spilling,
  })
  const claimMessages = prepareClaimMessages(connection, t, {
    steps,
    log,
    afterCommit: writer.afterCommit,
  })
  const settling = prepareSettle(connection, t, {
    ...context,
    steps,
    lanes,
    afterCommit: writer.afterCommit,
    onSettled: telemetry && ((plan) => writer.afterCommit(() => reportSettled(telemetry, plan))),
    onLogged,
  })
  const checkCodes = prepareCheckCodes(connection, t, {
    steps,
    lanes,
    afterCommit: writer.afterCommit,
    onLogged,
    newId: context.newId,
  })
  const reschedule = prepareReschedule(connection, t, context)
  const recordDeliveries = prepareRecordDeliveries(connection, t, {
    ...context,
    onRecorded: telemetry && ((plan) => writer.afterCommit(() => reportRecorded(telemetry, plan))),
  })
  const claimDeliveries = prepareClaimDeliveries(connection, { steps })
  const query = queryOver(connection)
  // The query uses the writer's connection: every commit of another connection empties a reader's cache.
  const findKey = selectFrom(connection, t.api_keys, namesOf(t.api_keys), 'key_hash = ?')
  const dataVersion = connection.prepare('pragma data_version').pluck()
  let seenVersion: unknown
  let version = 0
  let isSeen = false
  /**
   * The pragma changes with each commit of another connection. It is read once in a turn of the event loop, because it
   * takes a lock: with a read for each request it was 14 % of the time to accept a message. A request that arrives after
   * such a commit is read from its socket in a later turn.
   */
  const seeOthers = () => {
    if (isSeen) return
    isSeen = true
    setImmediate(() => {
      isSeen = false
    })
    const seen = dataVersion.get()
    if (seen !== seenVersion) version += 1
    seenVersion = seen
  }
  let lock: Connection | null = null
  let requested = 0
  const acceptTogether = gather(accept, run, { batch_max: BATCH_MAX, onJoin: writer.grew })
  const acceptStep = writer.inBackground(accept)
  return {
    findApiKey: async (keyHash) => findKey(keyHash)[0] ?? null,
    accept(requests) {
      if (!requests.some(({ broadcast }) => broadcast)) {
        requested += requests.length
        return acceptTogether(requests)
      }
      // Callers do not wait for a step, except one that needs turns of the event loop, which no background job may take.
      return isLarge(requests) ? run(() => accept(requests)) : acceptStep(requests)
    },
    requested: () => requested,
    claimMessages: writer.inBackground(claimMessages),
    settle: gather(settling.settle, runInBackground, bounds),
    cancel: (request) => run(() => settling.cancel(request)),
    checkCodes: gather(checkCodes, run, { batch_max: BATCH_MAX, onJoin: writer.grew }),
    reschedule: (requests) => run(() => requests.map(reschedule)),
    claimDeliveries: writer.inBackground(claimDeliveries),
    recordDeliveries: gather(recordDeliveries, runInBackground, bounds),
    setLanes(given) {
      lanes.current = given
    },
    keysVersion() {
      seeOthers()
      // `transaction` counts the commits of this connection.
      return version
    },
    async transaction(work) {
      try {
        return await run(() => {
          version += 1
          return work(query)
        })
      } finally {
        // The version rises again at the end: a key that was read in between may differ from the stored key.
        version += 1
      }
    },
    async takeDispatch() {
      lock = takeDispatchLock(file)
      await freeLeases(writer, connection)
    },
    isTaken() {
      if (lock !== null) return false
      try {
        takeDispatchLock(file).close()
        return false
      } catch {
        return true
      }
    },
    async releaseDispatch() {
      lock?.close()
      lock = null
    },
    checkWrites: watch.check,
    fault: logWatch.fault,
    async close() {
      await writer.idle()
      lock?.close()
      // After a failure the connection stays open: closing makes a checkpoint, which must not happen before the next
      // process has opened the file (see `flushLog`).
      if (hasFailed) return
      connection.pragma('wal_checkpoint(TRUNCATE)')
      connection.close()
    },
  }
}

/** The numbers of pages in the log and of those in the database file. */
interface CheckpointRow {
  busy: number
  log: number
  checkpointed: number
}

/**
 * Only one process holds the lock, so every remaining lease and gate belongs to a dead process. A delivery keeps the time of
 * its claim as its due time: what waited at a gate for longer than the schedule of tries is discarded.
 */
async function freeLeases(writer: Writer, connection: Connection): Promise<void> {
  await writer.run(() => {
    connection.exec('update message_queue set due_at = 0 where token is not null')
    connection.exec(
      'update delivery_queue set due_at = coalesce(set_at, due_at), token = null where token is not null',
    )
    connection.exec('update receiver_hosts set held_until = null where held_until is not null')
  })
}
