import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

let stopping: AbortController | null = null

/**
 * Aborts at the first SIGINT or SIGTERM; a second one ends the process at once. Until this is called the signals do
 * what they always do, so that a command that lasts but a moment simply dies of them.
 */
export function stopSignal(): AbortSignal {
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
