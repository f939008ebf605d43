import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { auditRow, SERVICE } from '../audit/entry.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { createSequenceDetector, type Run, type SequenceLimit } from './sequence-detector.ts'

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
