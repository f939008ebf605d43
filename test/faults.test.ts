import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FaultsResult, playFaults } from '../proof/faults/run.ts'
import { SCENARIOS } from '../proof/faults/scenarios.ts'

const RUN_MAX_MS = 240_000
/** The scenarios that take a few seconds. */
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

describe('a service with injected faults', () => {
  it('keeps every promise', () => {
    expect(result.violations.broken()).toEqual([])
  })

  it('sends messages around the faults', () => {
    expect(result.accepted).toBeGreaterThan(100)
    expect(result.notes.join('\n')).toMatch(/100 connections were reset/)
    expect(result.notes.join('\n')).toMatch(/exited on its own with 1/)
  })
})
