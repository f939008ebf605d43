import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { vi } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { LookupJob, Outcome, SendJob } from '../../src/contract/outside/provider.ts'
import type { Performer } from '../../src/dispatch/performer.ts'
import type { Routing } from '../../src/dispatch/routing.ts'
import type { Incoming } from '../../src/inbound/inbound.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { LookupAnswer, Settlement } from '../../src/rules/settlement.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { MessageClaim } from '../../src/storage/ports/hot.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { countTelemetry } from '../count-telemetry.ts'

export const AT = new Date('2026-05-04T09:00:00Z')

/** A claimed SMS that is sent through the provider a. */
export function claimed(fields: Partial<ClaimedMessage> = {}): ClaimedMessage {
  return {
    message_id: 'm1',
    workspace_id: 'w1',
    task: 'send',
    token: 't1',
    attempt: 3,
    unknown_since: null,
    api_key_id: 'k1',
    bulk_id: null,
    credits_used: units(1_000_000),
    channel: 'sms',
    sender: null,
    recipient: '+255700000001',
    recipients: null,
    content: { text: 'Hello' },
    livemode: true,
    status: 'queued',
    accepted: false,
    provider: null,
    provider_message_id: null,
    created_at: AT,
    scheduled_at: null,
    expires_at: null,
    sent_at: null,
    interrupted: false,
    route: { provider: 'a', sender: 'ACME' },
    suppressed: false,
    left_out: [],
    ...fields,
  }
}

/** As many such messages, `m0`, `m1`, … */
export function claimedMany(count: number, fields: Partial<ClaimedMessage> = {}): ClaimedMessage[] {
  return Array.from({ length: count }, (_, i) => claimed({ message_id: `m${i}`, ...fields }))
}

export const accepted: Outcome = {
  type: 'accepted',
  provider_message_id: 'P',
  lookup_after_ms: null,
}

export const busy = {
  type: 'retry',
  error_code: 'busy',
  error_message: 'Busy',
  delay_ms: null,
} as const

/** A call to a provider that the test answers. */
export interface Call<Job, Answer> {
  provider: string
  jobs: readonly Job[]
  answer(each: Answer | readonly Answer[] | null): Promise<void>
  fail(): Promise<void>
}

/** A runtime whose clock the test sets, and which keeps what is counted and logged. */
export function recordedRuntime({ elapsed_ms = 0, keepsDebug = false } = {}) {
  const { telemetry, counts } = countTelemetry()
  const logged: string[] = []
  const fields: object[] = []
  const note = (about: object, text: string) => {
    logged.push(text)
    fields.push(about)
  }
  const clock = { at_ms: AT.getTime(), elapsed_ms }
  const log = { debug: keepsDebug ? note : () => {}, info: note, warn: note, error: note }
  const runtime = {
    ...systemRuntime(log, telemetry),
    now: () => new Date(clock.at_ms),
    elapsed: () => clock.elapsed_ms,
  }
  return { runtime, clock, counts, logged, fields }
}

/** What the lane of messages works with: providers that the test answers, and results in memory. */
export function laneParts() {
  const { runtime, clock, counts, logged, fields } = recordedRuntime()
  const sends: Call<SendJob, Outcome>[] = []
  const lookups: Call<LookupJob, LookupAnswer>[] = []
  const settled: Settlement[] = []
  const writes: string[][] = []
  const noted: unknown[] = []
  const received: Incoming[] = []
  const claims: MessageClaim[] = []
  /** The rows of the stored file of each mail; null: it is missing. */
  const files: (string | null)[] = ['AAAA']

  function call<Job, Answer>(calls: Call<Job, Answer>[], provider: string, jobs: readonly Job[]) {
    return new Promise<Answer[] | null>((resolve, reject) => {
      calls.push({
        provider,
        jobs,
        answer(each) {
          const all = Array.isArray(each) ? each : jobs.map(() => each as Answer)
          resolve(each === null ? null : all)
          return turn()
        },
        fail() {
          reject(new Error('the provider is away'))
          return turn()
        },
      })
    })
  }

  const performer = {
    send: (provider, jobs) => call(sends, provider, jobs),
    lookup: async (provider, jobs) => (await call(lookups, provider, jobs)) ?? [],
    deliver: async () => null,
    async close() {},
  } satisfies Performer
  const answered: string[] = []
  const routing: Routing = {
    route: () => ({ provider: 'a', sender: 'ACME' }),
    isStopped: () => false,
    senderOf: (provider) => `number of ${provider}`,
    traits: new Map(),
    async noteOutcomes(provider, results) {
      noted.push([provider, results.map(({ outcome }) => outcome.type)])
    },
    noteAnswer: (provider) => void answered.push(provider),
  }
  const storage = {
    hot: {
      async claimMessages(claim: MessageClaim) {
        claims.push(claim)
        return []
      },
      async settle(settlements: readonly Settlement[]) {
        settled.push(...settlements)
        writes.push(settlements.map(({ message_id }) => message_id))
        return settlements.map(() => true)
      },
    },
    read: {
      files: {
        async ofMessages(_: string, [message_id]: string[]) {
          return [{ message_id, number: 0, sha256: 'x', size_bytes: 3, chunks: files.length }]
        },
        async chunk(_: string, __: string, number: number) {
          if (files.includes('not read')) throw new Error('the database is away')
          return files[number]
        },
      },
    },
  } as unknown as Storage
  return {
    parts: {
      storage,
      runtime,
      performer,
      routing,
      signing: null,
      tracing: null,
      codeKey: async () => 'key of codes',
      async receive(_: string, incoming: readonly Incoming[]) {
        received.push(...incoming)
      },
    },
    clock,
    sends,
    lookups,
    settled,
    writes,
    noted,
    answered,
    received,
    claims,
    files,
    counts,
    logged,
    /** What the lines of the log are about. */
    fields,
    /** The results by message. */
    results: () => Object.fromEntries(settled.map((one) => [one.message_id, one.result])),
    /** The outcomes of attempts by message, in short. */
    outcomes: () =>
      Object.fromEntries(
        settled.map(({ message_id, result }) => {
          if (result.task !== 'send') return [message_id, result.task]
          const { outcome } = result
          return [message_id, outcome.type === 'accepted' ? 'accepted' : outcome.error_code]
        }),
      ),
  }
}

/** Lets everything that is ready happen. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Stops the uptime of the machine, from which leases count, and the timers. */
export function stopTime() {
  let at_ms = 1_000_000
  const spy = vi.spyOn(os, 'uptime').mockImplementation(() => at_ms / 1_000)
  syncBuiltinESMExports()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  return {
    uptime: () => at_ms,
    /** Lets the time pass. */
    async pass(ms: number) {
      at_ms += ms
      await vi.advanceTimersByTimeAsync(ms)
      await turn()
    },
    restore() {
      spy.mockRestore()
      syncBuiltinESMExports()
      vi.useRealTimers()
    },
  }
}
