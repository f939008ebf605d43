// Kills the service repeatedly under load, and then checks all its promises:
//
//   npm run crash -- [--postgres] [--cycles 50] [--seed n] [--standstill 40] [--entry server.ts] [--keep]
//
// With `--postgres` two servers share a PostgreSQL that the script starts. Each round kills a server, kills, restarts
// or stops (for `--standstill` seconds) the database, or cuts connections.
//
// Without `--conditions=source` the built packages run. SIGKILL leaves the operating system alive, so it shows what a
// crash of the process loses. It does not simulate power cuts: a commit that was never flushed survives.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type CrashResult, crash } from './run.ts'

import type { Fault } from './stage.ts'

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    standstill: { type: 'string', default: '40' },
    cycles: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    entry: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const folder = mkdtempSync(join(tmpdir(), 'svc-crash-'))
console.log(`seed ${seed}, files in ${folder}`)

const result = await crash({
  cycles: Number(values.cycles),
  seed,
  folder,
  node_args: process.execArgv,
  ...(values.entry && { entry: resolve(values.entry) }),
  patient: true,
  ...(values.postgres && { postgres: { standstill_ms: Number(values.standstill) * 1_000 } }),
  progress: (text) => console.log(text),
})
console.log(`\n${reportOf(result)}`)
const isSound = result.violations.broken().length === 0
if (isSound && !values.keep) rmSync(folder, { recursive: true, force: true })
process.exitCode = isSound ? 0 : 1

/** The result on one page. */
function reportOf({ evidence, violations, faults, seconds }: CrashResult): string {
  const { operations, received, stored } = evidence
  const tries = operations.flatMap((operation) => operation.tries)
  const of = <T>(items: readonly T[], test: (item: T) => boolean) =>
    items.filter(test).length.toLocaleString('en-US')
  const broken = violations.broken()
  const storedOps = new Set(stored.messages.map(({ op }) => op))
  const unsure = operations.filter(
    ({ tries: all }) =>
      all.some(({ outcome }) => outcome === 'info') && !all.some(({ outcome }) => outcome === 'ok'),
  )
  const mails = operations.filter(({ door }) => door === 'smtp')
  const mailTries = mails.flatMap((operation) => operation.tries)
  const deliveries = [...received.values()].reduce((sum, { times }) => sum + times, 0)
  return [
    `${faults.length} faults in ${Math.round(seconds)} s`,
    ...countsOf(faults),
    '',
    `requests    ${of(tries, () => true)}: ${of(tries, ({ outcome }) => outcome === 'ok')} accepted, ${of(tries, ({ outcome }) => outcome === 'fail')} refused, ${of(tries, ({ outcome }) => outcome === 'info')} without an answer`,
    `            ${of(tries, (each) => each.outcome === 'ok' && each.replayed)} repeated the stored answer; of ${of(unsure, () => true)} operations without any answer ${of(unsure, ({ number }) => storedOps.has(number))} were stored`,
    `mails       ${of(mailTries, () => true)} of these requests: ${of(mailTries, ({ outcome }) => outcome === 'ok')} got 250, ${of(mailTries, ({ outcome }) => outcome === 'fail')} refused, ${of(mailTries, ({ outcome }) => outcome === 'info')} without a reply; ${of(mails, ({ tries: all }) => all.some(({ outcome }) => outcome === 'info') && all.some(({ outcome }) => outcome === 'ok'))} mails without a reply were repeated and got 250`,
    `messages    ${of(stored.messages, () => true)}: ${of(stored.messages, ({ status }) => status === 'delivered')} delivered, ${of(stored.messages, ({ status }) => status === 'failed')} failed, ${of(stored.messages, ({ interrupted }) => interrupted === 1)} interrupted in the call of the provider`,
    `ledger      ${of(stored.entries, () => true)} entries: ${of(stored.entries, ({ kind }) => kind === 'send')} debits, ${of(stored.entries, ({ kind }) => kind === 'refund')} refunds`,
    `webhooks    ${of(stored.events, () => true)} events, ${deliveries.toLocaleString('en-US')} deliveries: ${of([...received.values()], ({ times }) => times > 1)} events came more than once`,
    '',
    ...broken.flatMap(({ rule, times, examples }) => [
      `BROKEN      ${rule}: ${times} times`,
      ...examples.map((example) => `            ${example}`),
    ]),
    `${violations.rules()} rules, ${broken.length} broken`,
  ].join('\n')
}

/** The number of times of each fault, and the slowest answer during it. */
function countsOf(faults: readonly Fault[]): string[] {
  return [...new Set(faults.map(({ kind }) => kind))].map((kind) => {
    const all = faults.filter((each) => each.kind === kind)
    const slowest_ms = Math.max(...all.map((each) => each.slowest_ms))
    return `            ${all.length} times ${kind}; slowest answer ${Math.round(slowest_ms)} ms`
  })
}
