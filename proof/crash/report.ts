import type { CrashResult } from './run.ts'
import type { Fault } from './stage.ts'

/** The result on one page. */
export function reportOf({ evidence, violations, faults, seconds }: CrashResult): string {
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
