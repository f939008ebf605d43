import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'

const OUTPUT_MAX = 100_000

export interface Where {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

/** A running program and its output. */
export interface Running {
  readonly pid: number
  /** Resolves when the output contains the text. @throws Error when the program ends first, or after `limit_ms`. */
  until(pattern: RegExp, limit_ms: number): Promise<RegExpExecArray>
  /** The exit code, or the signal that ended it. @throws Error after `limit_ms` (default: never), when it was killed. */
  ended(limit_ms?: number): Promise<number | NodeJS.Signals>
  /** Sends SIGTERM, and waits for the end of the program and of those that share its output. */
  stop(limit_ms?: number): Promise<number | NodeJS.Signals>
  output(): string
}

/** Starts a program in its own process group. The rest of the group is killed when this process ends. */
export function start([command = '', ...args]: readonly string[], { cwd, env }: Where): Running {
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const kill = () => killGroup(child)
  // Before the removal of its folder.
  process.prependOnceListener('exit', kill)
  let output = ''
  let wake = () => {}
  const keep = (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_MAX)
    wake()
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  child.once('error', (error) => keep(error.message))
  const closed = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      process.off('exit', kill)
      resolve(code ?? signal ?? 1)
    })
  })
  const transcript = () => `${[command, ...args].join(' ')}:\n${output}`

  async function ended(limit_ms?: number): Promise<number | NodeJS.Signals> {
    if (limit_ms === undefined) return closed
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      kill()
    }, limit_ms)
    const end = await closed
    clearTimeout(timer)
    if (isLate) throw new Error(`still running after ${limit_ms / 1000} s: ${transcript()}`)
    return end
  }

  return {
    pid: child.pid as number,
    output: () => output,
    async until(pattern, limit_ms) {
      const limit = Date.now() + limit_ms
      for (;;) {
        const found = pattern.exec(output)
        if (found) return found
        if (child.exitCode !== null || child.signalCode !== null) {
          throw new Error(`ended with ${child.exitCode ?? child.signalCode}: ${transcript()}`)
        }
        if (Date.now() > limit) {
          kill()
          throw new Error(`no ${pattern} within ${limit_ms / 1000} s: ${transcript()}`)
        }
        const more = new Promise<void>((resolve) => {
          wake = resolve
        })
        await Promise.race([closed, more, pause(20)])
      }
    },
    ended,
    stop(limit_ms) {
      child.kill('SIGTERM')
      return ended(limit_ms)
    },
  }
}

/** Runs a program to its end. @throws Error with its output if the exit code is not 0. */
export async function finish(
  command: readonly string[],
  { limit_ms, ...where }: Where & { limit_ms?: number },
): Promise<string> {
  const running = start(command, where)
  const end = await running.ended(limit_ms)
  if (end !== 0) throw new Error(`ended with ${end}: ${command.join(' ')}:\n${running.output()}`)
  return running.output()
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
