import { dialects } from '../../rows/dialect.ts'
import type { ApiKeyRow } from '../../rows/rows.ts'
import { tables } from '../../rows/tables.ts'

import { gather } from '../../runtime/gather.ts'
import type { Log, Runtime } from '../../runtime/runtime.ts'
import type { Telemetry } from '../../runtime/telemetry.ts'
import { createListeners, createWriteWatch, reportCommitted } from '../after-commit.ts'
import type { Counter, HotVerbs } from '../ports/hot.ts'
import { MonthMisfit, type Storage } from '../ports/storage.ts'
import {
  type Clock,
  type ClockKind,
  clockOf,
  createClockSteps,
  type GivenLanes,
} from '../queueing.ts'
import { openCold } from './engine/cold.ts'
import { ANSWER_MAX_MS, alone, connect, REPLICA_SHARES } from './engine/connection.ts'

import { type Database, databaseOn } from './engine/database.ts'
import { isCommon, isMisfit, refusesWrites, textOf } from './engine/failure.ts'
import { migrate } from './engine/migrate.ts'
import { detachedMonths, shownMonth, unfinishedCommand } from './engine/partitions/detached.ts'
import { dropPartitions, keepPartitions } from './engine/partitions/months.ts'
import { removeMonths } from './engine/partitions/removal.ts'
import { createQueue, inTurn, type Queue } from './engine/queue.ts'
import { createReplicas } from './engine/replicas.ts'
import { createWaker, type Waker } from './engine/wake.ts'
import { prepareAccept } from './verbs/accept.ts'
import { prepareAdmission, prepareSweepCounters } from './verbs/admission.ts'
import { prepareCheckCodes } from './verbs/check-codes.ts'
import { prepareClaimDeliveries } from './verbs/claim-deliveries.ts'
import { prepareClaimMessages, prepareRedate } from './verbs/claim-messages.ts'

import { prepareRecordDeliveries } from './verbs/record-deliveries.ts'

import { prepareReschedule } from './verbs/reschedule.ts'
import { prepareSettle } from './verbs/settle.ts'

/** The maximum number of items of a batch: limits how long the batch holds its locks. */
const BATCH_MAX = 512

/**
 * Calls join the next batch while one batch of a verb is in flight. With two batches at once, the batches were smaller
 * and a third fewer sends were accepted (0.13 of the rate of the bare route, against 0.20).
 */
const BATCHES_AT_ONCE = 1

/** The maximum number of waiting jobs. It exceeds `BATCH_MAX`: each caller of a failed batch becomes a job. */
const BATCHES_WAITING_MAX = 2 * BATCH_MAX

/** The number is below the number of connections, so that a read inside a change always gets a connection. */
const WRITES_AT_ONCE = 4
const WRITES_WAITING_MAX = 10_000

/** Options of a PostgreSQL storage. */
export interface PostgresOptions {
  /** `caller` is only for a simulated clock. */
  clock?: ClockKind | undefined
  /**
   * The time limit of one operation, tries and pauses included; default: 10 s. Waiting in the queue is limited to half
   * of this time.
   */
  answer_max_ms?: number | undefined
  /** The database without a pooler, for what needs a session. */
  direct_url?: string | undefined
  /** Read replicas: standbys of the database. */
  replica_urls?: readonly string[] | undefined
  /** How long a read waits for a replica to catch up, and how far behind a replica may be, in milliseconds; default: 250. */
  replica_max_lag_ms?: number | undefined
}

export const REPLICA_MAX_LAG_MS = 250

/**
 * Opens a PostgreSQL database as storage, migrating it as needed. Any number of processes may have it open.
 * @throws Error in one line when the database cannot be reached, would lose data, was made by a newer version, or needs a
 *   migration that running servers of an older version would not survive.
 */
