import fc from 'fast-check'
import { shorterScripts, type Timed } from './script.ts'
import { runSeed } from './seed.ts'

/** Enough for a script of 280 steps; each run takes about a second, and less as the script gets shorter. */
const RUNS_MAX = 600

/** A shorter script that breaks the same invariant with the same seed: first with fewer steps, then with simpler ones. */
export async function shrink(
  seed: number,
  script: readonly Timed[],
  invariant: string,
): Promise<readonly Timed[]> {
  let runs = 0
  const breaks = async (candidate: readonly Timed[]): Promise<boolean> => {
    if (runs >= RUNS_MAX) return false
    runs += 1
    const { violation } = await runSeed(seed, candidate)
    return violation?.invariant === invariant
  }

  let shortest = script
  for (let size = script.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < shortest.length; ) {
      const candidate = [...shortest.slice(0, at), ...shortest.slice(at + size)]
      if (await breaks(candidate)) shortest = candidate
      else at += size
    }
  }
  const { counterexample } = await fc.check(
    fc.asyncProperty(shorterScripts, async (candidate) => !(await breaks(candidate))),
    { examples: [[[...shortest]]], numRuns: 1 },
  )
  return counterexample?.[0] ?? shortest
}
