import assert from 'node:assert/strict'
import type { LookupJob, LookupResult, Outcome } from '@svc/core/contract'
import { callbackCases } from './callback-cases.ts'
import { checkTypes, eventually } from './checks.ts'
import type { Fate, ProviderHarness, Refusal } from './harness.ts'
import { caseOf, type ProviderCase, type Stage } from './stage.ts'

/** The functions of a test runner: those of vitest, jest or `node:test`. */
export interface TestRunner {
  describe(name: string, register: () => void): unknown
  it(name: string, run: () => Promise<void>, timeout_ms: number): unknown
}

/** A test with a peer that never answers, and a poll of 10 s, fit into it on a busy machine. */
const TIMEOUT_MS = 60_000

const TYPES: Record<Fate, Outcome['type']> = {
  accept: 'accepted',
  reject: 'rejected',
  throttle: 'retry',
  unavailable: 'retry',
  hang_after_read: 'ambiguous',
  drop_after_read: 'ambiguous',
}

/** Fates that do not affect the connection. */
const CALM: readonly Fate[] = ['accept', 'reject', 'throttle', 'unavailable']

const BATCH = 24

/**
 * Registers the tests of the promises that every provider gives to the service, compared with the messages of its peer.
 * Each test has a limit of 60 s; `node:test` has no limit by default.
 */
export function providerContract(
  name: string,
  { describe, it }: TestRunner,
  harness: ProviderHarness,
): void {
  describe(`provider ${name}`, () => {
    for (const { name: title, run } of providerCases(harness)) it(title, () => run(), TIMEOUT_MS)
  })
}

/** The same tests as functions, for any other runner. */
export function providerCases(harness: ProviderHarness): ProviderCase[] {
  const { refusals, traits, callbacks } = harness
  return [
    ...sendCases(harness),
    ...(Object.keys(REFUSED) as Refusal[])
      .filter((refusal) => refusals.includes(refusal))
      .map((refusal) => REFUSED[refusal](harness)),
    ...(traits.lookup ? lookupCases(harness) : []),
    ...(callbacks ? callbackCases(harness) : []),
    caseOf(harness, 'closing: ends the connections; later messages still get an answer', closes),
    caseOf(harness, 'has the methods of its traits', ({ bench }) => hasMethods(harness, bench)),
  ]
}

function sendCases(harness: ProviderHarness): ProviderCase[] {
  const has = (fate: Fate) => harness.fates.includes(fate)
  const cases = [
    caseOf(harness, 'sending: returns nothing for an empty batch', async ({ bench }) =>
      assert.deepEqual(await bench.provider.send([]), []),
    ),
    ...harness.fates.map((fate) => fateCase(harness, fate)),
    caseOf(harness, 'sending: answers the jobs of a batch in order', (stage) =>
      answersInOrder(stage, CALM.filter(has)),
    ),
  ]
  if (has('hang_after_read')) {
    const name = 'sending: answers the other jobs when the peer does not answer one'
    const mixed: Fate[] = ['accept', 'hang_after_read', 'accept']
    const test = async ({ send, to }: Stage) =>
      checkTypes(
        await send(mixed.map(to)),
        mixed.map((fate) => TYPES[fate]),
      )
    cases.push(caseOf(harness, name, test, 'brief'))
  }
  if (has('drop_after_read')) {
    cases.push(caseOf(harness, 'sending: continues after a lost connection', continues))
  }
  if (harness.identifies) {
    const name = 'sending: a repeat has the same identity, another message has another'
    cases.push(caseOf(harness, name, identifies))
  }
  return cases
}

function fateCase(harness: ProviderHarness, fate: Fate): ProviderCase {
  const patience = fate === 'hang_after_read' ? 'brief' : 'patient'
  const test = async ({ bench, send, seen, to }: Stage) => {
    const one = to(fate)
    const outcomes = await send([one])
    checkTypes(outcomes, [TYPES[fate]])
    for (const outcome of outcomes) checkNotMisconfigured(outcome)
    if (bench.peer) assert.equal(seen(one.recipient).length, 1, 'only the service sends again')
  }
  return caseOf(harness, `sending: ${fate}: ${TYPES[fate]}`, test, patience)
}

async function answersInOrder({ send, to }: Stage, fates: readonly Fate[]): Promise<void> {
  const mixed = Array.from({ length: BATCH }, (_, i) => fates[(i * 7) % fates.length] ?? 'accept')
  const outcomes = await send(mixed.map(to))
  checkTypes(
    outcomes,
    mixed.map((fate) => TYPES[fate]),
  )
  const ids = outcomes.flatMap((one) =>
    one.type === 'accepted' && one.provider_message_id ? [one.provider_message_id] : [],
  )
  assert.equal(new Set(ids).size, ids.length, 'the ids of the provider differ')
}

async function continues({ send, to }: Stage): Promise<void> {
  await send([to('drop_after_read')])
  await eventually(async () => checkTypes(await send([to('accept')]), ['accepted']))
}

async function identifies({ job, seen, send, to }: Stage): Promise<void> {
  const one = to('accept')
  await send([one])
  await send([{ ...one, attempt: 2 }])
  await send([job(one.recipient)])
  const [first, second, other] = seen(one.recipient).map(({ identity }) => identity)
  assert.equal(typeof first, 'string', 'the peer sees an identity')
  assert.equal(second, first, 'a repeat has the identity of the first message')
  assert.equal(typeof other, 'string', 'the peer sees an identity')
  assert.notEqual(other, first, 'another message has another identity')
}

