import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Outcome, SendJob } from '../../src/contract/outside/provider.ts'
import type { Content } from '../../src/contract/resources/messages.ts'
import { callbackContract } from './provider-callback.contract.ts'
import {
  DEADLINES_MS,
  type Fate,
  type ProviderBench,
  type ProviderHarness,
} from './provider-harness.ts'
import { lookupContract } from './provider-lookup.contract.ts'
import { expectNoLeak, expectTrue, expectWellFormed } from './provider-outcomes.ts'

const CANARY = 'canary-content-4711'

const CONTENTS: Record<SendJob['channel'], Content> = {
  sms: { text: CANARY },
  whatsapp: { text: CANARY },
  email: { subject: CANARY, text: CANARY, html: `<p>${CANARY}</p>` },
  voice: { text: CANARY },
}

/** Makes jobs, each for a new message. */
export type JobMaker = (recipient: string) => SendJob

function createJobMaker({ channel }: ProviderHarness): JobMaker {
  let count = 0
  return (recipient) => {
    count += 1
    return {
      workspace_id: '11111111-1111-4111-8111-111111111111',
      message_id: `22222222-2222-4222-8222-${String(count).padStart(12, '0')}`,
      channel,
      sender: null,
      recipient,
      content: CONTENTS[channel],
      attempt: 1,
      created_at_ms: Date.now(),
      max_duration_s: channel === 'voice' ? 60 : null,
    }
  }
}

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

/** Tests the promises of every provider to the dispatcher, compared with the requests of its peer. */
export function providerContract(name: string, harness: ProviderHarness): void {
  describe(`provider ${name}`, () => {
    let bench: ProviderBench
    let job: JobMaker
    beforeEach(async () => {
      bench = await harness.open(DEADLINES_MS.patient)
      job = createJobMaker(harness)
    })
    afterEach(() => bench.close())

    /** For peers that never answer. */
    async function becomeBrief(): Promise<void> {
      await bench.close()
      bench = await harness.open(DEADLINES_MS.brief)
    }

    const has = (fate: Fate) => harness.fates.includes(fate)
    const to = (fate: Fate) => job(bench.recipient(fate))

    /** Sends, and checks the rules for every outcome. */
    async function send(jobs: readonly SendJob[]): Promise<Outcome[]> {
      const outcomes = await bench.provider.send(jobs)
      expect(outcomes).toHaveLength(jobs.length)
      for (const [at, outcome] of outcomes.entries()) {
        expectWellFormed(outcome)
        expectNoLeak(outcome, [CANARY, ...bench.secrets])
        expectTrue(outcome, seenFor(bench, jobs[at]?.recipient))
      }
      return outcomes
    }

    describe('sending', () => {
      it('returns nothing for an empty batch', async () => {
        expect(await bench.provider.send([])).toEqual([])
      })

      it.each(harness.fates.map((fate) => [fate, TYPES[fate]]))('%s: %s', async (fate, type) => {
        if (fate === 'hang_after_read') await becomeBrief()
        const one = to(fate)
        const [outcome] = await send([one])
        expect(outcome).toMatchObject({ type })
        if (outcome?.type === 'retry') expect(outcome.misconfigured).toBeUndefined()
        // Only the dispatcher sends again.
        if (bench.peer) expect(seenFor(bench, one.recipient)).toHaveLength(1)
      })

      it('answers the jobs of a batch in order', async () => {
        const fates = CALM.filter(has)
        const mixed = Array.from(
          { length: 24 },
          (_, i) => fates[(i * 7) % fates.length] ?? 'accept',
        )
        const jobs = mixed.map(to)
        const outcomes = await send(jobs)
        expect(outcomes.map(({ type }) => type)).toEqual(mixed.map((fate) => TYPES[fate]))
        const ids = outcomes.flatMap((one) =>
          one.type === 'accepted' && one.provider_message_id ? [one.provider_message_id] : [],
        )
        expect(new Set(ids).size).toBe(ids.length)
      })

      if (has('hang_after_read'))
        it('answers the other jobs when the peer does not answer one', async () => {
          await becomeBrief()
          const mixed: Fate[] = ['accept', 'hang_after_read', 'accept']
          const outcomes = await send(mixed.map(to))
          expect(outcomes.map(({ type }) => type)).toEqual(['accepted', 'ambiguous', 'accepted'])
        })

      if (has('drop_after_read'))
        it('continues after a lost connection', async () => {
          await send([to('drop_after_read')])
          await expect
            .poll(async () => (await send([to('accept')]))[0], { timeout: 10_000 })
            .toMatchObject({ type: 'accepted' })
        })

      if (harness.identifies)
        it('a repeat has the same identity, another message has another', async () => {
          const one = to('accept')
          await send([one])
          await send([{ ...one, attempt: 2 }])
          await send([job(one.recipient)])
          const [first, second, other] = seenFor(bench, one.recipient).map((seen) => seen.identity)
          expect(first).toEqual(expect.any(String))
          expect(second).toBe(first)
          expect(other).toEqual(expect.any(String))
          expect(other).not.toBe(first)
        })
    })

    if (harness.refusals.includes('refuse_connection'))
      describe('a refused connection', () => {
        it('is a retry for each message, without `misconfigured`', async () => {
          await bench.peer?.turn('refuse_connection')
          const outcomes = await send([to('accept'), to('accept'), to('accept')])
          for (const outcome of outcomes) {
            expect(outcome).toMatchObject({ type: 'retry' })
            expect(outcome).not.toHaveProperty('misconfigured')
          }
          expect(bench.peer?.seen()).toEqual([])
        })
      })

    if (harness.refusals.includes('bad_credentials'))
      describe('wrong credentials', () => {
        it('are a retry with `misconfigured`, and no message fails', async () => {
          await bench.peer?.turn('bad_credentials')
          for (const outcome of await send([to('accept'), to('accept')])) {
            expect(outcome).toMatchObject({ type: 'retry', misconfigured: 'provider' })
          }
          expect(bench.peer?.seen().filter(({ accepted }) => accepted)).toEqual([])
        })
      })

    if (harness.traits.lookup) {
      describe('looking up', () =>
        lookupContract(harness, { bench: () => bench, becomeBrief }, (recipient) => job(recipient)))
    }
    if (harness.callbacks) {
      describe('callbacks', () => callbackContract(harness, () => bench))
    }

    describe('closing', () => {
      it('ends the connections; later messages still get an answer', async () => {
        await send([to('accept')])
        await bench.provider.close?.()
        if (bench.peer) await expect.poll(bench.peer.connections, { timeout: 10_000 }).toBe(0)
        const [late] = await send([to('accept')])
        if (bench.peer) expect(late).toMatchObject({ type: 'retry' })
      })
    })

    it('has the methods of its traits', () => {
      const { provider } = bench
      expect(harness.traits.channels).toContain(harness.channel)
      expect(Boolean(provider.lookup)).toBe(harness.traits.lookup)
      expect(Boolean(provider.listen)).toBe(harness.traits.listens)
      expect(Boolean(provider.readCallback)).toBe(harness.callbacks !== null)
    })
  })
}

function seenFor({ peer }: ProviderBench, recipient: string | undefined) {
  return peer?.seen().filter((message) => message.recipient === recipient) ?? []
}
