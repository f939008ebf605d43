import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FaultsResult, playFaults } from '../scripts/faults/run.ts'
import { SCENARIOS } from '../scripts/faults/scenarios.ts'

const RUN_MAX_MS = 240_000
/** Those that one service after the other can live through in a few seconds. */
const PLAYED = [
  'stopped',
  'resets',
  'flood',
  'slow-clients',
  'clock-hour-back',
  'flush-error',
  'term',
]

let folder: string
let result: FaultsResult

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-faults-test-'))
  result = await playFaults({
    scenarios: PLAYED.flatMap((name) => SCENARIOS.filter((scenario) => scenario.name === name)),
    seed: 7,
    folder,
    short: true,
    progress: () => {},
  })
}, RUN_MAX_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('a service around which things go wrong', () => {
  it('keeps every promise', () => {
    expect(result.violations.broken()).toEqual([])
  })

  it('was sending while they did', () => {
    expect(result.accepted).toBeGreaterThan(100)
    expect(result.notes.join('\n')).toMatch(/100 connections were reset/)
    expect(result.notes.join('\n')).toMatch(/ended by itself with 1/)
  })
})
