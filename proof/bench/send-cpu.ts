import { finish } from '../stage/command.ts'
import { cpuOfEnded } from '../stage/figures.ts'
import { BUILT_COMMAND } from '../stage/serve.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { inTurns } from './rounds.ts'

/** Runs of each round, because the system counts processor time in hundredths of a second. */
const RUNS = 5

/** The processor time of one `svc send`, less that of an empty Node program; in turns. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const { url, key } = await startService(stage, 'service', { dispatch: true })
    const env = { ...process.env, SVC_DATA_DIR: stage.folder }
    const send = ['send', '--to', '+15005550006', '--text', 'Hello', '--url', url, '--key', key]
    const taken = await inTurns(
      {
        send: () => cpuOfRuns([...BUILT_COMMAND, ...send], env),
        node: () => cpuOfRuns([process.execPath, '-e', '0'], env),
      },
      quick ? 2 : 5,
    )
    const differences = taken.send.map((send, i) => send - (taken.node[i] ?? Number.NaN))
    const of = (name: 'send' | 'node') => count(median(taken[name]))
    const raw = `svc send ${of('send')} ms, node -e 0 ${of('node')} ms; ${differences.length} rounds of ${RUNS}, differences ${differences.map(count).join(', ')} ms`
    return [{ name: 'svc send, CPU above node -e 0', value: median(differences), unit: 'ms', raw }]
  })
}

/** Milliseconds of CPU of one run of a command, on average. */
async function cpuOfRuns(command: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = cpuOfEnded(process.pid)
  for (let i = 0; i < RUNS; i++) await finish(command, { cwd: '.', env })
  return (cpuOfEnded(process.pid) - from) / RUNS
}
