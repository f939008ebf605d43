import { expect, it } from 'vitest'
import type { LookupJob, SendJob } from '../../src/contract/outside/provider.ts'
import type { Fate, ProviderBench, ProviderHarness } from './provider-harness.ts'

/** Tests the promise of a provider with look-ups: a message is "not found" only if the peer certainly never had it. */
export function lookupContract(
  harness: ProviderHarness,
  { bench, becomeBrief }: { bench: () => ProviderBench; becomeBrief(): Promise<void> },
  job: (recipient: string) => SendJob,
): void {
  const lookUp = (jobs: readonly LookupJob[]) => bench().provider.lookup?.(jobs)

  /** Sends a message; returns the look-up that the dispatcher makes then. */
  async function sent(fate: Fate): Promise<LookupJob> {
    const one = job(bench().recipient(fate))
    const attempted_at_ms = Date.now()
    const [outcome] = await bench().provider.send([one])
    const id = outcome?.type === 'accepted' ? outcome.provider_message_id : null
    return { ...one, attempted_at_ms, now_ms: Date.now(), provider_message_id: id }
  }

  function neverSent(): LookupJob {
    const now_ms = Date.now()
    const one = job(bench().recipient('accept'))
    return { ...one, attempted_at_ms: now_ms, now_ms, provider_message_id: null }
  }

  it('returns nothing for an empty batch', async () => {
    expect(await lookUp([])).toEqual([])
  })

  // A provider without a network keeps no state and cannot recognise a message that was never sent.
  const absent = harness.refusals.length > 0 ? [neverSent] : []
  it.each([
    ['rejected', () => sent('reject')],
    ...absent.map((make) => ['never sent', async () => make()] as const),
  ] as const)('finds an accepted message and not one that was %s, in order', async (_, other) => {
    const jobs = [await other(), await sent('accept'), await other()]
    expect(await lookUp(jobs)).toMatchObject([
      { type: 'not_found' },
      { type: 'found' },
      { type: 'not_found' },
    ])
  })

  it.each(harness.fates.filter((fate) => fate.endsWith('_after_read')))(
    'finds a message that the peer accepted without an answer: %s',
    async (fate) => {
      if (fate === 'hang_after_read') await becomeBrief()
      expect(await lookUp([await sent(fate)])).toMatchObject([{ type: 'found' }])
    },
  )

  it.each(harness.refusals)('is unavailable when the peer refuses: %s', async (refusal) => {
    const jobs = [await sent('accept'), neverSent()]
    await bench().peer?.turn(refusal)
    expect(await lookUp(jobs)).toEqual([{ type: 'unavailable' }, { type: 'unavailable' }])
  })
}
