import { enablePartitions } from '../../../packages/core/src/maintenance/partitions/partitions.ts'
import { builders } from '../../../packages/core/test/fixtures.ts'
import type { Scratch, ScratchDatabase } from './scratch.ts'
import { costOf, costOfVerbs, makeWorkspaces, VERBS } from './verbs.ts'

/** The cost of one workspace's lists at this number of messages; milliseconds until the answer. */
export interface ListCost {
  rows: number
  /** The database's CPU for the newest 50 and the total. */
  cpu_ms: number
  /** The newest 50. */
  page_ms: number
  /** 50 after an offset of a tenth of the history. */
  deep_page_ms: number
  /** The total, which every page contains. */
  count_ms: number
  /** A recipient without messages: a search through all. */
  search_ms: number
  /** Of all indexes of `messages`. */
  index_bytes: number
}

/** The number of queries of each kind. */
const QUERIES = 16

/** The smallest id of a row that was created at `at`: a UUIDv7 begins with its millisecond. */
const ID_AT = `create function svc_id_at(at timestamptz) returns text language sql immutable as $$
  select substr(ms, 1, 8) || '-' || substr(ms, 9)
  from lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as ms
$$`

/** Fills one workspace up to each size, and reads its lists. */
export async function costOfLists(
  scratch: Scratch,
  database: ScratchDatabase,
  sizes: readonly number[],
): Promise<ListCost[]> {
  const make = builders(database.runtime)
  const [workspaceId] = (await makeWorkspaces(database, make, 1)) as [string]
  await database.pool.query(ID_AT)
  const costs: ListCost[] = []
  let rows = 0
  for (const size of sizes) {
    await fill(database, workspaceId, rows, size)
    rows = size
    costs.push(await requestPage(scratch, database, workspaceId, rows))
  }
  return costs
}

async function requestPage(
  scratch: Scratch,
  { storage, one }: ScratchDatabase,
  workspaceId: string,
  rows: number,
): Promise<ListCost> {
  const { messages } = storage.read
  const { index_bytes } = await one<{ index_bytes: number }>(
    `select pg_indexes_size('messages')::float8 as index_bytes`,
  )
  const first = { limit: 50, offset: 0 }
  const deep = { limit: 50, offset: rows / 10 }
  const wallOf = async (query: () => Promise<unknown>) =>
    (await costOf(scratch, QUERIES, query)).wall_ms
  const page = () => messages.list(workspaceId, {}, first)
  const total = () => messages.count(workspaceId, {})
  return {
    rows,
    index_bytes,
    cpu_ms: (await costOf(scratch, QUERIES, () => Promise.all([page(), total()]))).cpu_ms,
    page_ms: await wallOf(page),
    deep_page_ms: await wallOf(() => messages.list(workspaceId, {}, deep)),
    count_ms: await wallOf(total),
    search_ms: await wallOf(() => messages.list(workspaceId, { recipient: '+10000000000' }, first)),
  }
}

async function fill(
  { pool, storage, runtime }: ScratchDatabase,
  workspaceId: string,
  from: number,
  to: number,
): Promise<void> {
  if (from === 0) await storage.hot.accept([builders(runtime).send(workspaceId)])
  // Copies of one message, a second apart, the last one now.
  await pool.query(
    `insert into messages select r.* from messages m
     cross join lateral (
       select md5(n::text) as noise, m.created_at - make_interval(secs => 20000000 - n) as at
       from generate_series($2::int, $3::int) n
     ) s
     cross join lateral json_populate_record(m, json_build_object(
       'id', svc_id_at(at) || '-7' || substr(noise, 1, 3) || '-8' || substr(noise, 4, 3) || '-' || substr(noise, 7, 12),
       'status', 'delivered', 'created_at', at
     )) r
     where m.workspace_id = $1 and m.id = (select max(id) from messages where workspace_id = $1)`,
    [workspaceId, from + 1, to - 1],
  )
  await pool.query('vacuum analyze messages')
}

/** The database's CPU for a batch of 64 through all verbs, by the number of partitions of each history. */
export interface PartitionCost {
  partitions: number
  cpu_ms: number
}

const BATCH = 64

/** Partitions every history by months around now, as the page describes, and measures the verbs on it. */
export async function costOfPartitions(
  scratch: Scratch,
  counts: readonly number[],
  batches: number,
): Promise<PartitionCost[]> {
  const costs: PartitionCost[] = []
  for (const partitions of counts) {
    const database = await scratch.open(`partitions_${partitions}`)
    try {
      await partition(database, partitions)
      const workspaces = await makeWorkspaces(database, builders(database.runtime), 16)
      const shape = { workspaces, size: BATCH }
      await costOfVerbs(scratch, database, { ...shape, batches: 4 })
      const cost = await costOfVerbs(scratch, database, { ...shape, batches })
      const cpu_ms = VERBS.reduce((sum, verb) => sum + cost[verb].cpu_ms, 0)
      costs.push({ partitions, cpu_ms })
    } finally {
      await database.close()
    }
  }
  return costs
}

/** The first partition has everything before this month; half of the others are after it. */
async function partition({ url }: ScratchDatabase, count: number): Promise<void> {
  if (count === 0) return
  const today = new Date()
  const months = Math.floor(count / 2) + 2
  const now = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months, 1))
  await enablePartitions(url, { now, ahead: count })
}
