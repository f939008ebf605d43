import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { Units } from '../../src/contract/fields/units.ts'
import type { LookupResult, Outcome } from '../../src/contract/outside/provider.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { type Bench, callback, EVERYTHING } from './bench.ts'
import { type Call, callsOf, explanationsOf } from './ledger-calls.ts'
import { factsOf, faultsOf, foretoldOf, type LedgerRows } from './ledger-checks.ts'
import { accountOf, type LedgerModel, newModel } from './ledger-model.ts'
import { type Learned, settle } from './ledger-model-messages.ts'
import { type LedgerStep, WORKSPACES } from './ledger-steps.ts'

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

/** A history of the ledger: each step goes to the storage and to the model, and both must agree. */
export async function startLedgerRun(bench: Bench) {
  const ids: string[] = []
  while (ids.length < WORKSPACES) ids.push(await bench.workspace(0))
  const { callOf, acceptCall } = callsOf(bench, ids)
  let model = newModel(ids)
  let rows = await read()
  const claims: ClaimedMessage[] = []
  const accepted: AcceptRequest[] = []

  function read(): Promise<LedgerRows[]> {
    return Promise.all(
      ids.map(async (id) => {
        const [account, entries, messages] = await Promise.all([
          bench.account(id),
          bench.ledger(id),
          bench.storage.read.messages.list(id, {}, EVERYTHING),
        ])
        return { account, entries, messages: messages.reverse() }
      }),
    )
  }

  const foretold = (by: LedgerModel) => ids.map((id) => foretoldOf(by, id))

  /** Makes the calls at the same moment; some order of them must explain all that they did. */
  async function together(calls: readonly Call[]): Promise<void> {
    const answers = await Promise.all(calls.map((call) => call.real()))
    const found = await read()
    const facts = found.map(factsOf)
    let explained: LedgerModel | undefined
    for (const candidate of explanationsOf(model, calls, answers)) {
      explained = candidate
      if (isDeepStrictEqual(foretold(candidate), facts)) break
    }
    if (!explained) {
      const alone = calls.map((call) => call.foretell(structuredClone(model)))
      expect(answers, 'no order of the calls explains their answers').toEqual(alone)
      throw new Error(`no order of the calls explains ${JSON.stringify(answers)}`)
    }
    // A refused operation has left no trace, not even in data outside the model.
    if (isDeepStrictEqual(explained, model) && !isDeepStrictEqual(found, rows)) {
      expect(found).toEqual(rows)
    }
    model = explained
    for (const [i, { requests }] of calls.entries()) noteAccepted(requests, answers[i])
    check(found)
  }

  function noteAccepted(requests: readonly AcceptRequest[], answer: unknown): void {
    if (!Array.isArray(answer)) return
    accepted.push(...requests.filter((_, i) => answer[i].outcome === 'accepted'))
  }

  /** A request that cannot be written, behind one that could be. */
  function brokenCall(workspaceId: string, how: 'same debit' | 'same message'): Call | null {
    const earlier = accepted.findLast((of) => of.workspace_id === workspaceId && of.debit)
    if (!earlier?.debit) return null
    const good = bench.make.send(workspaceId)
    const bad = bench.make.request([
      bench.make.message(workspaceId),
      ...(how === 'same message' ? earlier.messages : []),
    ])
    if (how === 'same debit' && bad.debit) bad.debit.reference = earlier.debit.reference
    return acceptCall([good, bad])
  }

  async function claim(limit: number): Promise<ClaimedMessage[]> {
    const claimed = await bench.claimMessages({ limit })
    const mine = claimed.filter(({ workspace_id }) => ids.includes(workspace_id))
    for (const { message_id, token } of mine) {
      const message = model.messages.get(message_id)
      if (!message) throw new Error(`${message_id} is queued although it was not accepted`)
      message.token = token
    }
    claims.push(...mine)
    return claimed
  }

  /** Settles at once what these claims gave; an interrupted attempt is ambiguous, whatever it gave. */
  async function settleAll(of: readonly { claimed: ClaimedMessage; choice: number }[]) {
    const counts: boolean[] = []
    const batch = of.map(({ claimed, choice }): Settlement => {
      const { workspace_id, message_id, token, attempt, task, status, interrupted } = claimed
      const isLookup = task === 'lookup' || status !== 'queued'
      const [learned, found] = FOUND[choice] as (typeof FOUND)[number]
      const [change, outcome] = OUTCOMES[interrupted ? 3 : choice] as (typeof OUTCOMES)[number]
      const at = bench.clock.now()
      if (model.messages.has(message_id)) {
        counts.push(settle(model, message_id, token, isLookup ? learned : change, at.getTime()))
      }
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
    const counted = await bench.storage.hot.settle(batch)
    if (counts.length === batch.length) expect(counted).toEqual(counts)
  }

  async function settleSome(of: readonly { which: number; result: number }[]): Promise<void> {
    if (claims.length === 0) return
    await settleAll(
      of.map(({ which, result }) => ({
        claimed: claims.at(-1 - (which % claims.length)) as ClaimedMessage,
        choice: result,
      })),
    )
  }

  async function callBack(which: number, status: Parameters<typeof callback>[0]): Promise<void> {
    const [message_id, message] = [...model.messages].at(-1 - (which % model.messages.size)) ?? []
    if (!message_id || !message) return
    const { workspace_id } = message
    settle(model, message_id, null, 'called_back', bench.clock.now().getTime())
    await bench.settle({ workspace_id, message_id, token: null }, callback(status))
  }

  async function setTerms(workspaceId: string, limit: number, frozen: boolean): Promise<void> {
    const terms = { credit_limit: limit as Units, status: frozen ? 'frozen' : 'active' } as const
    await bench.storage.write(({ credits }) =>
      credits.setTerms(workspaceId, terms, bench.clock.now()),
    )
    Object.assign(accountOf(model, workspaceId), { limit, frozen })
  }

  function check(found: LedgerRows[]): void {
    rows = found
    const facts = rows.map(factsOf)
    if (!isDeepStrictEqual(facts, foretold(model))) expect(facts).toEqual(foretold(model))
    const faults = rows.flatMap((of) =>
      faultsOf(
        of,
        accountOf(model, of.account.workspace_id).entries.map(({ floor }) => floor),
      ),
    )
    if (faults.length > 0) throw new Error(faults.join('; '))
  }

  return {
    /** Answers how many operations it was. */
    async take(step: LedgerStep): Promise<number> {
      if (step.do === 'accept' || step.do === 'post' || step.do === 'together') {
        const calls = (step.do === 'together' ? step.calls : [step]).map(callOf)
        await together(calls)
        return calls.reduce((sum, { requests }) => sum + Math.max(1, requests.length), 0)
      }
      if (step.do === 'break') {
        const call = brokenCall(ids[step.workspace] as string, step.how)
        if (call) await together([call])
        return call ? 1 : 0
      }
      if (step.do === 'wait') {
        bench.clock.advance(step.ms)
        return 0
      }
      if (step.do === 'terms') {
        await setTerms(ids[step.workspace] as string, step.limit, step.frozen)
      } else if (step.do === 'claim') await claim(step.limit)
      else if (step.do === 'settle') await settleSome(step.of)
      else await callBack(step.which, step.status)
      check(await read())
      return step.do === 'settle' ? step.of.length : 1
    },
    /** Every message comes to an end, and nothing is queued that was not accepted. */
    async finish(): Promise<void> {
      let claimed: ClaimedMessage[]
      do {
        bench.clock.advance(24 * 3_600_000)
        claimed = await claim(1_000)
        await settleAll(claimed.map((each) => ({ claimed: each, choice: 1 })))
        check(await read())
      } while (claimed.length > 0)
      expect([...model.messages.values()].filter(({ state }) => state === 'open')).toEqual([])
    },
  }
}
