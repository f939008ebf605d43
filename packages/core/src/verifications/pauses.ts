import { auditRow, SERVICE } from '../audit/entry.ts'
import type { VerificationCountRow, VerificationPauseRow } from '../rows/rows.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import { codeWindows, endOfPause, isRecent } from '../rules/verify.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Verifications } from './verifications.ts'

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

export function createCodePauses({
  storage,
  runtime,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'id'>
}): Pick<Verifications<'decoded'>, 'pauses' | 'allow'> {
  return {
    async pauses(workspaceId) {
      const now = runtime.now()
      const stored = await storage.read.verifications.pauses(workspaceId)
      const pauses = await withState(storage, stored, now)
      return pauses
        .filter((one) => one.allowed_until === null && isRecent(one, now))
        .map(({ country, paused_at, is_active, ends_at, sent, approved }) => {
          return { country, paused_at, is_active, ends_at, sent, approved }
        })
    },
    async allow(workspaceId, country, hours, actor = SERVICE, reason) {
      const now = runtime.now()
      // A whole hour, as the counts are by hour: from then on, each message counts.
      const end_ms = now.getTime() + hours * HOUR_MS
      const allowed_until = new Date(Math.ceil(end_ms / HOUR_MS) * HOUR_MS)
      const pause = { paused_at: now, sent: 0, approved: 0, allowed_until }
      await storage.write(async ({ verifications, audit }) => {
        await verifications.allow({ workspace_id: workspaceId, country, ...pause })
        const change = {
          workspace_id: workspaceId,
          action: 'verification.allowed',
          target: { type: 'country', id: country },
          details: { hours, ...(reason !== undefined && { reason }) },
        } as const
        await audit.record(auditRow(runtime, actor, change))
      })
    },
  }
}