export async function openPostgres(
  url: string,
  runtime: Pick<Runtime, 'id' | 'random' | 'log' | 'telemetry'>,
  {
    clock = 'server',
    answer_max_ms = ANSWER_MAX_MS,
    direct_url,
    replica_urls,
    replica_max_lag_ms: max_lag_ms = REPLICA_MAX_LAG_MS,
  }: PostgresOptions = {},
): Promise<Storage> {
  const { id: newId, random, log, telemetry } = runtime
  const watch = createWriteWatch({ refuses: refusesWrites, probe: () => probe() })
  const bounds = {
    random,
    answer_max_ms,
    onCommit: reportCommitted(telemetry),
    onError: watch.failed,
  }
  const connections = await connect(url, { log, answer_max_ms, direct_url, replica_urls })
  const { hot, cold, lone, slow } = connections
  try {
    await migrate(slow, cold, { log })
  } catch (error) {
    await connections.end()
    throw error
  }
  const database = databaseOn(hot, bounds)
  const waker = createWaker({ database, connect: connections.connect, id: newId(), log })
  const logged = createListeners()
  const onLogged = () => {
    logged.call()
    waker.announce('events')
  }
  const queues: Queue[] = []
  const queue = (at_once: number, waiting_max: number) => {
    const made = createQueue({ at_once, waiting_max, wait_max_ms: answer_max_ms / 2 })
    queues.push(made)
    return made.run
  }
  const { replicas: places } = connections
  const { read, write, writeIn, assertWritable, probe, replicas } = openCold(cold, {
    ...bounds,
    clock: clockOf(clock),
    onLogged,
    replicas:
      places.length === 0
        ? null
        : (primary) =>
            createReplicas({
              primary,
              places,
              max_lag_ms,
              read_max_ms: answer_max_ms * REPLICA_SHARES.read,
              log,
            }),
  })
  replicas?.start()
  const changes = queue(WRITES_AT_ONCE, WRITES_WAITING_MAX)
  return {
    read,
    write: (work) => changes(() => write(work)),
    onEvents(listener) {
      const stops = [logged.add(listener), waker.onEvents(listener)]
      return () => {
        for (const stop of stops) stop()
      }
    },
    hot: hotVerbs({
      database,
      redate: prepareRedate(databaseOn(cold, bounds), clockOf(clock)),
      queue,
      waker,
      onLogged,
      clock: clockOf(clock),
      newId,
      random,
      telemetry,
      log,
    }),
    // Several servers dispatch together: a lease stays valid when another server starts.
    startDispatch: async () => ({ release: async () => {} }),
    mayOtherDispatch: () => true,
    alone: (name, work) => alone(lone, name, work),
    async ping() {
      await assertWritable()
      await watch.check()
    },
    // Other tasks of the sweeper wait meanwhile, and a next sweep tries again.
    keepPartitions: (ahead, now) => keepPartitions(cold, slow, { ahead, now, log, tries_max: 3 }),
    removeMonths: (which) => removeMonths(slow, { ...which, write, log, tries_max: 5 }),
    dropPartitions: (until) => dropPartitions(cold, until, { log, tries_max: 3 }),
    async detachedMonths() {
      const months = await detachedMonths((query, values) => cold.query(query as string, values))
      return months.map((month) => {
        const writeHere = writeIn(month.schema)
        return {
          month: shownMonth(month),
          unfinished: unfinishedCommand(month),
          write: (work) =>
            changes(() => writeHere(work)).catch((error) => {
              throw isMisfit(error) ? new MonthMisfit(textOf(error), { cause: error }) : error
            }),
        }
      })
    },
    replicas: () => replicas?.states() ?? [],
    async close() {
      await replicas?.stop()
      await Promise.all(queues.map((each) => each.close()))
      await waker.close()
      await connections.end()
    },
  }
}

function hotVerbs(parts: {
  database: Database
  redate: ReturnType<typeof prepareRedate>
  queue: (at_once: number, waiting_max: number) => Queue['run']
  waker: Waker
  onLogged: () => void
  clock: Clock
  newId: () => string
  random: () => number
  telemetry: Telemetry | undefined
  log: Log
}): HotVerbs {
  const { database, redate, queue, waker, onLogged, clock, newId, random, telemetry, log } = parts
  const t = tables(dialects.postgres)
  const bounds = { batch_max: BATCH_MAX, isCommon }
  const batches = () => queue(BATCHES_AT_ONCE, BATCHES_WAITING_MAX)
  const claims = () => queue(1, BATCHES_WAITING_MAX)

  const admission = gather(prepareAdmission(database, t, clock), batches(), bounds)
  const steps = createClockSteps(clock.kind)
  const lanes: GivenLanes = { current: null }
  const onMessages = {
    clock,
    onQueued: () => waker.announce('messages'),
    steps,
    lanes,
  }
  const onDeliveries = {
    clock,
    onQueued: () => waker.announce('deliveries'),
    onLogged,
    steps,
    lanes,
  }
  const claimMessages = prepareClaimMessages(database, t, { clock, steps, log, redate })
  const claimDeliveries = prepareClaimDeliveries(database, { clock, steps })
  const settling = prepareSettle(database, t, { ...onDeliveries, newId, random, telemetry })
  const reschedule = prepareReschedule(database, t, { ...onMessages, newId })
  const settlements = batches()
  const accept = gather(prepareAccept(database, t, onMessages), batches(), bounds)
  let requested = 0
  return {
    findApiKey: async (keyHash) => (await admission([keyHash]))[0] as ApiKeyRow | null,
    accept(requests) {
      for (const { broadcast } of requests) if (!broadcast) requested += 1
      return accept(requests)
    },
    requested: () => requested,
    claimMessages: inTurn(claims(), claimMessages),
    settle: gather(settling.settle, settlements, bounds),
    cancel: inTurn(settlements, settling.cancel),
    checkCodes: gather(
      prepareCheckCodes(database, t, { ...onDeliveries, newId }),
      batches(),
      bounds,
    ),
    reschedule: inTurn(settlements, reschedule),
    claimDeliveries: inTurn(claims(), claimDeliveries),
    recordDeliveries: gather(
      prepareRecordDeliveries(database, t, { clock, random, telemetry }),
      batches(),
      bounds,
    ),
    count: (countings) => admission(countings) as Promise<Counter[]>,
    sweepCounters: prepareSweepCounters(database, clock),
    onWake: waker.onWake,
    setLanes(given) {
      lanes.current = given
    },
  }
}
