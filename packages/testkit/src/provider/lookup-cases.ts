import assert from 'node:assert/strict'
import type { LookupJob, LookupResult } from '@svc/core/contract'
import { checkTypes } from './checks.ts'
import type { Fate, ProviderHarness } from './harness.ts'
import { caseOf, type ProviderCase, type Stage } from './stage.ts'

/** Tests the promise of a provider with look-ups: a message is "not found" only if the peer certainly never had it. */
export function lookupCases(harness: ProviderHarness): ProviderCase[] {
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
