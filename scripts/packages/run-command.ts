import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const OUTPUT_MAX = 200_000

/** The result of a command, and the end of its output. */
export interface Ended {
  readonly isOk: boolean
  readonly output: string
}

/**
 * Runs a program to its end, for at most `limit_ms`, with further `env`. `node`: the binary that it finds as `node`; default:
 * the running Node.
 */
export function runCommand(
  [command = '', ...args]: readonly string[],
  {
    cwd,
    limit_ms,
    env,
    node = process.execPath,
  }: { cwd: string; limit_ms: number; env?: Record<string, string>; node?: string },
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...environment(node), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that ending an install also ends its compiler.
      detached: true,
    })
    let output = ''
    const keep = (chunk: string) => {
      output = (output + chunk).slice(-OUTPUT_MAX)
    }
    const end = () => {
      if (child.pid !== undefined) kill(child.pid)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    const limit = setTimeout(() => {
      keep(`\nstopped after ${limit_ms / 1000} s\n`)
      end()
    }, limit_ms)
    process.once('exit', end)
    child.once('error', (error) => {
      clearTimeout(limit)
      resolve({ isOk: false, output: error.message })
    })
    child.once('close', (code) => {
      clearTimeout(limit)
      process.off('exit', end)
      resolve({ isOk: code === 0, output })
    })
  })
}

function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Without the variables of the repository and of a service, and with the headers of this Node for compilers. */
function environment(node: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(svc_|npm_package_|npm_config_local_prefix|node_env|node_path|port$)/i.test(name),
  )
  const bin = dirname(node)
  const env: NodeJS.ProcessEnv = Object.fromEntries(kept)
  env.CI = 'true'
  env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
  const headers = dirname(bin)
  if (existsSync(join(headers, 'include/node/node_version.h'))) env.npm_config_nodedir = headers
  return env
}
