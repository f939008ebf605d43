import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { OutputStream } from '../src/process/process-io.ts'
import { run } from '../src/program.ts'

/** How a run of the command ended. */
export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** A run that lasts. */
export interface Running {
  stdout(): string
  stderr(): string
  /** Resolves when stdout or stderr has what is looked for. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Asks it to end and waits until it has. */
  stop(): Promise<Ended>
  ended: Promise<Ended>
}

export interface Given {
  env?: NodeJS.ProcessEnv
  stdin?: string | Uint8Array
  /** Whether stdout and stderr are a terminal. */
  terminal?: boolean
  cwd?: string
}

const PATIENCE_MS = 20_000

/** A folder that nobody else uses; `remove` it. */
export function newFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-cli-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Runs the command to its end, in this process. */
export function svc(argv: readonly string[], given: Given = {}): Promise<Ended> {
  return start(argv, given).ended
}

/** Runs the command and answers its one JSON document. */
export async function svcJson<T>(argv: readonly string[], given: Given = {}): Promise<T> {
  const { code, stdout, stderr } = await svc([...argv, '--json'], given)
  if (code !== 0) throw new Error(`svc ${argv.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}

/** Starts the command, in this process. */
export function start(argv: readonly string[], given: Given = {}): Running {
  const { env = {}, stdin = '', terminal = false, cwd = tmpdir() } = given
  const stdout = capture(terminal)
  const stderr = capture(terminal)
  const stopping = new AbortController()
  const input = new PassThrough()
  input.end(stdin)
  const ended = run(argv, {
    env,
    stdin: input,
    stdout: stdout.stream,
    stderr: stderr.stream,
    cwd,
    stopSignal: () => stopping.signal,
  }).then((code) => ({ code, stdout: stdout.text(), stderr: stderr.text() }))
  return {
    stdout: stdout.text,
    stderr: stderr.text,
    ended,
    until: (pattern) => untilSeen(pattern, () => `${stdout.text()}\n${stderr.text()}`, ended),
    stop() {
      stopping.abort()
      return ended
    },
  }
}

/** Looks again and again until `text` has the pattern. */
export async function untilSeen(
  pattern: RegExp,
  text: () => string,
  ended?: Promise<unknown>,
  patience_ms = PATIENCE_MS,
): Promise<RegExpExecArray> {
  let isOver = false
  ended?.then(() => {
    isOver = true
  })
  const deadline = Date.now() + patience_ms
  for (;;) {
    const wasOver = isOver
    const match = pattern.exec(text())
    if (match) return match
    if (wasOver || Date.now() > deadline) throw new Error(`no ${pattern} in:\n${text()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function capture(isTerminal: boolean): { stream: OutputStream; text: () => string } {
  const stream: OutputStream = new PassThrough()
  const chunks: string[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  if (isTerminal) Object.assign(stream, { isTTY: true, columns: 100 })
  return { stream, text: () => chunks.join('') }
}
