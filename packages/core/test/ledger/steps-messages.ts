import type { LookupResult, Outcome } from '../../src/contract/outside/provider.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { accountOf } from '../storage/ledger-model.ts'
import { type Learned, settle } from '../storage/ledger-model-messages.ts'
import type { History, Step } from './history.ts'

const LEASE_MS = 30_000
const FAULT = { error_code: 'busy', error_message: 'Busy' }
const OUTCOMES: [Learned, Outcome][] = [
  ['accepted', { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: 5_000 }],
  ['rejected', { type: 'rejected', ...FAULT }],
  ['retry', { type: 'retry', ...FAULT, delay_ms: 1_000 }],
  ['ambiguous', { type: 'ambiguous', ...FAULT }],
]
const FOUND: [Learned, LookupResult][] = [
  ['found', { type: 'found', receipts: [], replies: [], lookup_after_ms: null }],
  ['unavailable', { type: 'unavailable' }],
  ['not_found', { type: 'not_found' }],
  ['unavailable', { type: 'unavailable' }],
]

/** Claims what is due, and settles it or leaves it to its lease. */
export const claimSome: Step = async (history) => {
  const { random } = history
  const claimed = await claim(history, 1 + random.below(8))
  return {
    what: `claim ${claimed.length}`,
    operations: 1,
    refused: claimed.length === 0,
    answer: claimed.every(({ message_id }) => history.model.messages.has(message_id)),
    foretold: true,
  }
}

/** Settles some of the latest claims, also a second time and after their lease. */
export const settleSome: Step = async (history) => {
  const { random, claims } = history
  if (claims.length === 0) return null
  const some = Array.from({ length: 1 + random.below(4) }, () => ({
    claimed: claims.at(-1 - random.below(Math.min(30, claims.length))) as ClaimedMessage,
    choice: random.below(4),
  }))
  return settleAll(history, some)
}

/** Calls back about a message, claimed or not. */
export const callBack: Step = async ({ random, model, storage, clock }) => {
  if (model.messages.size === 0) return null
  const [message_id, { workspace_id }] = random.pick([...model.messages])
  const status = random.pick(['sent', 'delivered', 'read', 'failed'] as const)
  const result: Settlement['result'] = {
    task: 'callback',
    receipts: [{ status, provider_message_id: 'P1', error_code: null, error_message: null }],
  }
  const at = clock.now()
  const abilities = { idempotent: false, lookup: false }
  const of = { workspace_id, message_id, token: null, provider: 'carrier', abilities }
  const answer = await storage.hot.settle([{ ...of, result, at }])
  settle(model, message_id, null, 'called_back', at.getTime())
  const what = `call back ${status} of ${message_id}`
  return { what, operations: 1, refused: false, answer, foretold: [true] }
}

/** Cancels messages, some of them twice or under another workspace. */
export const cancelSome: Step = async ({ random, model, storage, clock, ids }) => {
  const workspace_id = random.pick(ids)
  const known = [...model.messages.keys()]
  if (known.length === 0) return null
  const message_ids = [random.pick(known), random.pick(known), random.pick(known)]
  const at = clock.now()
  const answer = await storage.hot.cancel({ workspace_id, message_ids, at })
  const foretold = message_ids.map((id) => {
    const message = model.messages.get(id)
    if (!message || message.workspace_id !== workspace_id) return 'not_found'
    const isWaiting = message.token === null && message.doubtful_since_ms === null
    if (message.state !== 'open' || !isWaiting) return 'not_cancelable'
    message.token = 'cancel'
    settle(model, id, 'cancel', 'rejected', at.getTime())
    return 'canceled'
  })
  const refused = !foretold.includes('canceled')
  const what = `cancel ${message_ids.join(', ')}: ${answer}`
  return { what, operations: message_ids.length, refused, answer, foretold }
}

/** Brings every message to its end; null when none is queued any more. */
export const finishMessages: Step = async (history) => {
  history.clock.advance(24 * 3_600_000)
  const claimed = await claim(history, 1_000)
  if (claimed.length === 0) return null
  return settleAll(
    history,
    claimed.map((each) => ({ claimed: each, choice: 1 })),
  )
}

async function claim(history: History, limit: number): Promise<ClaimedMessage[]> {
  const { storage, clock, model, claims } = history
  const claimed = await storage.hot.claimMessages({
    now: clock.now(),
    elapsed_ms: clock.elapsed(),
    limit,
    lease_ms: LEASE_MS,
    token: clock.id(),
    route: () => ({ provider: 'carrier', sender: null }),
  })
  for (const { message_id, token } of claimed) {
    const message = model.messages.get(message_id)
    if (!message) throw new Error(`${message_id} is queued although it was not accepted`)
    message.token = token
  }
  claims.push(...claimed)
  return claimed
}

async function settleAll(
  { storage, clock, model }: History,
  of: readonly { claimed: ClaimedMessage; choice: number }[],
) {
  const at = clock.now()
  const seqOf = () => [...model.accounts.keys()].map((id) => accountOf(model, id).entries.length)
  const before = seqOf().join()
  const foretold: boolean[] = []
  const batch = of.map(({ claimed, choice }): Settlement => {
    const { workspace_id, message_id, token, attempt, task, status, interrupted } = claimed
    const isLookup = task === 'lookup' || status !== 'queued'
    const [learned, found] = FOUND[choice] as (typeof FOUND)[number]
    // An interrupted attempt is ambiguous, whatever it gave.
    const [change, outcome] = OUTCOMES[interrupted ? 3 : choice] as (typeof OUTCOMES)[number]
    foretold.push(settle(model, message_id, token, isLookup ? learned : change, at.getTime()))
    return {
      workspace_id,
      message_id,
      token,
      provider: 'carrier',
      // A doubtful one is sent again, then waited for.
      abilities: { idempotent: attempt % 2 === 1, lookup: false },
      result: isLookup ? { task: 'lookup', found } : { task: 'send', attempt, outcome },
      at,
    }
  })
  const answer = await storage.hot.settle(batch)
  const refunds = before === seqOf().join() ? '' : ' with refunds'
  return {
    what: `settle ${of.map(({ claimed, choice }) => `${claimed.message_id} ${choice}`)}${refunds}`,
    operations: of.length,
    refused: !foretold.includes(true),
    answer,
    foretold,
  }
}
