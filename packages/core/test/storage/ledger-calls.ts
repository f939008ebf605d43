import { isDeepStrictEqual } from 'node:util'
import type { Units } from '../../src/contract/fields/units.ts'
import type { AcceptRequest, AcceptResult } from '../../src/rules/accept.ts'
import type { Operation } from '../../src/rules/decide.ts'
import type { Posted } from '../../src/storage/ports/stores.ts'
import type { Bench } from './bench.ts'
import { type LedgerModel, type ModelPosted, post } from './ledger-model.ts'
import { accept } from './ledger-model-messages.ts'
import type { CallStep, PostStep, RequestStep } from './ledger-steps.ts'

/** One call of the port, and what the model answers to it. */
export interface Call {
  real(): Promise<unknown>
  foretell(model: LedgerModel): unknown
  /** What it wants accepted. */
  requests: readonly AcceptRequest[]
}

/** Makes the calls of a history, whose workspaces are `ids`. */
export function callsOf(bench: Bench, ids: readonly string[]) {
  const workspaceOf = (step: { workspace: number }) => ids[step.workspace] as string

  function requestOf(step: RequestStep): AcceptRequest {
    const bulk_id = step.costs.length > 1 ? bench.clock.id() : null
    const expires_at = step.expires ? new Date(bench.clock.now().getTime() + 60_000) : null
    const messages = step.costs.map((cost) =>
      bench.make.message(workspaceOf(step), { credits_used: cost as Units, bulk_id, expires_at }),
    )
    const { key, body } = step.idempotency ?? {}
    return bench.make.request(
      messages,
      step.idempotency && {
        route: 'messages.send',
        key: `key ${key}`,
        request_hash: `body ${body}`,
        response: JSON.stringify({ message_id: messages[0]?.id }),
      },
    )
  }

  function acceptCall(requests: readonly AcceptRequest[]): Call {
    return {
      requests,
      real: () =>
        attempt(async () => (await bench.storage.hot.accept(requests)).map(withoutReason)),
      foretell: (model) => accept(model, requests),
    }
  }

  return {
    acceptCall,
    callOf(step: CallStep): Call {
      if (step.do === 'accept') return acceptCall(step.requests.map(requestOf))
      const workspaceId = workspaceOf(step)
      const [amount, held_delta] = movementOf(step)
      const reference = { type: 'fact', id: `${step.fact ?? bench.clock.id()}`, n: 0 }
      const fields = { kind: step.kind, held_delta: held_delta as Units, reference }
      const operation: Operation = bench.make.grant(amount as Units, fields)
      return {
        requests: [],
        real: () =>
          attempt(async () =>
            wordFor(
              await bench.storage.write(({ credits }) => credits.post(workspaceId, operation)),
            ),
          ),
        foretell: (model) => post(model, workspaceId, operation),
      }
    },
  }
}

/** What an operation of that kind moves: of the balance, and of what is held. */
function movementOf({ kind, amount, held, sign, part, wrong }: PostStep): [number, number] {
  const signs: Record<PostStep['kind'], [number, number]> = {
    purchase: [1, 0],
    purchase_adjust: [sign, 0],
    grant: [1, 0],
    send: [-1, 0],
    refund: [1, 0],
    hold: [0, 1],
    settle: [part === 'held' ? 0 : -1, part === 'amount' ? 0 : -1],
    void: [0, -1],
    expire: [-1, 0],
    adjustment: [sign, 0],
  }
  const [up, hold] = signs[kind]
  const turned = wrong ? -1 : 1
  // Zero has one sign.
  return [amount * up * turned || 0, held * hold * turned || 0]
}

/** What the other verbs returned, in the model's words. */
export function wordFor(posted: Posted): ModelPosted {
  if ('repeated' in posted) return 'repeated'
  if (posted.ok) return 'booked'
  if (posted.reason === 'insufficient_credits') {
    return { required: posted.required, available: posted.available }
  }
  if (posted.reason !== 'daily_limit') return posted.reason
  return { required: posted.required, limit: posted.limit, spent: posted.spent }
}

function withoutReason(result: AcceptResult): AcceptResult {
  if (result.outcome !== 'insufficient_credits') return result
  const { outcome, required, available } = result
  return { outcome, required, available }
}

async function attempt(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work()
  } catch {
    return 'impossible'
  }
}

/** The model after the calls, for every order of them in which it would have given the same answers. */
export function* explanationsOf(
  model: LedgerModel,
  calls: readonly Call[],
  answers: readonly unknown[],
  left: readonly number[] = [...calls.keys()],
): Generator<LedgerModel> {
  if (left.length === 0) yield model
  for (const i of left) {
    const next = structuredClone(model)
    if (!isDeepStrictEqual(calls[i]?.foretell(next), answers[i])) continue
    const others = left.filter((other) => other !== i)
    yield* explanationsOf(next, calls, answers, others)
  }
}
