import type { ReceivedPartRow } from '../rows/rows.ts'
import type { ReceivedMessageWrites } from '../storage/ports/inbound.ts'
import type { Writes } from '../storage/ports/storage.ts'
import { isRepeated, joined, PARTS_KEPT_MAX, PARTS_WAIT_MS } from './parts.ts'

type Store = Pick<ReceivedMessageWrites, 'partsOf' | 'insertPart' | 'removeParts'>

/**
 * Stores a part of a long text. A repeated part changes nothing. A different part with the same number starts another text,
 * because phones reuse their references.
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
 * Returns the whole text once, to the first caller after all its parts are committed; otherwise null. The parts stay until
 * their waiting time ends, so that a repeated part is recognized.
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
