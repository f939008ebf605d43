import { aborted } from '../process/process-io.ts'
import type { LogItem, LogSink } from './line-log.tsx'

/** The maximum number of items that wait for the view. */
const EARLY_MAX = 1_000

/** Passes items to the view of a log. Items wait while the view is not open. */
export function createLogFeed(): {
  add(item: LogItem): void
  follow: (sink: LogSink, signal: AbortSignal) => Promise<void>
} {
  const early: LogItem[] = []
  let open: LogSink | null = null
  return {
    add(item) {
      if (open) open.add(item)
      else if (early.length < EARLY_MAX) early.push(item)
    },
    async follow(sink, signal) {
      open = sink
      for (const item of early.splice(0)) sink.add(item)
      await aborted(signal)
      open = null
    },
  }
}
