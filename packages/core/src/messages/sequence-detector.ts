import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { auditRow, SERVICE } from '../audit/entry.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
/** The limit for sends to phone numbers in sequence. */
export interface SequenceLimit {
  /** The maximum numbers of one run within `window_s`. */
  max: number
  /** The length of the window in seconds. */
  window_s: number
}

/** A run of numbers in sequence that exceeds the limit. The numbers themselves are not reported. */
export interface Run {
  count: number
  /** The number of leading digits that all its numbers share. */
  prefix_length: number
}

/** Detects sends of a workspace to numbers in sequence. */
export interface SequenceDetector {
  /**
   * Records the numbers of one request. Returns the first run that is too long, or null. Numbers to which the workspace has
   * already sent within the window are not new and find no run.
   */
  check(workspaceId: string, numbers: readonly string[], at_ms: number): Run | null
  /** Drops the recorded numbers of a workspace. */
  forget(workspaceId: string): void
}

/** The smallest and the largest value of each part of a limit. */
export const SEQUENCE_LIMITS = { max: [3, 100], window_s: [1, 86_400] } as const

/** Numbers at most this far apart are in sequence, in any order of sending. */
export const STEP_MAX = 3

const WORKSPACES_MAX = 1_000

/** The maximum number of phone numbers of one workspace that are kept after a request. */
const NUMBERS_MAX = 1_000

/**
 * A detector in memory. It keeps the last 1,000 numbers of each of 1,000 workspaces, at most 50 MB, and drops the oldest
 * first.
 */
export function createSequenceDetector({ max, window_s }: SequenceLimit): SequenceDetector {
  /** The numbers of each workspace with the time of the last send. Both maps are ordered by last use. */
  const workspaces = new Map<string, Map<number, number>>()

  function touched(workspaceId: string): Map<number, number> {
    const seen = workspaces.get(workspaceId) ?? new Map<number, number>()
    workspaces.delete(workspaceId)
    workspaces.set(workspaceId, seen)
    if (workspaces.size > WORKSPACES_MAX) dropOldest(workspaces)
    return seen
  }

  return {
    check(workspaceId, numbers, at_ms) {
      const seen = touched(workspaceId)
      for (const [number, noted_ms] of seen) {
        if (at_ms - noted_ms < window_s * 1000) break
        seen.delete(number)
      }
      const fresh: number[] = []
      for (const text of numbers) {
        // A phone number has at most 15 digits, so it is exact as a JavaScript number.
        const number = Number(text.slice(1))
        if (!seen.delete(number)) fresh.push(number)
        seen.set(number, at_ms)
      }
      const run = firstRun(seen, fresh, max)
      while (seen.size > NUMBERS_MAX) dropOldest(seen)
      return run
    },
    forget: (workspaceId) => void workspaces.delete(workspaceId),
  }
}

function dropOldest(map: Map<unknown, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}

type Seen = ReadonlyMap<number, unknown>

function firstRun(seen: Seen, fresh: readonly number[], max: number): Run | null {
  for (const number of fresh) {
    const below = followed(seen, number, -1, max)
    const above = followed(seen, number, 1, max)
    const count = 1 + below.count + above.count
    if (count > max) return { count, prefix_length: commonDigits(below.end, above.end) }
  }
  return null
}

/** Counts the numbers in sequence above or below `number`, at most `max`, and returns the last one. */
function followed(
  seen: Seen,
  number: number,
  direction: 1 | -1,
  max: number,
): { count: number; end: number } {
  let end = number
  for (let count = 0; count < max; count++) {
    const next = STEPS.map((step) => end + direction * step).find((near) => seen.has(near))
    if (next === undefined) return { count, end }
    end = next
  }
  return { count: max, end }
}

const STEPS = Array.from({ length: STEP_MAX }, (_, i) => i + 1)

