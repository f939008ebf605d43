import type { HandOver } from '../../hand-over.ts'
import type { Database, Transaction } from '../engine/database.ts'
import { isCommitUnknown } from '../engine/failure.ts'

/**
 * Runs a transaction that queues work, and hands the work over once the transaction is durable. `work` passes the
 * hand-over to `hold` as soon as it has reserved room.
 */
export async function queueing<T>(
  database: Database,
  work: (tx: Transaction, hold: (handOver: HandOver) => void) => Promise<T>,
): Promise<T> {
  const held: HandOver[] = []
  try {
    const done = await database.transact((tx) => {
      // The transaction may be a repetition.
      for (const before of held.splice(0)) before.release()
      return work(tx, (handOver) => held.push(handOver))
    })
    for (const each of held) each.handOver()
    return done
  } catch (error) {
    for (const each of held) {
      if (isCommitUnknown(error)) each.giveBack()
      else each.release()
    }
    throw error
  }
}
