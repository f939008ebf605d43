import type { Units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { type HoldEndResult, type HoldResult, releaseHolds } from '../../src/credits/holding.ts'
import { expireLots } from '../../src/credits/lots.ts'
import { accountOf } from '../storage/ledger-model.ts'
import { attempt } from './attempt.ts'
import { end, expire, hold, holdsOf, reap } from './books.ts'
import type { History, Step } from './history.ts'

const AMOUNTS = [1, 500_000, 2_000_000, 2_000_000, 30_000_000]
const MINUTE_MS = 60_000

function creditsOf({ storage, clock }: History) {
  return createCredits({ storage, runtime: clock })
}

/** Few messages, so that holds of one meet. */
function aboutSome({ random, ids }: History) {
  return { workspace_id: random.pick(ids), message_id: `call ${random.below(5)}` }
}

/** Holds for a message, extends its hold, or repeats it, now and then for another amount. */
export const holdSome: Step = async (history) => {
  const { random, books, clock } = history
  const about = aboutSome(history)
  const known = holdsOf(books, about)
  const repeats = known.length > 0 && random.oneIn(4)
  const n = repeats ? random.below(known.length) : known.length
  const same = repeats && random.oneIn(2) ? known[n]?.amount : undefined
  const amount = same ?? (random.oneIn(20) ? random.pick([0, -1, 0.5]) : random.pick(AMOUNTS))
  const at = clock.now()
  const expires_ms = expiryFor(history)
  const request = {
    ...{ message_id: about.message_id, n, amount: amount as Units },
    ...{ expires_at: new Date(expires_ms), channel: 'voice', quantity: 1, unit_price: null },
  }
  const answer = await attempt(async () =>
    wordForHeld(await creditsOf(history).hold(about.workspace_id, request)),
  )
  const foretold = hold(history, about, { n, amount, expires_ms, at })
  const what = `hold ${amount} of ${about.workspace_id} ${about.message_id} ${n}: ${JSON.stringify(answer)}`
  return { what, operations: 1, refused: foretold !== 'booked', answer, foretold }
}

/** Settles for less, the same, more, or nothing; again, for another amount, or after its hold ran out. */
export const settleHold: Step = async (history) => {
  const { random, books, clock } = history
  const about = aboutSome(history)
  const held = holdsOf(books, about).reduce(
    (sum, { amount, state }) => sum + (state === 'open' ? amount : 0),
    0,
  )
  const amount = random.pick([0, 1, Math.floor(held / 2), held, held + 3, 2 * held, 999_999])
  const answer = wordForEnded(
    await creditsOf(history).settle(about.workspace_id, about.message_id, {
      amount: amount as Units,
    }),
  )
  const foretold = end(history, about, { amount, at: clock.now() })
  const what = `settle ${amount} of ${held} held, ${about.workspace_id} ${about.message_id}: ${answer}`
  return { what, operations: 1, refused: foretold !== 'booked', answer, foretold }
}

export const voidHold: Step = async (history) => {
  const about = aboutSome(history)
  const answer = wordForEnded(await creditsOf(history).void(about.workspace_id, about.message_id))
  const foretold = end(history, about, { amount: null, at: history.clock.now() })
  const what = `void ${about.workspace_id} ${about.message_id}: ${answer}`
  return { what, operations: 1, refused: foretold !== 'booked', answer, foretold }
}

/** Releases the holds that ran out. */
export const reapHolds: Step = async (history) => {
  const { storage, clock } = history
  const answer = await releaseHolds({ storage, runtime: clock }, clock.now(), 1_000)
  const foretold = reap(history, clock.now())
  return { what: `reap ${answer}`, operations: 1, refused: foretold === 0, answer, foretold }
}

/** Ends the lots that expired. */
export const expireGrants: Step = async (history) => {
  const { storage, clock, model, ids, books } = history
  const booked = new Map<string, string>()
  const now_ms = clock.now().getTime()
  const isDue = books.lots.some(({ ended, expires_ms }) => !ended && expires_ms <= now_ms)
  for (const id of isDue ? ids : []) {
    // The service chooses the ids of entries: the id of a fact is read, not predicted.
    const count = accountOf(model, id).entries.length
    for (const entry of await storage.read.credits.entries(id, { limit: count, offset: 0 })) {
      const { kind, ref_type, ref_id, ref_n } = entry
      booked.set(`${id} ${kind} ${ref_type} ${ref_id} ${ref_n}`, entry.id)
    }
  }
  const answer = await expireLots({ storage, runtime: clock }, clock.now(), 1_000)
  const entryId = (workspaceId: string, fact: string) => booked.get(`${workspaceId} ${fact}`) ?? ''
  const foretold = expire(history, clock.now(), entryId)
  return { what: `expire ${answer}`, operations: 1, refused: foretold === 0, answer, foretold }
}

/** No two at the same moment: their order would be undefined. */
function expiryFor({ random, clock, books }: History): number {
  let expires_ms = clock.now().getTime() + random.pick([1, 5, 60]) * MINUTE_MS
  const taken = new Set([...books.holds.values()].flat().map((known) => known.expires_ms))
  while (taken.has(expires_ms)) expires_ms += 1
  return expires_ms
}

function wordForHeld(held: HoldResult) {
  if (held.ok) return held.repeated ? 'repeated' : 'booked'
  if (held.reason === 'insufficient_credits') {
    return { required: held.required, available: held.available }
  }
  if (held.reason !== 'daily_limit') return held.reason
  return { required: held.required, limit: held.limit, spent: held.spent }
}

function wordForEnded(ended: HoldEndResult): string {
  if (!ended.ok) return ended.reason
  return ended.repeated ? 'repeated' : 'booked'
}
