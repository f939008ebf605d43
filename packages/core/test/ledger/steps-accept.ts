import type { Units } from '../../src/contract/fields/units.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import { accept } from '../storage/ledger-model-messages.ts'
import { attempt } from './attempt.ts'
import type { Done, History, Step } from './history.ts'

/** What a message may cost: nothing, the least there is, crooked and plain sums, more than most have. */
const COSTS = [0, 1, 100_003, 500_000, 1_000_000, 1_000_000, 7_000_000]
const KEY_LIMITS = [0, 1_000_000, 9_000_000, 40_000_000]
const DAY_MS = 86_400_000

/** Up to ten requests at once, single and bulk, with and without idempotency keys and keys that have a limit. */
export const acceptSome: Step = async (history) => {
  const { random } = history
  const requests = Array.from({ length: 1 + random.below(10) }, () => requestOf(history))
  return acceptAll(history, requests, 'accept')
}

/** A request whose debit or message was written before, behind one that is sound. */
export const acceptAgain: Step = async (history) => {
  const { random, make, accepted } = history
  if (accepted.length === 0) return null
  const earlier = random.pick(accepted)
  const good = make.send(earlier.workspace_id)
  if (random.oneIn(2)) return acceptAll(history, [good, { ...earlier, idempotency: null }], 'again')
  if (!earlier.debit) return null
  const bad = make.send(earlier.workspace_id, { credits_used: random.pick([1, 9]) as Units })
  if (bad.debit) bad.debit.reference = earlier.debit.reference
  return acceptAll(history, [good, bad], 'accept the same debit')
}

async function acceptAll(history: History, requests: AcceptRequest[], name: string): Promise<Done> {
  const { storage, model, accepted } = history
  const answer = await attempt(async () => await storage.hot.accept(requests))
  const foretold = accept(model, requests)
  const isAccepted = (i: number) => Array.isArray(foretold) && foretold[i]?.outcome === 'accepted'
  const taken = requests.filter((_, i) => isAccepted(i))
  accepted.push(...taken)
  const costs = requests.map(({ workspace_id, debit }) => `${workspace_id} ${debit?.amount ?? 0}`)
  return {
    what: `${name} ${costs.join(', ')}: ${JSON.stringify(answer)}`,
    operations: requests.length,
    refused: taken.length === 0,
    answer,
    foretold,
  }
}

function requestOf({ random, ids, make, clock }: History): AcceptRequest {
  const workspaceId = random.pick(ids)
  const count = random.oneIn(3) ? 2 + random.below(3) : 1
  const bulk_id = count > 1 ? clock.id() : null
  const expires_at = random.oneIn(4) ? new Date(clock.now().getTime() + 60_000) : null
  const messages = Array.from({ length: count }, () =>
    make.message(workspaceId, {
      credits_used: random.pick(COSTS) as Units,
      bulk_id,
      expires_at,
    }),
  )
  const idempotency = random.oneIn(3)
    ? {
        route: 'messages.send',
        // Few keys and few bodies, so that they meet.
        key: `key ${random.below(6)}`,
        request_hash: `body ${random.below(2)}`,
        response: JSON.stringify({ message_id: messages[0]?.id }),
      }
    : null
  const request = make.request(messages, idempotency)
  if (bulk_id) request.bulk = make.bulkRow(messages)
  if (request.debit && random.oneIn(3)) {
    const which = random.below(2)
    const day = new Date(Math.floor(clock.now().getTime() / DAY_MS) * DAY_MS)
    request.spending = {
      api_key_id: `key ${which}`,
      day: day.toISOString().slice(0, 10),
      limit: random.pick(KEY_LIMITS) as Units,
    }
  }
  return request
}
