import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, lineOf } from './figure.ts'
import { type Result, ROWS, tableOf, withFloor } from './table.ts'

type Bench = (options: BenchOptions) => Promise<Figure[]>

/** Every benchmark by its name, loaded when it is run. */
const BENCHES: Record<string, () => Promise<Bench>> = {
  segments: async () => {
    const { run } = await import('./segments.ts')
    return async () =>
      (await run()).map(({ ratio, ...rest }) => ({ ...rest, value: ratio, unit: 'x' }))
  },
  accept: async () => (await import('./accept.ts')).run,
  bulk: async () => (await import('./bulk.ts')).run,
  turns: async () => (await import('./turns.ts')).run,
  'end-to-end': async () => (await import('./end-to-end.ts')).run,
  'idle-latency': async () => (await import('./idle-latency.ts')).run,
  backlog: async () => (await import('./backlog.ts')).run,
  broadcast: async () => (await import('./broadcast.ts')).run,
  'postgres-broadcast': async () => (await import('./broadcast.ts')).runPostgres,
  'broadcast-waiting': async () => (await import('./broadcast-waiting.ts')).run,
  removal: async () => (await import('./removal.ts')).run,
  'postgres-removal': async () => (await import('./removal.ts')).runPostgres,
  'postgres-removal-month': async () => (await import('./removal.ts')).runMonths,
  fold: async () => (await import('./fold.ts')).run,
  'postgres-fold': async () => (await import('./fold.ts')).runPostgres,
  backup: async () => (await import('./backup.ts')).run,
  'ledger-verify': async () => (await import('./ledger-verify.ts')).run,
  lists: async () => (await import('./lists.ts')).run,
  'console-list': async () => (await import('./console-list.ts')).run,
  'postgres-console-list': async () => (await import('./console-list.ts')).runPostgres,
  codes: async () => (await import('./codes.ts')).run,
  'postgres-codes': async () => (await import('./codes.ts')).runPostgres,
  metrics: async () => (await import('./metrics.ts')).run,
  overload: async () => (await import('./overload.ts')).run,
  'postgres-lists': async () => (await import('./lists.ts')).runPostgres,
  'postgres-accept': async () => (await import('./postgres/accept.ts')).run,
  'postgres-replica': async () => (await import('./postgres/replica.ts')).run,
  'postgres-pooler': async () => (await import('./postgres/pooler.ts')).run,
  'postgres-coalesce': async () => (await import('./postgres/coalesce.ts')).run,
  'postgres-claim': async () => (await import('./postgres/claim.ts')).run,
  'webhook-deliveries': async () => (await import('./webhooks.ts')).runDeliveries,
  'webhook-fairness': async () => (await import('./webhooks.ts')).runFairness,
  smtp: async () => (await import('./smtp.ts')).run,
  'compat-twilio': async () => (await import('./compat-twilio.ts')).run,
  'smtp-inlet': async () => (await import('./smtp-inlet.ts')).run,
  'slow-gateway': async () => (await import('./slow-gateway.ts')).run,
  smpp: async () => (await import('./smpp.ts')).run,
  'command-start': async () => (await import('./command-start.ts')).run,
  startup: async () => (await import('./startup.ts')).run,
  steady: async () => (await import('./steady.ts')).run,
  'send-cpu': async () => (await import('./send-cpu.ts')).run,
}

const USAGE = `usage: npm run bench [-- --quick]                 the summary: each figure with its floor and its goal
       npm run bench ${Object.keys(BENCHES).join('|')}… [-- --quick]
       npm run bench accept -- --flush-ms 3      with the flushes of a slow disk; default: 3 and 8 ms longer
       npm run bench profile accept|accept-dispatching|end-to-end|postgres-accept|postgres-end-to-end|steady|steady-postgres|smpp|smpp-bulk|compat-twilio|smtp-inlet [-- --quick]`

const { positionals: names, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    'flush-ms': { type: 'string', multiple: true, default: ['3', '8'] },
  },
})
const options: BenchOptions = { quick: values.quick, flush_ms: values['flush-ms'].map(Number) }

if (names[0] === 'profile') {
  const { profile, isProfiled } = await import('./profile.ts')
  const name = names[1] ?? ''
  if (isProfiled(name)) await profile(name, options)
  else refuse()
} else if (names.every((name) => name in BENCHES) && options.flush_ms.every((ms) => ms > 0)) {
  console.log(await machine())
  if (names.length > 0) for (const name of names) await measure(name)
  else await summarize()
} else refuse()

/** Runs the benches of the summary, prints their figures, then the summary. A failure does not stop the others. */
async function summarize(): Promise<void> {
  const results = new Map<string, Result>()
  for (const bench of new Set(ROWS.map((row) => row.bench))) {
    try {
      results.set(bench, await measure(bench))
    } catch (error) {
      console.error(error)
      results.set(bench, error as Error)
    }
  }
  console.log(`\n${await machine()}${options.quick ? ', --quick: not to quote' : ''}\n`)
  console.log(tableOf(ROWS, results))
}

async function measure(name: string): Promise<Figure[]> {
  const bench = await BENCHES[name]?.()
  const figures = (await bench?.(options)) ?? []
  for (const figure of figures) console.log(lineOf(withFloor(figure)))
  return figures
}

function refuse(): void {
  console.error(USAGE)
  process.exitCode = 2
}

/** The machine of the figures. A disk with free flushes would make every durable figure wrong. */
async function machine(): Promise<string> {
  const flushes = await onStage(flushesPerSecond)
  const disk = `${count(flushes)} flushes/s on ${tmpdir()} (${count(1000 / flushes)} ms each)`
  return `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, ${disk}, load ${loadavg().map(count).join(' ')}`
}

async function flushesPerSecond({ folder }: Stage): Promise<number> {
  const file = openSync(join(folder, 'flush'), 'w')
  const page = Buffer.alloc(4096)
  const from = performance.now()
  let flushes = 0
  while (performance.now() - from < 300) {
    writeSync(file, page)
    fdatasyncSync(file)
    flushes += 1
  }
  const seconds = (performance.now() - from) / 1000
  closeSync(file)
  return flushes / seconds
}
