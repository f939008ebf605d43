import type { ReceivedPartRow } from '../rows/rows.ts'
import type { ReceivedMessageWrites } from '../storage/ports/inbound.ts'
import type { Writes } from '../storage/ports/storage.ts'
import { isRepeated, joined, PARTS_KEPT_MAX, PARTS_WAIT_MS } from './parts.ts'

type Store = Pick<ReceivedMessageWrites, 'partsOf' | 'insertPart' | 'removeParts'>

/**
 * Keeps a part of a long text. One that came shortly before changes nothing; another one of the same number begins
 * another text, because phones count their references round and round.
 */
export async function keepPart({ receivedMessages }: Writes, part: ReceivedPartRow): Promise<void> {
  const known = await receivedMessages.partsOf(part, new Date(0))
  const same = known.find(({ number }) => number === part.number)
  if (same && isRepeated(same, part)) return
  if (same) await receivedMessages.removeParts(part)
  await receivedMessages.insertPart(part)
  await receivedMessages.forgetOldestParts(part, PARTS_KEPT_MAX)
}

/**
 * The text to which a part belongs, to the first who asks once all its parts are kept and committed; null to all others.
 * The parts stay for as long as any would be waited for, so that a repeated one is known.
 */
export async function assemble(
  { receivedMessages }: { receivedMessages: Store },
  part: ReceivedPartRow,
): Promise<string | null> {
  const since = new Date(part.created_at.getTime() - PARTS_WAIT_MS)
  const text = joined(await receivedMessages.partsOf(part, since), part.total)
  if (text === null) return null
  const isFirst = await receivedMessages.insertPart({ ...part, number: 0, units: '' })
  return isFirst ? text : null
}
