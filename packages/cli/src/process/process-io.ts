import type { Readable, Writable } from 'node:stream'

/** Where a run reads from; a terminal can be asked for a password. */
export type InputStream = Readable & {
  isTTY?: boolean | undefined
  setRawMode?: ((on: boolean) => unknown) | undefined
}

/** Where a run writes to. */
export type OutputStream = Writable & {
  isTTY?: boolean | undefined
  columns?: number | undefined
}

/** What a run that ends in order asks for. */
export interface StopWish {
  /** False for a service: it goes on where its output cannot be written. */
  needs_output?: boolean
}

/** All that one run of the command touches besides files and the network, so that it can run inside another program. */
export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv
  /** What those variables of `env` are called that are not the environment's: `port in ./svc.config.json`, `--port`. */
  readonly origins?: ReadonlyMap<string, string>
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly cwd: string
  /**
   * Aborts when the run is asked to end. Whoever calls it promises to end in order; a run that never does is ended by
   * the signal itself.
   */
  stopSignal?: (wish?: StopWish) => AbortSignal
  /** How the reader of our output calls this program, for the lines that it may paste. */
  readonly invocation?: string
}

/** The signal on which a run that lasts is to end; one that never comes where nobody can send it. */
export function stopSignalOf(io: ProcessIo, wish?: StopWish): AbortSignal {
  return io.stopSignal?.(wish) ?? new AbortController().signal
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
