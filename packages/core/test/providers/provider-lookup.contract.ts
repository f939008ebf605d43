import { expect, it } from 'vitest'
import type { LookupJob, SendJob } from '../../src/contract/outside/provider.ts'
import type { Fate, ProviderBench, ProviderHarness } from './provider-harness.ts'

/** What a provider that can be asked promises: a message is only "not found" where the peer has surely never had it. */
export function lookupContract(
  harness: ProviderHarness,
  { bench, becomeBrief }: { bench: () => ProviderBench; becomeBrief(): Promise<void> },
  job: (recipient: string) => SendJob,
): void {
  const ask = (jobs: readonly LookupJob[]) => bench().provider.lookup?.(jobs)

  /** Sends it, and asks as the dispatcher would then. */
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

  it('nothing gives nothing', async () => {
    expect(await ask([])).toEqual([])
  })

  // Who reaches nobody keeps nothing, and cannot tell what never came from what did.
  const absent = harness.refusals.length > 0 ? [neverSent] : []
  it.each([
    ['rejected', () => sent('reject')],
    ...absent.map((make) => ['never sent', async () => make()] as const),
  ] as const)(
    'finds what was accepted, and not what was %s, each in its place',
    async (_, other) => {
      const jobs = [await other(), await sent('accept'), await other()]
      expect(await ask(jobs)).toMatchObject([
        { type: 'not_found' },
        { type: 'found' },
        { type: 'not_found' },
      ])
    },
  )

  it.each(harness.fates.filter((fate) => fate.endsWith('_after_read')))(
    'finds what was taken without an answer: %s',
    async (fate) => {
      if (fate === 'hang_after_read') await becomeBrief()
      expect(await ask([await sent(fate)])).toMatchObject([{ type: 'found' }])
    },
  )

  it.each(harness.refusals)('knows nothing where the peer does not say: %s', async (refusal) => {
    const jobs = [await sent('accept'), neverSent()]
    await bench().peer?.turn(refusal)
    expect(await ask(jobs)).toEqual([{ type: 'unavailable' }, { type: 'unavailable' }])
  })
}