function commonDigits(low: number, high: number): number {
  const [a, b] = [`${low}`, `${high}`]
  if (a.length !== b.length) return 0
  const differs = [...a].findIndex((digit, i) => digit !== b[i])
  return differs === -1 ? a.length : differs
}

/**
 * Reads a limit for sends to numbers in sequence: numbers, slash, seconds.
 *
 * @example readSequenceLimit('10/60') // { max: 10, window_s: 60 }
 * @throws RangeError for another form or for values outside `SEQUENCE_LIMITS`.
 */
export function readSequenceLimit(text: string): SequenceLimit {
  const { max: counts, window_s: windows } = SEQUENCE_LIMITS
  const [, count, seconds] = /^(\d{1,5})\/(\d{1,5})$/.exec(text) ?? []
  const limit = { max: Number(count), window_s: Number(seconds) }
  if (isWithin(limit.max, counts) && isWithin(limit.window_s, windows)) return limit
  throw new RangeError(
    `${counts.join(' to ')} numbers/${windows.join(' to ')} seconds, for example 10/60, got "${text}"`,
  )
}

function isWithin(value: number, [least, most]: readonly [number, number]): boolean {
  return value >= least && value <= most
}

/** Freezes a workspace that sends to phone numbers in sequence. */
export interface SequenceGuard {
  /**
   * Checks the recipients of a request before it is accepted. Resolves when the request may continue. If the workspace was
   * frozen, its acceptance is refused. Test keys, which spend nothing, and e-mail addresses are not checked.
   */
  check(identity: KeyIdentity, channel: Channel, recipients: readonly string[]): Promise<void>
}

/** The facts for the mail to the owner of a frozen workspace. */
export interface FrozenWorkspace {
  workspace_id: string
  numbers: number
  window_s: number
}

/** A guard with a detector in memory: each process counts its own requests. `onFrozen` is called after the commit. */
export function createSequenceGuard({
  storage,
  runtime,
  limit,
  onFrozen,
}: {
  storage: Pick<Storage, 'write'>
  runtime: Pick<Runtime, 'id' | 'now' | 'elapsed' | 'log'>
  limit: SequenceLimit
  onFrozen: (frozen: FrozenWorkspace) => void
}): SequenceGuard {
  const detector = createSequenceDetector(limit)
  const { window_s } = limit
  /** The freeze in progress of each workspace. Other requests wait, so that none is accepted before the freeze is stored. */
  const freezing = new Map<string, Promise<void>>()

  async function freeze(workspace_id: string, { count, prefix_length }: Run): Promise<void> {
    const at = runtime.now()
    const frozen_reason = `messages to ${count} numbers in sequence within ${window_s} s`
    const isNew = await storage.write(async ({ credits, audit }) => {
      const account = await credits.lock(workspace_id)
      // The reason of an earlier freeze stays.
      if (account?.status !== 'active') return false
      const frozen = {
        workspace_id,
        action: 'workspace.frozen',
        details: { reason: frozen_reason },
      } as const
      await audit.record(auditRow(runtime, SERVICE, frozen))
      return credits.setTerms(workspace_id, { status: 'frozen', frozen_reason }, at)
    })
    if (!isNew) return
    runtime.log.warn(
      { workspace_id, numbers: count, prefix_length, window_s },
      'workspace frozen: it sent to numbers in sequence',
    )
    onFrozen({ workspace_id, numbers: count, window_s })
  }

  return {
    async check({ workspace_id, mode }, channel, recipients) {
      if (mode === 'test' || channel === 'email') return
      const run = detector.check(workspace_id, recipients, runtime.elapsed())
      if (run && !freezing.has(workspace_id)) {
        const done = freeze(workspace_id, run).finally(() => {
          freezing.delete(workspace_id)
          // The numbers are dropped also after an error, so that the same request is detected again.
          detector.forget(workspace_id)
        })
        freezing.set(workspace_id, done)
      }
      await freezing.get(workspace_id)
    },
  }
}
