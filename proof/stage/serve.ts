import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ask } from './ask.ts'
import { settingsOf } from './settings.ts'
import { until } from './until.ts'

/** `svc serve` as a separate process, observed through its log. */
export interface Service {
  pid: number
  url: string
  metrics_url: string
  /** The addresses of its SMTP inlet; empty without one. */
  smtp_urls: readonly string[]
  startup_ms: number
  /** Counts of log lines by level, and the first lines of level `warn` and above. */
  log: ServiceLog
  hasEnded(): boolean
  /** Resolves when the process has ended, for any reason. */
  ended: Promise<End>
  /** Sends a signal, and resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<End>
}

export interface ServiceLog {
  lines: number
  /** By pino's number of the level; 0 counts lines that are not JSON. */
  levels: Map<number, number>
  /** Lines of level `warn` and above, and lines that are not JSON; at most `LINES_KEPT_MAX`. */
  kept: string[]
}

export interface End {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface ServiceOptions {
  /** Contains the database, except when the environment names another one. */
  folder: string
  /** Further environment variables. */
  env?: Record<string, string>
  /** The command that gets `serve`; default: the built one. */
  command?: readonly string[]
  /** The destination of its log: the driver, a full disk, or a pipe without a reader. */
  log_to?: 'driver' | 'full' | 'unread'
}

/** The built command, as installed. */
export const BUILT_COMMAND: readonly string[] = [
  process.execPath,
  fileURLToPath(new URL('../../packages/cli/bin/svc.js', import.meta.url)),
]

const START_MAX_MS = 60_000
const LINES_KEPT_MAX = 1_000

/** The environment of a service under test. */
function serviceEnv(folder: string): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  return {
    PATH,
    HOME,
    ...(TMPDIR && { TMPDIR }),
    ...settingsOf(folder),
    SVC_METRICS_LISTEN: '127.0.0.1:0',
  }
}

/** @throws Error when it ends before it listens; the message contains its output. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { folder, env = {}, command = BUILT_COMMAND, log_to = 'driver' } = options
  const [program = '', ...args] = command
  const from = performance.now()
  const taken = log_to === 'driver' ? null : openLog(log_to)
  // A service whose log shows no port gets a fixed one.
  const port = log_to === 'driver' ? 0 : await freePort()
  const child = spawn(program, [...args, 'serve'], {
    cwd: folder,
    env: { ...serviceEnv(folder), PORT: String(port), ...env },
    stdio: ['ignore', taken?.stdout ?? 'pipe', 'pipe'],
    // Ctrl+C reaches only the driver, which then stops the service cleanly.
    detached: true,
  })
  const log: ServiceLog = { lines: 0, levels: new Map(), kept: [] }
  let hasEnded = false
  const ended = new Promise<End>((resolve) => {
    child.once('exit', () => {
      hasEnded = true
      taken?.close()
    })
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const listening = new Promise<Listening>((resolve) => {
    watch(log_to === 'driver' ? [child.stdout, child.stderr] : [child.stderr], log, resolve)
  })
  const kill = () => child.kill('SIGKILL')
  // Before the removal of its folder.
  process.prependOnceListener('exit', kill)
  ended.then(() => process.off('exit', kill))
  const limit = setTimeout(kill, START_MAX_MS)
  const {
    url,
    metrics_url,
    smtp_urls = [],
  } = await Promise.race([
    log_to === 'driver' ? listening : answering(port, () => hasEnded),
    ended.then(({ code, signal }) => {
      throw new Error(`the service did not start (${signal ?? code}): ${log.kept.join('\n')}`)
    }),
  ])
  clearTimeout(limit)
  return {
    pid: child.pid as number,
    url,
    metrics_url,
    smtp_urls,
    startup_ms: performance.now() - from,
    log,
    hasEnded: () => hasEnded,
    ended,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/** A log destination that accepts no data. */
function openLog(kind: 'full' | 'unread'): { stdout: number; close(): void } {
  if (kind === 'full') {
    const stdout = openSync('/dev/full', 'w')
    return { stdout, close: () => closeSync(stdout) }
  }
  const folder = mkdtempSync(join(tmpdir(), 'svc-unread-'))
  const file = join(folder, 'log')
  const made = spawnSync('mkfifo', [file])
  if (made.status !== 0) throw new Error(`mkfifo: ${made.stderr}`)
  // This end does not read, and fills the pipe before the service writes.
  const filling = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
  try {
    for (;;) writeSync(filling, Buffer.alloc(4_096))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
  const stdout = openSync(file, constants.O_RDWR)
  return {
    stdout,
    close() {
      closeSync(stdout)
      closeSync(filling)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Resolves when the service answers at that address; its metrics address is unknown. */
async function answering(port: number, hasEnded: () => boolean): Promise<Listening> {
  const url = `http://127.0.0.1:${port}`
  const isAnswering = async () => (await ask(`${url}/health/live`, START_MAX_MS)).status === 200
  await until(async () => hasEnded() || (await isAnswering()), { every_ms: 50 })
  // The end of the service decides, where it comes first.
  return hasEnded() ? new Promise(() => {}) : { url, metrics_url: '' }
}

/** Pino's number of the level of a line; 0 for a line that is not JSON. 50 is an error. */
export function levelOf(line: string): number {
  return Number(/^\{"level":(\d+)/.exec(line)?.[1] ?? 0)
}

type Listening = Pick<Service, 'url' | 'metrics_url'> & { smtp_urls?: string[] }

/** Reads the log line by line and finds the address of the service in it. */
function watch(
  streams: readonly (Readable | null)[],
  log: ServiceLog,
  onListening: (where: Listening) => void,
): void {
  let hasStarted = false

  function take(line: string): void {
    const level = levelOf(line)
    log.lines += 1
    log.levels.set(level, (log.levels.get(level) ?? 0) + 1)
    if ((level === 0 || level >= 40) && log.kept.length < LINES_KEPT_MAX) log.kept.push(line)
    if (hasStarted || !line.endsWith('"msg":"listening"}')) return
    hasStarted = true
    onListening(JSON.parse(line) as Listening)
  }

  for (const stream of streams) {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line !== '') take(line)
    })
    stream?.on('end', () => rest !== '' && take(rest))
  }
}

/** Runs a command of `svc` on the database of a service, and returns its output. */
export function runCommand(
  args: readonly string[],
  { folder, env = {}, command = BUILT_COMMAND }: ServiceOptions,
): Promise<End & { output: string }> {
  const [program = '', ...before] = command
  const child = spawn(program, [...before, ...args], {
    cwd: folder,
    env: { ...serviceEnv(folder), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text))
  }
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, output: output.join('') }))
  })
}
