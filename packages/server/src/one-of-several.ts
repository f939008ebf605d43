import cluster from 'node:cluster'
import type { CollectedMetrics } from './metrics/series.ts'

/** The messages between `runProcesses` and the processes of the service. */
export type Message =
  | { type: 'svc:ready' | 'svc:collect' | 'svc:stop' }
  | { type: 'svc:metrics'; metrics: CollectedMetrics }

/** Whether `runProcesses` started this process. */
export const isOneOfSeveral: boolean = cluster.isWorker

/** Reports to `runProcesses` that this process listens and dispatches. */
export function reportReady(): void {
  // The parent of another process may use messages of its own.
  if (isOneOfSeveral) process.send?.({ type: 'svc:ready' } satisfies Message)
}

/** Calls `stop` when `runProcesses` ends this process. The SIGHUP of a closed terminal does not end it. */
export function onProcessStop(stop: () => void): void {
  process.on('SIGHUP', () => {})
  process.on('message', ({ type }: Message) => {
    if (type === 'svc:stop') stop()
  })
}

/** Sends the metrics of this process when `runProcesses` asks for them; `close` sends the last ones. */
export function answerScrapes(read: () => Promise<CollectedMetrics>): { close(): Promise<void> } {
  async function answer(): Promise<void> {
    const message: Message = { type: 'svc:metrics', metrics: await read() }
    await new Promise<void>((resolve) => {
      process.send?.(message, undefined, undefined, () => resolve())
    })
  }
  process.on('message', ({ type }: Message) => {
    if (type === 'svc:collect') answer().catch(() => {})
  })
  return { close: answer }
}
