import type { SoakResult } from './run.ts'
import { judge, tableOf } from './verdict.ts'

/** The result on one page, and whether every limit and every rule held. */
export function reportOf(result: SoakResult): { text: string; isSound: boolean } {
  const { seconds, samples, violations, requests, operations, answers, stored, log, ledger } =
    result
  const findings = judge(samples)
  const broken = violations.broken()
  const number = (value: number) => value.toLocaleString('en-US')
  const warnings = log.levels.get(40) ?? 0
  const isSound = broken.length === 0 && findings.every(({ ok }) => ok !== false)
  const text = [
    `${(seconds / 60).toFixed(1)} minutes, ${number(requests)} requests (${(requests / seconds).toFixed(1)}/s)`,
    ...[...operations].map(([name, times]) => `  ${number(times).padStart(9)} × ${name}`),
    `messages   ${number(answers.accepted)} accepted, ${number(answers.unsure)} without an answer, ${number(stored.messages)} stored`,
    `webhooks   ${number(stored.events)} events, ${number(answers.received)} deliveries, ${number(stored.repeated)} events more than once`,
    `log        ${number(log.lines)} lines, ${number(warnings)} warnings`,
    `ledger     ${ledger.split('\n').join('\n           ')}`,
    '',
    tableOf(samples),
    '',
    ...findings.map(({ text: finding, ok }) => `${ok === null ? '–' : ok ? '✓' : '✗'} ${finding}`),
    ...broken.flatMap(({ rule, times, examples }) => [
      `✗ ${rule}: broken ${number(times)} times`,
      ...examples.map((example) => `    ${example}`),
    ]),
    `${violations.rules()} rules, ${broken.length} broken`,
    isSound ? 'PASSED' : 'FAILED',
  ].join('\n')
  return { text, isSound }
}
