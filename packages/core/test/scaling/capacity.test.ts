import { describe, expect, it } from 'vitest'
import { simulateAccept } from '../../../../proof/bench/scaling/accept-simulation.ts'
import { hotLimit, limitsOf, type Measured } from '../../../../proof/bench/scaling/model.ts'
import { STEPS } from '../../../../proof/bench/scaling/steps.ts'
import { agrees, checksOf } from '../../../../proof/bench/scaling/verification.ts'

/** Round figures of the same order of magnitude as the measured ones. */
const MEASURED: Measured = {
  server_cpu_ms: 1,
  db_cpu_ms: 0.8,
  wal_bytes: 8_000,
  stored_bytes: 4_000,
  index_bytes: 1_500,
  vacuum_ms: 0.025,
  hot: { fixed_ms: 2, per_item_ms: 0.08 },
  bulk_message_ms: 0.05,
  flush_ms: 0.5,
  list_cpu_ms: 30,
  partition_factor: 1.3,
}

const LOAD = {
  seed: 1,
  servers: 2,
  slots: 2,
  batch_max: 512,
  db_cores: 4,
  fixed_ms: 2,
  per_request_ms: 0.08,
  flush_ms: 1,
  rate_per_ms: 5,
  hot_share: 0.5,
  requests: 20_000,
}

describe('the simulation of accepting', () => {
  it.each([
    { fixed_ms: 2, per_request_ms: 0.08, flush_ms: 1 },
    { fixed_ms: 0.5, per_request_ms: 0.03, flush_ms: 10 },
  ])('gives what is known by calculation, at %o', (cost) => {
    const checks = checksOf(cost)
    expect(checks).toHaveLength(3)
    expect(checks.filter((check) => !agrees(check))).toEqual([])
  })

  it('repeats with its seed, and with no other', () => {
    expect(simulateAccept(LOAD)).toEqual(simulateAccept(LOAD))
    expect(simulateAccept({ ...LOAD, seed: 2 })).not.toEqual(simulateAccept(LOAD))
  })

  it('lets neighbours wait behind a hot workspace, and not without one', () => {
    const load = { ...LOAD, servers: 4, rate_per_ms: 10 }
    const beside = simulateAccept({ ...load, hot_share: 0.9 }).others.p50_ms
    const alone = simulateAccept({ ...load, hot_share: 0 }).others.p50_ms
    expect(beside).toBeGreaterThan(2 * alone)
  })
})

describe('the steps', () => {
  const limits = STEPS.map((step) => limitsOf(step, MEASURED))
  const carried = limits.map(({ per_s, first }) => per_s[first])

  it('end at the resource that is used up first', () => {
    for (const { per_s, first } of limits)
      expect(per_s[first]).toBe(Math.min(...Object.values(per_s)))
  })

  it('carry more with each server, machine and node, and no more with partitions', () => {
    const [
      one = 0,
      several = 0,
      larger = 0,
      partitioned = 0,
      replicated = 0,
      four = 0,
      sixteen = 0,
    ] = carried
    expect(one).toBeGreaterThan(0)
    expect(several).toBeGreaterThan(one)
    expect(larger).toBeGreaterThan(several)
    expect(partitioned).toBeLessThanOrEqual(larger)
    expect(replicated).toBeGreaterThan(partitioned)
    expect(four).toBeGreaterThan(replicated)
    expect(sixteen).toBeGreaterThan(four)
  })

  it('do not move the limit of one workspace: only its flush and its batches do', () => {
    const [sharded, single] = [STEPS.at(-1), STEPS.at(2)]
    if (!sharded || !single) throw new Error('steps are missing')
    expect(hotLimit(MEASURED, sharded.flush_ms, 512)).toBe(hotLimit(MEASURED, single.flush_ms, 512))
    expect(hotLimit(MEASURED, 10, 512)).toBeLessThan(hotLimit(MEASURED, 1, 512))
    expect(hotLimit(MEASURED, 1, 1)).toBeLessThan(hotLimit(MEASURED, 1, 512) / 10)
  })
})