const REFUSED: Record<Refusal, (harness: ProviderHarness) => ProviderCase> = {
  refuse_connection: (harness) =>
    caseOf(
      harness,
      'a refused connection: is a retry for each message, without `misconfigured`',
      async ({ bench, send, to }) => {
        await bench.peer?.turn('refuse_connection')
        const outcomes = await send([to('accept'), to('accept'), to('accept')])
        checkTypes(outcomes, ['retry', 'retry', 'retry'])
        for (const outcome of outcomes) checkNotMisconfigured(outcome)
        assert.deepEqual(bench.peer?.seen(), [])
      },
    ),
  bad_credentials: (harness) =>
    caseOf(
      harness,
      'wrong credentials: are a retry with `misconfigured`, and no message fails',
      async ({ bench, send, to }) => {
        await bench.peer?.turn('bad_credentials')
        const outcomes = await send([to('accept'), to('accept')])
        checkTypes(outcomes, ['retry', 'retry'])
        for (const outcome of outcomes) {
          const { misconfigured } = outcome.type === 'retry' ? outcome : {}
          assert.equal(misconfigured, 'provider')
        }
        assert.deepEqual(
          bench.peer?.seen().filter(({ accepted }) => accepted),
          [],
        )
      },
    ),
}

function checkNotMisconfigured(outcome: Outcome): void {
  if (outcome.type === 'retry') assert.equal(outcome.misconfigured, undefined)
}

async function closes({ bench, send, to }: Stage): Promise<void> {
  await send([to('accept')])
  await bench.provider.close?.()
  const { connections } = bench.peer ?? {}
  if (connections) await eventually(() => assert.equal(connections(), 0, 'open connections'))
  const outcomes = await send([to('accept')])
  if (connections) checkTypes(outcomes, ['retry'])
}

function hasMethods(
  { callbacks, channel, traits }: ProviderHarness,
  { provider }: Stage['bench'],
): void {
  assert.ok(traits.channels.includes(channel), `traits.channels has ${channel}`)
  assert.equal(provider.lookup !== undefined, traits.lookup, 'traits.lookup')
  assert.equal(provider.listen !== undefined, traits.listens, 'traits.listens')
  assert.equal(provider.readCallback !== undefined, callbacks !== null, 'callbacks')
  assert.equal(traits.callback_bytes !== null, callbacks !== null, 'traits.callback_bytes')
}

/** Tests the promise of a provider with look-ups: a message is "not found" only if the peer certainly never had it. */
function lookupCases(harness: ProviderHarness): ProviderCase[] {
  const lookingUp = (
    name: string,
    test: (stage: Stage) => Promise<void>,
    patience?: 'patient' | 'brief',
  ) => caseOf(harness, `looking up: ${name}`, test, patience)
  // A provider without a network keeps no state and cannot recognise a message that was never sent.
  const hasNetwork = harness.refusals.length > 0
  const cases = [
    lookingUp('returns nothing for an empty batch', async (stage) =>
      assert.deepEqual(await lookUp(stage, []), []),
    ),
    lookingUp('finds an accepted message and not one that was rejected, in order', (stage) =>
      findsOneOf(stage, () => sent(stage, 'reject')),
    ),
  ]
  if (hasNetwork) {
    const name = 'finds an accepted message and not one that was never sent, in order'
    cases.push(lookingUp(name, (stage) => findsOneOf(stage, async () => neverSent(stage))))
  }
  for (const fate of harness.fates.filter((fate) => fate.endsWith('_after_read'))) {
    const test = async (stage: Stage) =>
      checkTypes(await lookUp(stage, [await sent(stage, fate)]), ['found'])
    const patience = fate === 'hang_after_read' ? 'brief' : 'patient'
    cases.push(
      lookingUp(
        `finds a message that the peer accepted without an answer: ${fate}`,
        test,
        patience,
      ),
    )
  }
  for (const refusal of harness.refusals) {
    cases.push(
      lookingUp(`is unavailable when the peer refuses: ${refusal}`, async (stage) => {
        const jobs = [await sent(stage, 'accept'), neverSent(stage)]
        await stage.bench.peer?.turn(refusal)
        checkTypes(await lookUp(stage, jobs), ['unavailable', 'unavailable'])
      }),
    )
  }
  return cases
}

async function lookUp({ bench }: Stage, jobs: readonly LookupJob[]): Promise<LookupResult[]> {
  const { provider } = bench
  assert.ok(provider.lookup, 'traits.lookup is true, but the provider has no lookup')
  return provider.lookup(jobs)
}

async function findsOneOf(stage: Stage, other: () => Promise<LookupJob>): Promise<void> {
  const jobs = [await other(), await sent(stage, 'accept'), await other()]
  checkTypes(await lookUp(stage, jobs), ['not_found', 'found', 'not_found'])
}

/** Sends a message; returns the look-up that the service makes then. */
async function sent({ bench, to }: Stage, fate: Fate): Promise<LookupJob> {
  const one = to(fate)
  const attempted_at_ms = Date.now()
  const [outcome] = await bench.provider.send([one])
  const id = outcome?.type === 'accepted' ? outcome.provider_message_id : null
  return { ...one, attempted_at_ms, now_ms: Date.now(), provider_message_id: id }
}

function neverSent({ to }: Stage): LookupJob {
  const now_ms = Date.now()
  return { ...to('accept'), attempted_at_ms: now_ms, now_ms, provider_message_id: null }
}
