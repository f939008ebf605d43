/**
 * Sends pathological texts, numbers, depths, counts and headers to every endpoint of a running service, and prints for
 * each route the input with the longest event loop delay:
 *
 *   npm run slow-inputs -- [--quick] [--minutes n] [--limit-ms 50] [--route text]
 *
 * `--route` tries only the routes whose method and path contain the text.
 *
 * Then it reads pathological mails as the SMTP inlet does, and as the server that takes bounces does, and prints the ten
 * slowest. `--mails` does nothing else; `--seed n` (default: 1) chooses the mails that mix several shapes.
 *
 * Exits with 1 when an input within the limits delays the event loop for longer than `--limit-ms`. The measure is the
 * processor time of the longest turn, so that other processes have little effect. The database is in memory
 * (/dev/shm), without flushes. Linux only.
 */

import { parseArgs } from 'node:util'
import { mails, readSlowly, type SlowRead } from './mails.ts'
import { type Slow, slowInputs } from './run.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '0' },
    'limit-ms': { type: 'string', default: '50' },
    route: { type: 'string', default: '' },
    mails: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const limit_ms = Number(values['limit-ms'])
const began = Date.now()

if (!values.mails) await tryRoutes()
if (values.route === '') await tryMails()

async function tryRoutes(): Promise<void> {
  const { tried, worst } = await slowInputs({
    quick: values.quick,
    route: values.route,
    suspect_ms: limit_ms / 2,
    until_ms: began + Number(values.minutes) * 60_000,
    progress(done, all, slowest) {
      const most = slowest ? textOf(slowest) : '-'
      console.error(`${done} tried (${all} in a round), longest delay ${most}`)
    },
  })
  for (const one of worst) console.log(textOf(one))
  report(tried, 'routes', worst)
}

async function tryMails(): Promise<void> {
  const all = mails({ quick: values.quick, seed: Number(values.seed) })
  const reads: SlowRead[] = []
  for (const mail of all) reads.push(...(await readSlowly(mail, limit_ms / 2)))
  reads.sort((a, b) => b.delay_ms - a.delay_ms)
  for (const { reader, name, delay_ms } of reads.slice(0, 10)) {
    console.log(`${delay_ms.toFixed(1).padStart(8)} ms  ${reader}  ${name}`)
  }
  report(all.length, 'readings of mails', reads)
}

function report(tried: number, what: string, all: readonly { delay_ms: number }[]): void {
  const slow = all.filter(({ delay_ms }) => delay_ms > limit_ms)
  console.log(
    `${tried} inputs in ${Math.round((Date.now() - began) / 1000)} s, ${slow.length} ${what} above ${limit_ms} ms`,
  )
  if (slow.length > 0) process.exitCode = 1
}

function textOf({ input, status, delay_ms }: Slow): string {
  const route = `${input.method} ${input.path.split('?')[0]}`
  return `${delay_ms.toFixed(1).padStart(8)} ms  ${route}  ${input.name} (${status})`
}
