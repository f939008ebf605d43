import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { check } from '../proof/crash/check.ts'
import type { Evidence } from '../proof/crash/evidence.ts'
import { idsAnswered } from '../proof/crash/operations.ts'
import { type CrashResult, crash } from '../proof/crash/run.ts'
import { createViolations } from '../proof/stage/violations.ts'
import { ensureBuilt } from './built.ts'
import { bundledVictim } from './bundled.ts'

ensureBuilt()

// Above the limits within the run, whose failures name what did not end.
const RUN_MAX_MS = 600_000
/** The callers rest, so that a run costs a fraction of the CPU of `npm run crash`; some requests are open at each moment. */
const REST_MS = 100

let folder: string
let result: CrashResult

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-crash-test-'))
  result = await crash({
    cycles: 4,
    // This seed kills two lives at work, two before their first webhook, and one start, in a short time.
    seed: 7,
    folder,
    entry: await bundledVictim(),
    node_args: [],
    patient: false,
    rest_ms: REST_MS,
    progress: () => {},
  })
}, RUN_MAX_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('a service that is killed under load', () => {
  it('keeps every promise', () => {
    expect(result.violations.broken()).toEqual([])
  })

  it('sends, refunds and delivers until each kill', () => {
    const { evidence, faults } = result
    const { messages, entries, events } = evidence.stored
    const unanswered = evidence.operations.filter(({ tries }) =>
      tries.some(({ outcome }) => outcome === 'info'),
    )
    const kinds = faults.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'a server was killed under load')).toHaveLength(2)
    const atHandOver = 'a server was killed between a commit and its hand-over'
    expect(kinds.filter((kind) => kind === atHandOver)).toHaveLength(2)
    expect(unanswered.length).toBeGreaterThan(0)
    const mails = evidence.operations.filter(({ door }) => door === 'smtp')
    expect(mails.filter((each) => idsAnswered(each).length > 0).length).toBeGreaterThan(20)
    expect(unanswered.filter(({ door }) => door === 'smtp').length).toBeGreaterThan(0)
    const codes = evidence.operations.filter(({ door }) => door === 'codes')
    expect(codes.filter((each) => idsAnswered(each).length > 0).length).toBeGreaterThan(20)
    expect(unanswered.filter(({ door }) => door === 'codes').length).toBeGreaterThan(0)
    expect(messages.length).toBeGreaterThan(100)
    expect(entries.filter(({ kind }) => kind === 'refund').length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThan(100)
  })
})

/** The rules that are broken in a copy of the evidence with one change. */
function brokenBy(change: (evidence: Evidence) => void): string[] {
  const { operations, accounts, received, stored, outages } = result.evidence
  const copy: Evidence = {
    operations: structuredClone(operations),
    accounts,
    received: new Map(received),
    stored: structuredClone(stored),
    outages,
  }
  change(copy)
  const violations = createViolations()
  check(copy, violations)
  return violations.broken().map(({ rule }) => rule)
}

function remove<T>(items: T[], test: (item: T) => boolean): T {
  const at = items.findIndex(test)
  const [item] = items.splice(at, at === -1 ? 0 : 1)
  if (item === undefined) throw new Error('no item to remove')
  return item
}

function first<T>(items: readonly T[], test: (item: T) => boolean): T {
  const item = items.find(test)
  if (item === undefined) throw new Error('no item to change')
  return item
}

describe('the rules notice', () => {
  it.each<[what: string, rule: string, change: (evidence: Evidence) => void]>([
    [
      'an accepted message that is lost',
      'every 201 is in the database',
      ({ operations, stored }) => {
        const [id] = idsAnswered(first(operations, (each) => idsAnswered(each).length > 0))
        remove(stored.messages, (message) => message.id === id)
      },
    ],
    [
      'a refused message that is stored',
      'no refused request is in the database',
      ({ operations, stored }) => {
        // A request with a key may be answered with 429 while its work continues.
        const { op } = first(stored.messages, ({ op }) => operations[op]?.idempotency_key === null)
        const operation = operations[op]
        if (operation) operation.tries = [{ outcome: 'fail', status: 429, text: '' }]
      },
    ],
    [
      'an operation that became two messages',
      'one operation with an Idempotency-Key is one message, for any number of tries',
      ({ stored }) => {
        const message = first(stored.messages, () => true)
        stored.messages.push({ ...message, id: 'another' })
      },
    ],
    [
      'a message with a code that has no verification',
      'a code and its message are stored together',
      ({ stored }) => void stored.verifications.pop(),
    ],
    [
      'a verification without its message',
      'a code and its message are stored together',
      ({ stored }) => {
        first(stored.verifications, () => true).message_id = 'another'
      },
    ],
    [
      'two ids for one operation',
      'one operation with an Idempotency-Key gets one id in all answers',
      ({ operations }) => {
        const keyed = first(
          operations,
          (each) => each.idempotency_key !== null && idsAnswered(each).length > 0,
        )
        keyed.tries.push({ outcome: 'ok', message_id: 'another', replayed: false })
      },
    ],
    [
      'a message without a final status',
      "each message ends in its recipient's status",
      ({ stored }) => {
        first(stored.messages, ({ status }) => status === 'delivered').status = 'sent'
      },
    ],
    [
      'a message without a debit',
      'a live message is debited once, at its price; a test message never',
      ({ stored }) => remove(stored.entries, ({ kind }) => kind === 'send'),
    ],
    [
      'a missing refund',
      'a message that no provider accepted is refunded once, and no other',
      ({ stored }) => remove(stored.entries, ({ kind }) => kind === 'refund'),
    ],
    [
      'a double refund',
      'a message that no provider accepted is refunded once, and no other',
      ({ stored }) =>
        stored.entries.push({ ...first(stored.entries, ({ kind }) => kind === 'refund') }),
    ],
    [
      'an answer without its message',
      'each stored answer names the message of its key, and each key has one',
      ({ stored }) => {
        first(stored.answers, () => true).message_id = 'another'
      },
    ],
    [
      'a change that was not announced',
      'each change of a message raises one event',
      ({ stored }) => remove(stored.events, ({ event }) => event === 'message.delivered'),
    ],
    [
      'an event that no receiver got',
      'the receiver got each event, in the stored bytes',
      ({ received, stored }) => {
        ;(received as Map<string, unknown>).delete(first(stored.events, () => true).id)
      },
    ],
    [
      'an event that the database lost',
      'the receiver got no event that the database does not have',
      ({ stored }) => remove(stored.events, () => true),
    ],
    [
      'a delivery that failed after its last try',
      'each event is delivered once, to its webhook',
      ({ stored }) => {
        first(stored.events, () => true).delivered = 0
      },
    ],
    [
      'what breaks a rule that all proofs share',
      'nothing is stuck',
      ({ stored }) => void stored.faults.push({ rule: 'nothing is stuck', fault: 'a message' }),
    ],
    [
      'a call of a provider that is not stored',
      'the provider gets a message only for an attempt that is stored',
      (evidence) => {
        evidence.stored.attempts.push({ message_id: 'twice', outcome: 'accepted' })
        evidence.calls = new Map([['twice', 2]])
      },
    ],
  ])('%s', (_, rule, change) => {
    expect(brokenBy(change)).toContain(rule)
  })
})
