import type { PowerCutResult } from './run.ts'

const EXAMPLES_MAX = 5

/** The result on one page. */
export function reportOf({
  works,
  fails,
  seed,
  seconds,
}: {
  works: PowerCutResult
  fails: PowerCutResult
  seed: number
  seconds: number
}): string {
  const count = (number: number) => number.toLocaleString('en-US')
  const line = (name: string, { states, recordings, unsettled, checked, served }: PowerCutResult) =>
    `${name}${count(states)} states of ${count(recordings)} recordings: ${count(unsettled)} with unflushed writes, ${count(checked)} look-ups of acknowledged messages, ${count(served)} served`
  const broken = [...works.broken, ...fails.broken]
  return [
    line('power cuts            ', works),
    line('after a failed flush  ', fails),
    `                      ${count(fails.failed_flushes)} flushes failed`,
    ...broken
      .slice(0, EXAMPLES_MAX)
      .flatMap(({ folder, faults }) => [
        `BROKEN  ${folder}`,
        ...faults.map((fault) => `        ${fault}`),
      ]),
    `${count(works.broken.length)} of ${count(works.states)} power cuts and ${count(fails.broken.length)} of ${count(fails.states)} after a failed flush break a promise; seed ${seed}, ${Math.round(seconds)} s`,
  ].join('\n')
}
