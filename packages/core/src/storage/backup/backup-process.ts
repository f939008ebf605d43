import { setPriority } from 'node:os'
import type { MakeOptions } from '../sqlite/backup/make-backup.ts'
import type { FromBackup } from './backup.ts'

/** Below everybody else: who sends is not to wait for it. */
const NICE = 19

/** The process that makes one backup: it is told what, and tells how far it is and how it ended. */
process.once('message', (options: MakeOptions) => void answer(options))
// Nobody waits for it any more.
process.once('disconnect', () => process.exit(1))

async function answer(options: MakeOptions): Promise<void> {
  try {
    setPriority(NICE)
  } catch {
    // As it is, then.
  }
  try {
    const { makeBackup } = await import('../sqlite/backup/make-backup.ts')
    const report = await makeBackup(options, (progress) => void tell({ progress }))
    await tell({ report })
  } catch (error) {
    const { name, message, code } = error as Error & { code?: string }
    await tell({ failure: { name, message, code } })
  }
  process.disconnect()
}

/** Resolves when it is on its way. */
function tell(told: FromBackup): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(told, undefined, undefined, () => resolve())
  })
}
