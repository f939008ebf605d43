import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { OutputStream } from '../src/process/process-io.ts'
import { run } from '../src/program.ts'

/** The result of a run of the command. */
export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** A run in progress. */
export interface Running {
  stdout(): string
  stderr(): string
  /** Resolves when stdout or stderr matches the pattern. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Stops the run and waits for its end. */
  stop(): Promise<Ended>
  ended: Promise<Ended>
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv
  stdin?: string | Uint8Array
  /** Whether stdout and stderr are a terminal. */
  terminal?: boolean
  cwd?: string
}

/** A machine may have more to do. */
const TIMEOUT_MS = 50_000

/** Creates a temporary folder; `remove` it. */
export function newFolder(parent = tmpdir()): { path: string; remove(): void } {
  const path = mkdtempSync(join(parent, 'svc-cli-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Runs the command to its end, in this process. */
export function svc(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return start(argv, options).ended
}

/** Runs the command and returns its JSON document. */
export async function svcJson<T>(argv: readonly string[], options: RunOptions = {}): Promise<T> {
  const { code, stdout, stderr } = await svc([...argv, '--json'], options)
  if (code !== 0) throw new Error(`svc ${argv.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}

/** Starts the command, in this process. */
export function start(argv: readonly string[], options: RunOptions = {}): Running {
  const { env = {}, stdin = '', terminal = false, cwd = tmpdir() } = options
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

/** Polls until `text` matches the pattern. */
export async function untilSeen(
  pattern: RegExp,
  text: () => string,
  ended?: Promise<unknown>,
  timeout_ms = TIMEOUT_MS,
): Promise<RegExpExecArray> {
  let isOver = false
  ended?.then(() => {
    isOver = true
  })
  const deadline = Date.now() + timeout_ms
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
