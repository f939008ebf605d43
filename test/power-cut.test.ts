import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recorderMissing } from '../proof/power-cut/records.ts'
import { cutPower } from '../proof/power-cut/run.ts'
import { RUNS_ALL_CASES } from './all-cases.ts'
import { ensureBuilt } from './built.ts'

ensureBuilt()

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-power-cut-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// A short form of `npm run power-cut`: one recording of each kind, of the built service.
const missing = recorderMissing()
it.runIf(missing === null)(
  `keeps every promise through a power cut, also after a failed flush${missing ? ` (missing: ${missing})` : ''}`,
  { timeout: 240_000 },
  async () => {
    const options = {
      states: RUNS_ALL_CASES ? 10 : 3,
      failed_flushes: RUNS_ALL_CASES ? 20 : 5,
      served: 0,
      accepted: 40,
      seed: 3,
      folder,
      progress: () => {},
    }
    const fails = await cutPower('fails', options)
    expect(fails).toMatchObject({ states: options.failed_flushes, broken: [] })
    expect(fails.failed_flushes).toBeGreaterThan(0)
    const works = await cutPower('works', options)
    expect(works).toMatchObject({ states: options.states, broken: [] })
    expect(works.unsettled).toBeGreaterThan(0)
    expect(works.checked).toBeGreaterThan(0)
  },
)
