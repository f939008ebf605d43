import { builders } from '../../../packages/core/test/fixtures.ts'
import type { Scratch, ScratchDatabase } from './scratch.ts'
import { costOf, type LinearCost, lineThrough, makeWorkspaces } from './verbs.ts'

/** The time that one workspace's account is locked. */
export interface HotCost {
  /** A batch of single sends: a debit and a ledger entry for each. */
  sends: LinearCost
  /** A bulk request of 1,000 recipients: one debit for all of them. */
  bulk_message_ms: number
}

const SMALL = 8
const LARGE = 512
const BULK = 1_000

/** Accepts batch after batch of one workspace without other load, so a batch's time is that of its lock. */
export async function costOfHotAccount(
  scratch: Scratch,
  database: ScratchDatabase,
  batches: number,
): Promise<HotCost> {
  const { storage, runtime } = database
  const make = builders(runtime)
  const [id] = (await makeWorkspaces(database, make, 1)) as [string]
  const sends = (size: number, count: number) =>
    costOf(scratch, count, () =>
      storage.hot.accept(Array.from({ length: size }, () => make.send(id))),
    )
  await sends(LARGE, 2)
  const small = await sends(SMALL, batches * 4)
  const large = await sends(LARGE, batches)
  const bulk = await costOf(scratch, batches, () => storage.hot.accept([make.bulk(id, BULK)]))
  return {
    sends: lineThrough([SMALL, small.wall_ms], [LARGE, large.wall_ms]),
    bulk_message_ms: bulk.wall_ms / BULK,
  }
}
