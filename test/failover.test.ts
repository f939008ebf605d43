import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CrashResult, crash } from '../proof/crash/run.ts'
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
