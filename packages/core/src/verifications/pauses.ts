import type { VerificationCountRow, VerificationPauseRow } from '../rows/rows.ts'
import { codeWindows, isPaused } from '../rules/verify.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Adds whether each pause still refuses codes: it ends when codes are approved, or when its messages are a day old. */
export async function withState<Pause extends VerificationPauseRow>(
  { read }: Pick<Storage, 'read'>,
  pauses: readonly Pause[],
  at: Date,
): Promise<(Pause & { is_active: boolean })[]> {
  const counts = await read.verifications.countsOf(pauses, codeWindows(at).counts)
  const byCountry = new Map<string, VerificationCountRow[]>()
  for (const count of counts) {
    byCountry.set(keyOf(count), [...(byCountry.get(keyOf(count)) ?? []), count])
  }
  return pauses.map((pause) => {
    return { ...pause, is_active: isPaused(pause, byCountry.get(keyOf(pause)) ?? [], at) }
  })
}

function keyOf({ workspace_id, country }: { workspace_id: string; country: string }): string {
  return `${workspace_id}\n${country}`
}
