import { builders } from '../../../packages/core/test/fixtures.ts'
import { onStage } from '../../stage/stage.ts'
import { costOfLists, costOfPartitions, type ListCost, type PartitionCost } from './history.ts'
import { costOfHotAccount, type HotCost } from './hot-account.ts'
import { LIST_ROWS, type Measured } from './model.ts'
import { type Scratch, startScratch } from './scratch.ts'
import {
  costOfCommit,
  costOfVacuum,
  eachOf,
  type VacuumCost,
  type Written,
  writtenBy,
} from './storing.ts'
import { type BatchCost, costOfVerbs, makeWorkspaces, type Verb } from './verbs.ts'
import { costOfWholePath, type PathCost } from './whole-path.ts'

const SMALL = 8
const LARGE = 256
const WORKSPACES = 256

/** All measurements, as input of a model. */
export interface Measurements {
  small: Record<Verb, BatchCost>
  large: Record<Verb, BatchCost>
  sizes: { small: number; large: number; messages: number }
  each: Written
  vacuum: VacuumCost
  flush_ms: number
  hot: HotCost
  path: PathCost
  lists: ListCost[]
  partitions: PartitionCost[]
}

/** Measures on a new server; `print` gets a description of each step. */
export async function measure(
  quick: boolean,
  print: (text: string) => void,
): Promise<Measurements> {
  return onStage(async (stage) => {
    const scratch = await startScratch(stage)
    print('the verbs, bytes and vacuum')
    const stored = await measureVerbs(scratch, quick)
    print('the whole path through a real server')
    const path = await costOfWholePath(scratch, quick ? 4_000 : 12_000)
    print('a year of partitions')
    const partitions = await costOfPartitions(scratch, [0, 12, 60], quick ? 10 : 40)
    print('lists of a long history')
    const database = await scratch.open('lists')
    const lists = await costOfLists(scratch, database, [LIST_ROWS, quick ? 300_000 : 1_000_000])
    await database.close()
    return { ...stored, path, partitions, lists }
  })
}

async function measureVerbs(scratch: Scratch, quick: boolean) {
  const database = await scratch.open('verbs')
  try {
    const workspaces = await makeWorkspaces(database, builders(database.runtime), WORKSPACES)
    await costOfVerbs(scratch, database, { workspaces, batches: 4, size: LARGE })
    const batches = quick ? 20 : 64
    const from = await writtenBy(database)
    const large = await costOfVerbs(scratch, database, { workspaces, batches, size: LARGE })
    const each = eachOf(batches * LARGE, from, await writtenBy(database))
    const small = await costOfVerbs(scratch, database, {
      workspaces,
      batches: batches * 8,
      size: SMALL,
    })
    const messages = (batches + 4) * LARGE + batches * 8 * SMALL
    const vacuum = await costOfVacuum(database, messages)
    const flush_ms = await costOfCommit(database)
    const hot = await costOfHotAccount(scratch, database, quick ? 10 : 30)
    const sizes = { small: SMALL, large: LARGE, messages }
    return { small, large, sizes, each, vacuum, flush_ms, hot }
  } finally {
    await database.close()
  }
}

/** The input of the model. */
export function modelled({
  each,
  vacuum,
  flush_ms,
  hot,
  path,
  lists,
  partitions,
}: Measurements): Measured {
  const list = lists.find(({ rows }) => rows === LIST_ROWS) as ListCost
  const cpuWith = (count: number) =>
    (partitions.find((cost) => cost.partitions === count) as PartitionCost).cpu_ms
  return {
    server_cpu_ms: path.server_cpu_ms,
    db_cpu_ms: path.db_cpu_ms,
    wal_bytes: each.wal_bytes,
    stored_bytes: each.table_bytes + each.index_bytes,
    index_bytes: each.index_bytes,
    vacuum_ms: vacuum.paced_ms,
    hot: hot.sends,
    bulk_message_ms: hot.bulk_message_ms,
    flush_ms,
    list_cpu_ms: list.cpu_ms,
    partition_factor: Math.max(1, cpuWith(12) / cpuWith(0)),
  }
}
