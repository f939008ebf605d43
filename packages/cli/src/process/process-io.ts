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

/** How a run that stops in order behaves. */
export interface StopOptions {
  /** False for a service: it continues when its output cannot be written. */
  needs_output?: boolean
}

/** Everything that one run uses besides files and the network, so that it can run inside another program. */
export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv
  /** The origin of each variable in `env` that a file or an option set: `port in ./svc.config.json`, `--port`. */
  readonly origins?: ReadonlyMap<string, string>
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly cwd: string
  /**
   * Aborts when the run must stop. The caller must then stop in order; without a call the system's signal ends the
   * run at once.
   */
  stopSignal?: (options?: StopOptions) => AbortSignal
  /** How to call this program from a shell, for the commands that it prints. */
  readonly invocation?: string
}

/** The signal that stops a long run; it never aborts where `io` has none. */
export function stopSignalOf(io: ProcessIo, options?: StopOptions): AbortSignal {
  return io.stopSignal?.(options) ?? new AbortController().signal
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
