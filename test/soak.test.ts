import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkRules } from '../proof/soak/compare.ts'
import { createHistogram, percentile } from '../proof/soak/histogram.ts'
import { judge, reportOf } from '../proof/soak/report.ts'
import { type SoakResult, soak } from '../proof/soak/run.ts'
import type { Sample } from '../proof/soak/sample.ts'
import { openWritable } from '../proof/stage/database.ts'
import { createViolations } from '../proof/stage/violations.ts'

const RUN_MAX_MS = 120_000

let folder: string
let result: SoakResult

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-soak-test-'))
  result = await soak({
    minutes: 3 / 60,
    rate: 80,
    seed: 7,
    folder,
    postgres: false,
    signal: new AbortController().signal,
    progress: () => {},
  })
}, RUN_MAX_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('a short soak', () => {
  it('finds no violation', () => {
    expect(result.violations.broken()).toEqual([])
    expect(reportOf(result).text).toMatch(/PASSED$/)
  })

  it('sends, delivers and measures', () => {
    const { answers, stored, samples, operations } = result
    expect(stored.messages).toBeGreaterThan(20)
    expect(answers.received).toBeGreaterThan(20)
    expect([...operations.keys()]).toContain('a request that is reset')
    expect(samples.length).toBeGreaterThan(0)
    for (const sample of samples) {
      expect(sample.rss_mib).toBeGreaterThan(30)
      expect(sample.heap_mib).toBeGreaterThan(5)
      expect(sample.descriptors).toBeGreaterThan(10)
      expect(sample.threads).toBeGreaterThan(4)
      expect(sample.cpu_s).toBeGreaterThan(0)
    }
    expect(samples.at(-1)?.wal_mib).toBeGreaterThan(0)
  })
})

describe('the rules of a soak notice', () => {
  it.each([
    ['a lost message', 'delete from messages where id = (select min(id) from messages)'],
    [
      'a message that is stored twice',
      "insert into messages select 'another', workspace_id, op, livemode, recipient, status, error_code, credits_used, credits_refunded from messages limit 1",
    ],
    [
      'another final status',
      "update messages set status = 'sent' where id = (select min(id) from messages)",
    ],
    [
      'another price',
      'update messages set credits_used = credits_used + 1 where id = (select min(id) from messages)',
    ],
    [
      'a change without an event',
      "delete from events where event <> 'message.received' and id = (select min(id) from events where event <> 'message.received')",
    ],
    [
      'an event that did not arrive',
      'delete from received where event_id = (select min(event_id) from received)',
    ],
    [
      'an event in other bytes',
      "update received set digest = x'00' where event_id = (select min(event_id) from received)",
    ],
    [
      'a delivery that is not recorded',
      "update deliveries set status = 'pending' where id = (select min(id) from deliveries)",
    ],
  ])('%s', (_, damage) => {
    const database = openWritable(join(folder, 'driver.db'))
    try {
      database.exec(`begin; ${damage}`)
      const violations = createViolations()
      checkRules(database, violations)
      expect(violations.broken()).not.toEqual([])
      database.exec('rollback')
    } finally {
      database.close()
    }
  })
})

describe('the limits of a soak', () => {
  const CALM: Sample = {
    at_s: 0,
    rss_mib: 250,
    heap_mib: 60,
    descriptors: 70,
    threads: 14,
    wal_mib: 31,
    database_mib: 100,
    cpu_s: 0,
    lag_p99_ms: 10,
    waiting: 0,
    oldest_due_s: 0,
    load: 1,
    sends: new Map(),
    all: new Map(),
  }

  function took(ms: number): Sample['sends'] {
    const histogram = createHistogram()
    for (let i = 0; i < 100; i++) histogram.add(ms)
    return histogram.take()
  }

  /** Two hours with a sample every 30 s; `share` is the part of the run that has passed. */
  function run(change: (share: number) => Partial<Sample>): Sample[] {
    return Array.from({ length: 240 }, (_, i) => ({
      ...CALM,
      sends: took(20),
      at_s: i * 30,
      ...change(i / 240),
    }))
  }

  const failed = (samples: Sample[]) =>
    judge(samples)
      .filter(({ ok }) => ok === false)
      .map(({ text }) => text.split(/[,:]| at most| after| in /)[0])

  it('hold in a calm run with garbage collections', () => {
    expect(failed(run((share) => ({ heap_mib: 60 + 40 * ((share * 60) % 1) })))).toEqual([])
  })

  it.each<[string, (share: number) => Partial<Sample>]>([
    ['descriptors', (share) => ({ descriptors: 70 + 20 * share })],
    ['threads', (share) => ({ threads: 14 + Math.round(8 * share) })],
    ['WAL', (share) => ({ wal_mib: share === 0.5 ? 65 : 31 })],
    ['RSS', (share) => ({ rss_mib: 250 + 80 * share })],
    ['heap', (share) => ({ heap_mib: 60 + 30 * share })],
    ['p99 of sends', (share) => ({ sends: took(share > 0.75 ? 70 : 20) })],
  ])('notice that %s grows', (name, change) => {
    expect(failed(run(change))).toEqual([name])
  })

  it('judge no trend in a short run', () => {
    const short = run((share) => ({ descriptors: 70 + 100 * share })).slice(0, 20)
    expect(failed(short)).toEqual([])
    expect(judge(short).filter(({ ok }) => ok === null)).toHaveLength(5)
  })
})

describe('a percentile', () => {
  it('is within 2 % of the exact one', () => {
    const histogram = createHistogram()
    for (let ms = 1; ms <= 1_000; ms++) histogram.add(ms)
    const half = histogram.take()
    for (let ms = 1_001; ms <= 2_000; ms++) histogram.add(ms)
    const parts = [half, histogram.take()]
    expect(percentile(parts, 0.5) / 1_000).toBeCloseTo(1, 1)
    expect(percentile(parts, 0.99) / 1_980).toBeCloseTo(1, 1)
    expect(percentile([], 0.5)).toBeNaN()
  })
})
