import { constants } from 'node:os'
import type { StopWish } from './surroundings.ts'

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
