import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { inFolder, startService } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { cpuOfEnded } from './processor-time.ts'

const SVC = fileURLToPath(new URL('../../packages/cli/bin/svc.js', import.meta.url))

/** Runs of each round, because the system counts processor time in hundredths of a second. */
const RUNS = 5

/** The processor time of one `svc send`, less that of an empty Node program; in turns. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const { url, key, child } = await startService(folder, 'service', { dispatch: true })
    const env = { ...process.env, SVC_DATA_DIR: folder }
    const send = [
      SVC,
      'send',
      '--to',
      '+15005550006',
      '--text',
      'Hello',
      '--url',
      url,
      '--key',
      key,
    ]
    const taken: { send: number; node: number }[] = []
    try {
      // The first round warms up.
      for (let round = 0; round <= (quick ? 2 : 5); round++) {
        const one = { send: await cpuOfRuns(send, env), node: await cpuOfRuns(['-e', '0'], env) }
        if (round > 0) taken.push(one)
      }
    } finally {
      await child.end()
    }
    const differences = taken.map(({ send, node }) => send - node)
    const of = (name: 'send' | 'node') => count(median(taken.map((one) => one[name])))
    const raw = `svc send ${of('send')} ms, node -e 0 ${of('node')} ms; ${taken.length} rounds of ${RUNS}, differences ${differences.map(count).join(', ')} ms`
    return [{ name: 'svc send, CPU above node -e 0', value: median(differences), unit: 'ms', raw }]
  })
}

/** Milliseconds of CPU of one run of node with these arguments, on average. */
async function cpuOfRuns(argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = cpuOfEnded(process.pid)
  for (let i = 0; i < RUNS; i++) {
    const child = spawn(process.execPath, argv, { env, stdio: 'ignore' })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`)
  }
  return (cpuOfEnded(process.pid) - from) / RUNS
}
