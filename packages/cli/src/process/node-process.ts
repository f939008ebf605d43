import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, join, relative } from 'node:path'
import type { StopOptions } from './process-io.ts'

/**
 * The text that calls this program from `cwd`, so that printed commands can be pasted: `svc` if the program was called
 * as `svc`, `npx svc` if the package is installed in `cwd`, else `node` with the file.
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
 * Returns a signal that aborts at the first SIGINT or SIGTERM; a second one ends the process at once. Before the first
 * call of this function, SIGINT and SIGTERM keep their default action, so that they end a short command at once.
 */
export function stopSignal(options: StopOptions = {}): AbortSignal {
  if (options.needs_output === false) needs_output = false
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

/** Stops a run that called `stopSignal`. Returns false when no run called it. */
export function requestStop(): boolean {
  stopping?.abort()
  return stopping !== null
}

/** Whether the run ends when its output cannot be written. It is true except for a service. */
export function needsOutput(): boolean {
  return needs_output
}
