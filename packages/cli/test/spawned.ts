import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ensureBuilt } from '../../../test/built.ts'
import { type Ended, untilSeen } from './svc.ts'

ensureBuilt()

/** The built command: from source, each start of a service took three times the CPU (6.8 : 2.3 s on a slow machine). */
export const BIN = fileURLToPath(new URL('../bin/svc.js', import.meta.url))

/** The command in a separate process. */
export interface SvcProcess {
  child: ChildProcess
  stdout(): string
  stderr(): string
  until(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<Ended>
}

/** Starts the built command in a separate process; an end by signal n gives the exit code 128 + n. */
export function spawnSvc(
  argv: readonly string[],
  { cwd, env = {}, node = [] }: { cwd: string; env?: NodeJS.ProcessEnv; node?: string[] },
): SvcProcess {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, [...node, BIN, ...argv], {
    cwd,
    env: { PATH, HOME, TMPDIR, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: string[] = []
  const err: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => err.push(text))
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      const number = signal === 'SIGINT' ? 2 : signal === 'SIGTERM' ? 15 : 9
      resolve({ code: code ?? 128 + number, stdout: out.join(''), stderr: err.join('') })
    })
  })
  return {
    child,
    stdout: () => out.join(''),
    stderr: () => err.join(''),
    until: (pattern) => untilSeen(pattern, () => `${out.join('')}\n${err.join('')}`, ended),
    ended,
  }
}
