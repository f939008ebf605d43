import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CrashResult, crash } from '../proof/crash/run.ts'
import { ensureBuilt } from './built.ts'
import { bundledVictim } from './bundled.ts'

ensureBuilt()

const RUN_MAX_MS = 300_000
/** The callers rest, so that a run costs a fraction of the CPU of `npm run crash`; some requests are open at each moment. */
const REST_MS = 250

let folder: string
let result: CrashResult

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-crash-test-'))
  result = await crash({
    // Each fault once.
    cycles: 6,
    seed: 7,
    folder,
    entry: await bundledVictim(),
    node_args: [],
    patient: false,
    rest_ms: REST_MS,
    postgres: { standstill_ms: 3_000, lease_ms: 5_000 },
    progress: () => {},
  })
}, RUN_MAX_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('two servers on a PostgreSQL that is killed, restarted, stopped and disconnected under load', () => {
  it('keep every promise', () => {
    expect(result.violations.broken()).toEqual([])
  })

  it('send, refund and deliver during each fault', () => {
    const { evidence, faults } = result
    const { messages, entries, events } = evidence.stored
    expect(faults.map(({ kind }) => kind).sort()).toEqual([
      'a server was killed',
      'a server was killed between a commit and its hand-over',
      'connections were cut',
      'the database was killed',
      'the database was restarted',
      'the database was stopped for 3 s',
    ])
    const outcomes = evidence.operations.flatMap(({ tries }) => tries.map((each) => each.outcome))
    expect(new Set(outcomes)).toEqual(new Set(['ok', 'fail', 'info']))
    expect(messages.length).toBeGreaterThan(100)
    expect(entries.filter(({ kind }) => kind === 'refund').length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThan(100)
  })

  it('answer failed requests with 400, 429 or 500 only', () => {
    const statuses = result.evidence.operations.flatMap(({ tries }) =>
      tries.flatMap((each) => ('status' in each && each.status ? [each.status] : [])),
    )
    // 400 is for an invalid recipient.
    expect([...new Set(statuses)].filter((status) => ![400, 429, 500].includes(status))).toEqual([])
  })
})
