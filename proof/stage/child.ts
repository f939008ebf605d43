import { fork } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Stage } from './stage.ts'

/** The requests that a process of a benchmark answers, by name. */
export type Handlers = Record<string, (input: never) => unknown>

/** The resources that a process has used so far. */
export interface Usage {
  at_ms: number
  /** Of all threads. */
  cpu_ms: number
  /** Time in which the main thread's event loop was not idle. */
  busy_ms: number
}

/** Another process, and its requests. */
export interface Child<H extends Handlers> {
  request<Name extends keyof H & string>(
    name: Name,
    input: Parameters<H[Name]>[0],
  ): Promise<Awaited<ReturnType<H[Name]>>>
  usage(): Promise<Usage>
  /** Begins a profile of the process's main thread. */
  startProfile(): Promise<void>
  /** The profile since `startProfile`. */
  takeProfile(): Promise<CpuProfile>
  /** Resolves when the process has ended. */
  end(): Promise<void>
}

/** The used part of a `.cpuprofile`. */
export interface CpuProfile {
  nodes: {
    id: number
    /** Its line and column count from 0. */
    callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number }
    children?: number[]
  }[]
  samples: number[]
  timeDeltas: number[]
}

interface Reply {
  id: number
  output?: unknown
  error?: string
}

/**
 * Starts a file, named by its path below `proof/`, in a separate process, which ends with the stage. Its output goes to a file
 * in the folder of the stage. A `.mjs` runs in plain node, a `.ts` with the loader of this process.
 * @param node_args more arguments for node, such as `--cpu-prof`.
 */
export function startChild<H extends Handlers>(
  stage: Pick<Stage, 'folder' | 'atEnd'>,
  file: string,
  { env = {}, node_args = [] }: { env?: Record<string, string>; node_args?: string[] } = {},
): Child<H> {
  const logFile = join(stage.folder, `${basename(file)}.log`)
  const log = openSync(logFile, 'a')
  const child = fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), [], {
    env: { ...process.env, ...env },
    execArgv: [...(file.endsWith('.ts') ? process.execArgv : []), ...node_args],
    stdio: ['ignore', log, log, 'ipc'],
  })
  const waiting = new Map<number, { resolve: (v: unknown) => void; reject: (e: Error) => void }>()
  let questions = 0
  let hasEnded = false

  child.on('message', ({ id, output, error }: Reply) => {
    const one = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) one?.resolve(output)
    else one?.reject(new Error(`${file}: ${error}`))
  })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      hasEnded = true
      for (const { reject } of waiting.values()) {
        reject(new Error(`${file} ended (${signal ?? code}): ${readFileSync(logFile, 'utf8')}`))
      }
      resolve()
    })
  })

  function request(question: string, input: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (hasEnded) return reject(new Error(`${file} has ended`))
      const id = ++questions
      waiting.set(id, { resolve, reject })
      child.send({ id, name: question, input })
    })
  }

  function end(): Promise<void> {
    if (child.connected) child.disconnect()
    return ended
  }

  stage.atEnd(end)
  return {
    request: request as Child<H>['request'],
    usage: () => request('usage', null) as Promise<Usage>,
    startProfile: () => request('startProfile', null) as Promise<void>,
    takeProfile: () => request('takeProfile', null) as Promise<CpuProfile>,
    end,
  }
}

/** The usage of a process between two moments: shares of one core and of its event loop. */
export function between(from: Usage, to: Usage): { cpu_ms: number; cpu: number; loop: number } {
  const time = to.at_ms - from.at_ms
  const cpu_ms = to.cpu_ms - from.cpu_ms
  return { cpu_ms, cpu: cpu_ms / time, loop: (to.busy_ms - from.busy_ms) / time }
}
