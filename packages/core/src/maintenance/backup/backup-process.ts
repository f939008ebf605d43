import { setPriority } from 'node:os'
import type { FromBackup } from './backup.ts'
import type { MakeOptions } from './make-backup.ts'

/** The lowest priority: a backup must not delay sends. */
const NICE = 19

/** This process makes one backup. It receives the options, and reports progress and result. */
process.once('message', (options: MakeOptions) => void answer(options))
// The parent process has ended.
process.once('disconnect', () => process.exit(1))

async function answer(options: MakeOptions): Promise<void> {
  try {
    setPriority(NICE)
  } catch {
    // The backup then continues with the current priority.
  }
  try {
    const { makeBackup } = await import('./make-backup.ts')
    const made = await makeBackup(options, (progress) => void report({ progress }))
    await report({ report: made })
  } catch (error) {
    const { name, message, code } = error as Error & { code?: string }
    await report({ failure: { name, message, code } })
  }
  process.disconnect()
}

/** Resolves when the report was sent. */
function report(message: FromBackup): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve())
  })
}
