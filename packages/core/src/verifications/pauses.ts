import type { VerificationCountRow, VerificationPauseRow } from '../rows/rows.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import { codeWindows, endOfPause } from '../rules/verify.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** A pause looks at the counts of a day and the hour before it, which do not grow while it lasts. */
const PAUSE_MAX_MS = 25 * HOUR_MS

/**
 * Adds whether each pause still refuses codes, and when it ends without an approval. For a pause that has ended, this is the
 * latest end that it could have.
 */
export async function withState<Pause extends VerificationPauseRow>(
  { read }: Pick<Storage, 'read'>,
  pauses: readonly Pause[],
  at: Date,
): Promise<(Pause & { is_active: boolean; ends_at: Date })[]> {
  const counts = await read.verifications.countsOf(pauses, codeWindows(at).counts)
  const byCountry = new Map<string, VerificationCountRow[]>()
  for (const count of counts) {
    byCountry.set(keyOf(count), [...(byCountry.get(keyOf(count)) ?? []), count])
  }
  return pauses.map((pause) => {
    const end = endOfPause(pause, byCountry.get(keyOf(pause)) ?? [], at)
    const latest_ms = Math.floor(pause.paused_at.getTime() / HOUR_MS) * HOUR_MS + PAUSE_MAX_MS
    return { ...pause, is_active: end !== null, ends_at: end ?? new Date(latest_ms) }
  })
}

function keyOf({ workspace_id, country }: { workspace_id: string; country: string }): string {
  return `${workspace_id}\n${country}`
}
