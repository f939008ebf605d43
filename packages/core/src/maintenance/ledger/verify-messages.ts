import { MESSAGE_CHECKS } from './message-checks.ts'
import { nameFaults, type Run } from './run.ts'
import { slicesOf } from './slices.ts'
import { sumMessages } from './sums.ts'
import { type MarkTally, tallyMarks } from './tally.ts'
import { nameSingleEntries } from './verify-entries.ts'

const SLICED = { table: 'messages', key: 'id' } as const

/** Sums the messages in one pass. Checks entries and messages one by one only if their sums differ. */
export async function verifyMessages(run: Run, total: number, booked: MarkTally): Promise<void> {
  const { snapshot, workspaceId } = run
  const marks = tallyMarks()
  let messages = 0
  for await (const slice of slicesOf(snapshot, SLICED, workspaceId)) {
    for (const sums of await sumMessages(snapshot, slice, run)) {
      marks.add(sums)
      messages += sums.messages
    }
    run.report('messages', messages, total)
  }
  run.report('messages', total, total)
  if (marks.text() === booked.text() && !run.isThorough) return
  await nameSingleEntries(run)
  for await (const slice of slicesOf(snapshot, SLICED, workspaceId)) {
    const about = `'message:' || t.id`
    await nameFaults(run, MESSAGE_CHECKS, { from: 'messages t', slice, seq: 'null', about })
  }
}
