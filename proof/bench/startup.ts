import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Running, start, type Where } from '../stage/command.ts'
import { figuresOf } from '../stage/figures.ts'
import { BUILT_COMMAND } from '../stage/serve.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, timesText } from './figure.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The line that `svc dev` prints when it is ready. */
const READY = /svc is running at/

const READY_MAX_MS = 120_000
/** After the start the memory is collected, and the idle service has its usual size. */
const IDLE_MS = 50_000

/** A user's waiting times for the service and for the command's help; and the memory of an idle service. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async ({ folder }) => {
    const where = { cwd: ROOT, env: { ...process.env, PORT: '0', SVC_DATA_DIR: folder } }
    const starts = await repeated(quick ? 1 : 5, async () => {
      const npm = await ready(['npm', 'start'], where)
      await npm.stop()
      return npm.ms
    })
    const helps = await repeated(5, async () => {
      const from = performance.now()
      await start([...BUILT_COMMAND, '--help'], where).ended()
      return performance.now() - from
    })
    const dev = await ready([...BUILT_COMMAND, 'dev'], where)
    await pause(IDLE_MS)
    const rss = figuresOf(dev.pid).rss_mib
    await dev.stop()
    return [
      {
        name: 'npm start, warm',
        value: median(starts) / 1000,
        unit: 's',
        raw: `until it prints that it runs; ${timesText(starts)}; svc dev alone ${count(dev.ms)} ms`,
      },
      { name: 'svc --help', value: median(helps), unit: 'ms', raw: timesText(helps) },
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

/** Starts a command, and resolves with the time at which it prints that the service runs. */
async function ready(command: readonly string[], where: Where): Promise<Running & { ms: number }> {
  const from = performance.now()
  const running = start(command, where)
  await running.until(READY, READY_MAX_MS)
  return { ...running, ms: performance.now() - from }
}
