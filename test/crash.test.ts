import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { check } from '../scripts/crash/check.ts'
import type { Evidence } from '../scripts/crash/evidence.ts'
import { idsTold } from '../scripts/crash/operations.ts'
import { type CrashResult, crash } from '../scripts/crash/run.ts'
import { createViolations } from '../scripts/crash/violations.ts'

const RUN_MAX_MS = 120_000

let folder: string
let result: CrashResult

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-crash-test-'))
  result = await crash({
    cycles: 4,
    // Two lives that are cut short at work, two before, and one start that is: in about the least time.
    seed: 7,
    folder,
    node_args: ['--conditions=source', '--import', 'tsx'],
    patient: false,
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

  it('was sending, refunding and delivering while it was killed', () => {
    const { evidence, misfortunes } = result
    const { messages, entries, events } = evidence.stored
    const unanswered = evidence.operations.filter(({ tries }) =>
      tries.some(({ outcome }) => outcome === 'info'),
    )
    expect(misfortunes.filter(({ kind }) => /under load/.test(kind))).toHaveLength(4)
    expect(unanswered.length).toBeGreaterThan(0)
    expect(messages.length).toBeGreaterThan(100)
    expect(entries.filter(({ kind }) => kind === 'refund').length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThan(100)
  })
})

/** What the rules say to a copy of the evidence with one thing changed. */
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
  if (item === undefined) throw new Error('there is nothing to remove')
  return item
}

function first<T>(items: readonly T[], test: (item: T) => boolean): T {
  const item = items.find(test)
  if (item === undefined) throw new Error('there is nothing to change')
  return item
}

describe('the rules notice', () => {
  it.each<[what: string, rule: string, change: (evidence: Evidence) => void]>([
    [
      'an accepted message that is lost',
      'every 201 is in the database',
      ({ operations, stored }) => {
        const [id] = idsTold(first(operations, (each) => idsTold(each).length > 0))
        remove(stored.messages, (message) => message.id === id)
      },
    ],
    [
      'a refused one that is kept',
      'what was refused is not in the database',
      ({ operations, stored }) => {
        // A request with a key may be answered 429 while its work goes on.
        const { op } = first(stored.messages, ({ op }) => operations[op]?.idempotency_key === null)
        const operation = operations[op]
        if (operation) operation.tries = [{ outcome: 'fail', status: 429, text: '' }]
      },
    ],
    [
      'a wish that became two messages',
      'one wish with an Idempotency-Key is one message, however often it was sent',
      ({ stored }) => {
        const message = first(stored.messages, () => true)
        stored.messages.push({ ...message, id: 'another' })
      },
    ],
    [
      'two answers to one wish',
      'one wish with an Idempotency-Key is answered with one id',
      ({ operations }) => {
        const keyed = first(
          operations,
          (each) => each.idempotency_key !== null && idsTold(each).length > 0,
        )
        keyed.tries.push({ outcome: 'ok', message_id: 'another', replayed: false })
      },
    ],
    [
      'a message that is not at its end',
      'each message ends as its recipient demands',
      ({ stored }) => {
        first(stored.messages, ({ status }) => status === 'delivered').status = 'sent'
      },
    ],
    [
      'a message that nobody paid',
      'a live message is debited once, at its price; a test message never',
      ({ stored }) => remove(stored.entries, ({ kind }) => kind === 'send'),
    ],
    [
      'a hole in the books',
      'the entries of a workspace are numbered without a gap',
      ({ stored }) => remove(stored.entries, ({ kind }) => kind === 'send'),
    ],
    [
      'a balance that is not the sum',
      'the balance of an account is what its last entry says',
      ({ stored }) => {
        first(stored.balances, () => true).balance += 1
      },
    ],
    [
      'an amount that was changed',
      'each entry says the balance that the ones before it add up to',
      ({ stored }) => {
        first(stored.entries, ({ kind }) => kind === 'refund').amount += 1
      },
    ],
    [
      'a refund that is missing',
      'a message that no provider took is refunded once, and no other',
      ({ stored }) => remove(stored.entries, ({ kind }) => kind === 'refund'),
    ],
    [
      'a refund that came twice',
      'a message that no provider took is refunded once, and no other',
      ({ stored }) =>
        stored.entries.push({ ...first(stored.entries, ({ kind }) => kind === 'refund') }),
    ],
    [
      'a debit without its message',
      'every debit and refund is about a message that is there',
      ({ stored }) => remove(stored.messages, ({ livemode }) => livemode === 1),
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
      'an event that nobody received',
      'the receiver saw each event, in the bytes that are stored',
      ({ received, stored }) => {
        ;(received as Map<string, unknown>).delete(first(stored.events, () => true).id)
      },
    ],
    [
      'an event that the database forgot',
      'the receiver saw no event that the database does not know',
      ({ stored }) => remove(stored.events, () => true),
    ],
    [
      'a delivery that was given up',
      'each event is delivered to the one webhook, and it says so',
      ({ stored }) => {
        first(stored.events, () => true).delivered = 0
      },
    ],
    [
      'work that was left',
      'nothing waits in a queue',
      ({ stored }) => {
        stored.waiting.messages = 1
      },
    ],
  ])('%s', (_, rule, change) => {
    expect(brokenBy(change)).toContain(rule)
  })
})
