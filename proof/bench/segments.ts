import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Bench } from 'tinybench'
import { countSegments } from '../../packages/core/src/sms/index.ts'

/** One comparison: the speed as a multiple of the reference, and its minimum. */
interface Figure {
  name: string
  ratio: number
  floor?: number
}

interface SplitSms {
  split(text: string, options: { summary: boolean }): { parts: unknown[] }
}
const core = createRequire(new URL('../../packages/core/package.json', import.meta.url))
const { split }: SplitSms = core('split-sms')

const plain = 'Your code is 123456. It expires in ten minutes. Never share it. '
const marked = '{"id":1} [x] costs 5€ ~ '
const cyrillic = 'Ваш код 123456. Никому его не сообщайте. '

const texts: { name: string; text: string; floor?: number }[] = [
  { name: 'segments gsm 160', text: ofLength(plain, 160), floor: 10 },
  { name: 'segments gsm 1600', text: ofLength(plain, 1600), floor: 10 },
  { name: 'segments gsm 1600 with extensions', text: ofLength(marked, 1600) },
  { name: 'segments ucs-2 160', text: ofLength(cyrillic, 160) },
  { name: 'segments ucs-2 1600', text: ofLength(cyrillic, 1600) },
  // The worst case: the text reads as GSM-7 until its last character.
  { name: 'segments ucs-2 1600, last character', text: `${ofLength(plain, 1599)}я` },
]

/** Compares `countSegments` with split-sms in its faster mode (`summary`), text by text, in one process. */
export async function run(): Promise<Figure[]> {
  // Every text first: a compiler that has seen only one kind of string writes code that no server would run.
  for (const { text } of texts) await ratioOf(text)
  const figures: Figure[] = []
  for (const { name, text, floor } of texts) {
    const ratio = await medianRatio(text)
    figures.push(floor === undefined ? { name, ratio } : { name, ratio, floor })
  }
  return figures
}

/** Five short rounds, so that a burst of other work spoils one round and not the figure. */
async function medianRatio(text: string): Promise<number> {
  const ratios: number[] = []
  for (let round = 0; round < 5; round++) ratios.push(await ratioOf(text))
  return ratios.sort((a, b) => a - b)[2] ?? 0
}

async function ratioOf(text: string): Promise<number> {
  const theirs = () => split(text, { summary: true }).parts.length
  const ours = () => countSegments(text)
  if (ours() !== theirs()) throw new Error(`different results: ${ours()} and ${theirs()} segments`)
  const bench = new Bench({ time: 150, iterations: 5, warmupTime: 30, warmupIterations: 2 })
  bench.add('ours', many(ours)).add('theirs', many(theirs))
  await bench.run()
  return rateOf(bench, 'ours') / rateOf(bench, 'theirs')
}

/** A hundred calls a sample, so that the clock is not measured; the sum keeps the calls from being optimized away. */
function many(count: () => number): () => number {
  return () => {
    let sum = 0
    for (let i = 0; i < 100; i++) sum += count()
    return sum
  }
}

function rateOf(bench: Bench, name: string): number {
  const result = bench.getTask(name)?.result
  if (result?.state !== 'completed') throw new Error(`${name} was not measured`)
  return 1000 / result.latency.p50
}

function ofLength(sentence: string, length: number): string {
  // Through UTF-8 and back, like a text from a request: not a rope that the first reader would have to flatten.
  return Buffer.from(
    sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length),
  ).toString()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { name, ratio } of await run()) console.log(`${name}: ${ratio.toFixed(1)} x split-sms`)
}
