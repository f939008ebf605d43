import type { VerificationPauseRow } from '../rows/rows.ts'
import { codeWindows, isPaused } from '../rules/verify.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Adds whether each pause still refuses codes: it ends when codes are approved, or when its messages are a day old. */
export async function withState<Pause extends VerificationPauseRow>(
  { read }: Pick<Storage, 'read'>,
  pauses: readonly Pause[],
  at: Date,
): Promise<(Pause & { is_active: boolean })[]> {
  const counts = await read.verifications.countsOf(pauses, codeWindows(at).counts)
  return pauses.map((pause) => {
    const { workspace_id, country } = pause
    const own = counts.filter((one) => one.workspace_id === workspace_id && one.country === country)
    return { ...pause, is_active: isPaused(pause, own, at) }
  })
}
