import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, join, relative } from 'node:path'
import type { StopWish } from './process-io.ts'

/**
 * How to call this program again from the folder it was called in, so that the lines it prints work as pasted: `svc`
 * where that is on the path, `npx svc` beside an installed package, else `node` with the file.
 */
export function invocationOf(script: string, cwd: string): string {
  if (basename(script) === 'svc') return 'svc'
  if (existsSync(join(cwd, 'node_modules', '.bin', 'svc'))) return 'npx svc'
  const short = relative(cwd, script)
  const path = short.startsWith('..') ? script : short
  return `node ${/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`}`
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

let stopping: AbortController | null = null
let needs_output = true

/**
 * Aborts at the first SIGINT or SIGTERM; a second one ends the process at once. Until this is called the signals do
 * what they always do, so that a command that lasts but a moment simply dies of them.
 */
export function stopSignal(wish: StopWish = {}): AbortSignal {
  if (wish.needs_output === false) needs_output = false
  if (stopping) return stopping.signal
  const controller = new AbortController()
  stopping = controller
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(128 + constants.signals[signal])
      controller.abort()
    })
  }
  return controller.signal
}

/** Asks a run that promised to end in order to do so; false where none has. */
export function stopInOrder(): boolean {
  stopping?.abort()
  return stopping !== null
}

/** Whether the run ends where its output cannot be written: all do, but those that serve others. */
export function needsOutput(): boolean {
  return needs_output
}
