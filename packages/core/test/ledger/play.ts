import { beginHistory, type Step } from './history.ts'
import { type Random, randomFrom } from './random.ts'
import { acceptAgain, acceptSome } from './steps-accept.ts'
import { adjustSome, changeTerms, grantSome, notifyOwner, postAny, wait } from './steps-credits.ts'
import { expireGrants, holdSome, reapHolds, settleHold, voidHold } from './steps-holds.ts'
import { callBack, cancelSome, claimSome, finishMessages, settleSome } from './steps-messages.ts'
import { purchaseSome } from './steps-purchases.ts'
import type { Subject } from './subjects.ts'

const STEPS = 60
const TAIL = 12

/** How often each kind of step is taken, among the sum of them all. */
const MIX: readonly [number, Step][] = [
  [16, acceptSome],
  [2, acceptAgain],
  [5, claimSome],
  [7, settleSome],
  [2, callBack],
  [3, cancelSome],
  [8, postAny],
  [9, grantSome],
  [4, adjustSome],
  [3, changeTerms],
  [2, notifyOwner],
  [10, holdSome],
  [6, settleHold],
  [3, voidHold],
  [3, reapHolds],
  [4, expireGrants],
  [9, purchaseSome],
  [7, wait],
]
const BAG: readonly Step[] = MIX.flatMap(([weight, step]) =>
  Array.from({ length: weight }, () => step),
)

/** What was played, by kind of step: how many operations. */
export type Tally = Map<string, number>

/**
 * Plays the history of a seed on `subject`: after every step the answers, the rows and the invariants are held against
 * the model; at the end every message, hold and lot comes to its end. Answers how many operations it was.
 * @throws Error with the seed and the last steps where something is not as it must.
 */
export async function playHistory(subject: Subject, seed: number, tally: Tally): Promise<number> {
  const random: Random = randomFrom(seed)
  const { history, check } = await beginHistory(subject, random)
  const tail: string[] = []
  let operations = 0

  async function take(step: Step): Promise<boolean> {
    const done = await step(history)
    if (!done) return false
    tail.push(done.what)
    if (tail.length > TAIL) tail.shift()
    await check(done)
    operations += done.operations
    tally.set(step.name, (tally.get(step.name) ?? 0) + done.operations)
    return true
  }

  try {
    for (let i = 0; i < STEPS; i++) await take(random.pick(BAG))
    while (await take(finishMessages));
    await take(reapHolds)
    subject.clock.advance(7 * 24 * 3_600_000)
    await take(expireGrants)
  } catch (error) {
    const steps = tail.map((what, i) => `  ${i - tail.length + 1}  ${what}`).join('\n')
    const { message } = error as Error
    throw new Error(`history of seed ${seed}: ${message}\nits last steps:\n${steps}`, {
      cause: error,
    })
  }
  return operations
}
