import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkCalls } from '../proof/crash/check.ts'
import { type CrashResult, crash } from '../proof/crash/run.ts'
import { createViolations } from '../proof/stage/violations.ts'
import { ensureBuilt } from './built.ts'
import { bundledVictim } from './bundled.ts'

ensureBuilt()

const RUN_MAX_MS = 300_000
/** As in the test of crashes on PostgreSQL. */
const REST_MS = 250

let folder: string
let result: CrashResult

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-failover-test-'))
  result = await crash({
    // Each failure once.
    cycles: 3,
    seed: 7,
    folder,
    entry: await bundledVictim(),
    node_args: [],
    patient: false,
    rest_ms: REST_MS,
    failover: { lease_ms: 5_000 },
    progress: () => {},
  })
}, RUN_MAX_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('two servers on a primary that is killed, frozen and cut off, and on the standby that replaces it', () => {
  it('keep every promise', () => {
    expect(result.violations.broken()).toEqual([])
  })

  it('send by themselves after each failover', () => {
    const { evidence, faults } = result
    const { messages, entries, events } = evidence.stored
    expect(faults.map(({ kind }) => kind).sort()).toEqual([
      'the primary was cut off',
      'the primary was frozen',
      'the primary was killed',
    ])
    expect(faults.every(({ first_ms = 0, all_ms = 0 }) => first_ms > 0 && all_ms > first_ms)).toBe(
      true,
    )
    const outcomes = evidence.operations.flatMap(({ tries }) => tries.map((each) => each.outcome))
    expect(new Set(outcomes)).toEqual(new Set(['ok', 'fail', 'info']))
    expect(messages.length).toBeGreaterThan(100)
    expect(entries.filter(({ kind }) => kind === 'refund').length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThan(100)
    expect(evidence.calls?.size).toBeGreaterThan(20)
  })
})

describe('the rules of a provider outside the service', () => {
  it.each([
    ['one call of an accepted attempt', 1, ['accepted'], []],
    ['a call again after an attempt without an answer', 2, ['ambiguous', 'accepted'], []],
    ['an attempt whose call did not arrive', 1, ['ambiguous', 'accepted'], []],
    ['an attempt that found no gateway', 2, ['ambiguous', 'retry', 'rejected'], []],
    ['a call without an attempt', 1, [], [/only for an attempt that is stored/]],
    ['a second call of one attempt', 2, ['ambiguous'], [/only for an attempt that is stored/]],
    ['a call again after an answer that came late', 2, ['accepted', 'accepted'], []],
  ])('judge %s', (_, times, outcomes, expected) => {
    const violations = createViolations()
    const attempts = outcomes.map((outcome) => ({ message_id: 'm', outcome }))
    checkCalls({ attempts }, new Map([['m', times]]), violations)
    const broken = violations.broken().map(({ rule }) => rule)
    expect(broken).toEqual(expected.map((rule) => expect.stringMatching(rule)))
  })
})
