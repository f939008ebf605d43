import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { StopOptions } from './process-io.ts'

/** The folder with the commands of installed packages. */
const SHIMS = join('node_modules', '.bin')

/**
 * The text that calls this program from `cwd`, so that printed commands can be pasted: `svc` if the program was called
 * as `svc`, `npx svc` in a clone, `npx @svc/cli` beside the installed package or if npx called it, else `node` with the
 * file. Elsewhere `npx svc` would run another package of the public registry.
 */
export function invocationOf(script: string, cwd: string): string {
  const isShim = dirname(script).endsWith(SHIMS)
  if (basename(script) === 'svc' && !isShim) return 'svc'
  if (existsSync(join(cwd, SHIMS, 'svc'))) {
    return existsSync(join(cwd, 'packages', 'cli', 'bin', 'svc.js')) ? 'npx svc' : 'npx @svc/cli'
  }
  if (isShim || script.split(sep).includes('_npx')) return 'npx @svc/cli'
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
