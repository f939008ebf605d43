import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inFolder } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SVC = join(ROOT, 'packages/cli', commandOf('packages/cli/package.json'))

/** The file of the `svc` command. */
function commandOf(manifest: string): string {
  const { bin } = JSON.parse(readFileSync(join(ROOT, manifest), 'utf8')) as { bin: { svc: string } }
  return bin.svc
}

/** The line that `svc dev` prints when it is ready. */
const READY = 'svc is running at'

const READY_MAX_MS = 120_000
/** After the start the memory is collected, and the idle service has its usual size. */
const IDLE_MS = 50_000

/** A user's waiting times for the service and for the command's help; and the memory of an idle service. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const env = { ...process.env, PORT: '0', SVC_DATA_DIR: folder }
    const starts = await repeated(quick ? 1 : 5, async () => {
      const npm = await ready(spawnIn('npm', ['start'], env))
      await ended(npm.child)
      return npm.ms
    })
    const helps = await repeated(5, async () =>
      timeOf(spawnIn(process.execPath, [SVC, '--help'], env)),
    )
    const dev = await ready(spawnIn(process.execPath, [SVC, 'dev'], env))
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const rss = residentMB(dev.child)
    await ended(dev.child)
    return [
      {
        name: 'npm start, warm',
        value: median(starts) / 1000,
        unit: 's',
        raw: `until it prints that it runs; ${rangeOf(starts)}; svc dev alone ${count(dev.ms)} ms`,
      },
      { name: 'svc --help', value: median(helps), unit: 'ms', raw: rangeOf(helps) },
      { name: 'svc dev, idle', value: rss, unit: 'MB', raw: `resident after ${IDLE_MS / 1000} s` },
    ]
  })
}

/** Times of `times` runs, after one that warms up. */
async function repeated(times: number, once: () => Promise<number>): Promise<number[]> {
  await once()
  const all: number[] = []
  for (let i = 0; i < times; i++) all.push(await once())
  return all
}

interface Started {
  child: ChildProcess
  from: number
}

function spawnIn(command: string, args: string[], env: NodeJS.ProcessEnv): Started {
  const from = performance.now()
  return {
    from,
    child: spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] }),
  }
}

/** Resolves with the time at which the service prints that it runs. */
async function ready({ child, from }: Started): Promise<{ child: ChildProcess; ms: number }> {
  let output = ''
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill()
      reject(new Error(`it did not start: ${output}`))
    }, READY_MAX_MS)
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)))
    const read = (text: string) => {
      output += text
      if (!output.includes(READY)) return
      clearTimeout(limit)
      resolve({ child, ms: performance.now() - from })
    }
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', read)
  })
}

/** Ends it, and resolves when all its children have ended too. */
async function ended(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGTERM')
  await gone
}

function timeOf({ child, from }: Started): Promise<number> {
  child.stdout?.resume()
  child.stderr?.resume()
  return new Promise((resolve) => child.once('close', () => resolve(performance.now() - from)))
}

function residentMB({ pid }: ChildProcess): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}

function rangeOf(times_ms: readonly number[]): string {
  return `median of ${times_ms.length}, ${count(Math.min(...times_ms))}–${count(Math.max(...times_ms))} ms`
}
