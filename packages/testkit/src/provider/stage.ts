import assert from 'node:assert/strict'
import type { Content, Outcome, SendJob } from '@svc/core/contract'
import { checkNoLeak, checkTrue, checkWellFormed } from './checks.ts'
import {
  DEADLINES_MS,
  type Fate,
  type PeerMessage,
  type ProviderBench,
  type ProviderHarness,
} from './harness.ts'

const CANARY = 'canary-content-4711'

const CONTENTS: Record<SendJob['channel'], Content> = {
  sms: { text: CANARY },
  whatsapp: { text: CANARY },
  email: { subject: CANARY, text: CANARY, html: `<p>${CANARY}</p>` },
  voice: { text: CANARY },
}

/** One test of the suite. `run` opens a provider and a peer of its own, and rejects with the fault. */
export interface ProviderCase {
  name: string
  run(): Promise<void>
}

/** A provider and its peer, for one test. */
export interface Stage {
  bench: ProviderBench
  /** A job for a new message. */
  job(recipient: string): SendJob
  /** A job for a new message to a new recipient with this fate. */
  to(fate: Fate): SendJob
  /** Sends, and checks the rules for every outcome. */
  send(jobs: readonly SendJob[]): Promise<Outcome[]>
  /** The messages to this recipient that the peer has read. */
  seen(recipient: string | undefined): PeerMessage[]
}

/** A test with a provider and a peer of its own. `brief`: the peer does not answer. */
export function caseOf(
  harness: ProviderHarness,
  name: string,
  test: (stage: Stage) => Promise<void> | void,
  patience: keyof typeof DEADLINES_MS = 'patient',
): ProviderCase {
  async function run(): Promise<void> {
    const bench = await harness.open(DEADLINES_MS[patience])
    try {
      await test(stageOf(harness, bench))
    } finally {
      await bench.close()
    }
  }
  return { name, run }
}

function stageOf({ channel, traits }: ProviderHarness, bench: ProviderBench): Stage {
  let count = 0
  const job = (recipient: string): SendJob => {
    count += 1
    return {
      workspace_id: '11111111-1111-4111-8111-111111111111',
      message_id: `22222222-2222-4222-8222-${String(count).padStart(12, '0')}`,
      channel,
      sender: traits.senders[channel]?.[0] ?? null,
      recipient,
      content: CONTENTS[channel],
      attempt: 1,
      created_at_ms: Date.now(),
      max_duration_s: channel === 'voice' ? 60 : null,
    }
  }
  const seen = (recipient: string | undefined) =>
    bench.peer?.seen().filter((message) => message.recipient === recipient) ?? []
  return {
    bench,
    job,
    to: (fate) => job(bench.recipient(fate)),
    seen,
    async send(jobs) {
      const outcomes = await bench.provider.send(jobs)
      assert.equal(outcomes.length, jobs.length, 'send returns one outcome for each job')
      for (const [at, outcome] of outcomes.entries()) {
        checkWellFormed(outcome)
        checkNoLeak(outcome, [CANARY, ...bench.secrets])
        checkTrue(outcome, seen(jobs[at]?.recipient))
      }
      return outcomes
    },
  }
}
