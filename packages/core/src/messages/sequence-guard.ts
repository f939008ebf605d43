import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { SERVICE } from '../audit/actor.ts'
import { auditRow } from '../audit/entry.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { createSequenceDetector, type Run, type SequenceLimit } from './sequence-detector.ts'

/** Stops a workspace that writes to numbers one after the other. */
export interface SequenceGuard {
  /**
   * Asked before a request is accepted, with all whom it would write to. Resolves when it may go on: if this froze the
   * workspace, acceptance refuses the request as every other. Test keys spend nothing and are not looked at; neither
   * are e-mail addresses.
   */
  look(identity: KeyIdentity, channel: Channel, recipients: readonly string[]): Promise<void>
}

/** What its owner is told of a workspace that was frozen. */
export interface Frozen {
  workspace_id: string
  numbers: number
  window_s: number
}

/** A guard with a detector in memory: each process counts what it accepts itself. `onFrozen` is told after the commit. */
export function createSequenceGuard({
  storage,
  runtime,
  limit,
  onFrozen,
}: {
  storage: Pick<Storage, 'write'>
  runtime: Pick<Runtime, 'id' | 'now' | 'elapsed' | 'log'>
  limit: SequenceLimit
  onFrozen: (frozen: Frozen) => void
}): SequenceGuard {
  const detector = createSequenceDetector(limit)
  const { window_s } = limit
  /** By workspace. What comes meanwhile waits, so that nothing is accepted before the freeze is on disk. */
  const underWay = new Map<string, Promise<void>>()

  async function freeze(workspace_id: string, { count, prefix_length }: Run): Promise<void> {
    const at = runtime.now()
    const frozen_reason = `messages to ${count} numbers in sequence within ${window_s} s`
    const isNew = await storage.write(async ({ credits, audit }) => {
      const account = await credits.lock(workspace_id)
      // Whoever froze it before had a reason, which stays.
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
      'workspace frozen: it wrote to numbers in sequence',
    )
    onFrozen({ workspace_id, numbers: count, window_s })
  }

  return {
    async look({ workspace_id, mode }, channel, recipients) {
      if (mode === 'test' || channel === 'email') return
      const run = detector.look(workspace_id, recipients, runtime.elapsed())
      if (run && !underWay.has(workspace_id)) {
        const done = freeze(workspace_id, run).finally(() => {
          underWay.delete(workspace_id)
          // Also when it failed: whoever asks the same again is to be found again.
          detector.forget(workspace_id)
        })
        underWay.set(workspace_id, done)
      }
      await underWay.get(workspace_id)
    },
  }
}
