import type { Readable, Writable } from 'node:stream'

/** The input of a run; a terminal can hide what is typed. */
export type InputStream = Readable & {
  isTTY?: boolean | undefined
  setRawMode?: ((on: boolean) => unknown) | undefined
}

/** An output of a run. */
export type OutputStream = Writable & {
  isTTY?: boolean | undefined
  columns?: number | undefined
}

/** The options of a run that finishes its work before it stops. */
export interface StopOptions {
  /** False for a service, which continues when its output cannot be written. */
  needs_output?: boolean
}

/** All resources of one run besides files and the network, so that the run can be part of another program. */
export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv
  /** The origin of each variable in `env` that a file or an option set: `port in ./svc.config.json`, `--port`. */
  readonly origins?: ReadonlyMap<string, string>
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly cwd: string
  /**
   * Returns a signal that aborts when the run must stop. The caller then finishes its work and stops. If no caller
   * requested the signal, SIGINT and SIGTERM end the run at once.
   */
  stopSignal?: (options?: StopOptions) => AbortSignal
  /** The text that calls this program in a shell; the commands that it prints use it. */
  readonly invocation?: string
}

/** The signal that stops a long run. If `io` has no such signal, it never aborts. */
export function stopSignalOf(io: ProcessIo, options?: StopOptions): AbortSignal {
  return io.stopSignal?.(options) ?? new AbortController().signal
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
