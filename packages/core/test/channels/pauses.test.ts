import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPauses, type Pauses } from '../../src/carriers/carriers.ts'
import type { PauseRow } from '../../src/rows/rows.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { makeMigratedFile } from '../migrated-file.ts'

const MINUTE_MS = 60_000
const fault = { error_code: '20003', error_message: 'Authenticate' }
const ONE = '+15005550006'
const OTHER = '+15005550010'

let folder: string
let storage: Storage
let clock: TestRuntime
let pauses: Pauses

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-pauses-'))
  clock = testRuntime('pauses')
  const file = join(folder, 'svc.db')
  await makeMigratedFile(file)
  storage = openSqlite(file, clock)
  pauses = createPauses({ storage, runtime: clock })
})

afterEach(async () => {
  await storage.close()
  rmSync(folder, { recursive: true })
})

const allows = (sender: string | null = ONE, provider = 'carrier') =>
  pauses.allows(provider, sender)
const noteSend = (sender: string | null = ONE) => pauses.noteSend('carrier', sender)
const rows = () => storage.read.providerPauses.list()

function operatorPause(fields: Partial<PauseRow> = {}): PauseRow {
  return {
    provider: 'carrier',
    sender: '',
    cause: 'operator',
    code: null,
    reason: 'Maintenance',
    failures: 0,
    retry_at: null,
    created_at: clock.now(),
    ...fields,
  }
}

const put = (row: PauseRow) => storage.write(({ providerPauses }) => providerPauses.put(row))

describe('a misconfigured provider', () => {
  it('is paused for a minute, then probed with one message every ten seconds', async () => {
    await pauses.noteMisconfigured('carrier', null, fault)
    expect(allows()).toBe(false)
    expect(allows(ONE, 'other')).toBe(true)
    expect(await rows()).toMatchObject([{ reason: 'Authenticate' }])
    clock.advance(MINUTE_MS - 1)
    expect(allows()).toBe(false)
    clock.advance(1)
    // allows() does not count: only sends do.
    expect([allows(), allows()]).toEqual([true, true])
    noteSend()
    expect([allows(), allows(OTHER)]).toEqual([false, false])
    clock.advance(9_999)
    expect(allows()).toBe(false)
    clock.advance(1)
    expect(allows()).toBe(true)
  })

  it('is paused longer after each failure, up to an hour', async () => {
    const waits: number[] = []
    for (let i = 0; i < 6; i++) {
      await pauses.noteMisconfigured('carrier', null, fault)
      const [row] = await rows()
      if (!row?.retry_at) throw new Error('it is paused')
      waits.push((row.retry_at.getTime() - clock.now().getTime()) / MINUTE_MS)
      clock.set(row.retry_at)
    }
    expect(waits).toEqual([1, 5, 15, 60, 60, 60])
    expect(await rows()).toMatchObject([{ failures: 6, code: '20003', cause: 'misconfigured' }])
  })

  it('counts the messages of one batch as one failure', async () => {
    await Promise.all([1, 2, 3].map(() => pauses.noteMisconfigured('carrier', null, fault)))
    expect(await rows()).toMatchObject([{ failures: 1 }])
  })

  it('is resumed when it accepts the probe', async () => {
    await pauses.noteMisconfigured('carrier', null, fault)
    clock.advance(MINUTE_MS)
    noteSend()
    await pauses.noteAccepted('carrier', ONE)
    expect([allows(), allows(OTHER)]).toEqual([true, true])
    expect(await rows()).toEqual([])
  })

  it('stays paused when it accepts a message from before the pause', async () => {
    await pauses.noteMisconfigured('carrier', null, fault)
    clock.advance(MINUTE_MS - 1)
    await pauses.noteAccepted('carrier', ONE)
    expect(allows()).toBe(false)
    expect(await rows()).toHaveLength(1)
  })

  it('is paused for one sender only if only the sender is wrong', async () => {
    await pauses.noteMisconfigured('carrier', ONE, fault)
    expect([allows(ONE), allows(OTHER), allows(null)]).toEqual([false, true, true])
    clock.advance(MINUTE_MS)
    await pauses.noteAccepted('carrier', OTHER)
    noteSend()
    expect([allows(ONE), allows(OTHER)]).toEqual([false, true])
    await pauses.noteAccepted('carrier', ONE)
    expect(allows(ONE)).toBe(true)
  })

  it('is probed only after both its own pause and the pause of the sender', async () => {
    await pauses.noteMisconfigured('carrier', null, fault)
    clock.advance(30_000)
    await pauses.noteMisconfigured('carrier', ONE, fault)
    clock.advance(30_000)
    expect([allows(ONE), allows(OTHER)]).toEqual([false, true])
    clock.advance(30_000)
    expect(allows(ONE)).toBe(true)
  })

  it.each([1, 24])(
    'is probed after the clock, %i hours ahead when the pause began, is set back',
    async (hours) => {
      clock.step(hours * 60 * MINUTE_MS)
      await pauses.noteMisconfigured('carrier', null, fault)
      expect(allows()).toBe(false)
      clock.step(-hours * 60 * MINUTE_MS)
      expect(allows()).toBe(true)
      noteSend()
      await pauses.noteMisconfigured('carrier', null, fault)
      expect(allows()).toBe(false)
      clock.advance(5 * MINUTE_MS)
      expect(allows()).toBe(true)
    },
  )

  it('is paused on every server and after a restart', async () => {
    await pauses.noteMisconfigured('carrier', null, fault)
    const other = createPauses({ storage, runtime: clock })
    await other.refresh()
    expect(other.allows('carrier', ONE)).toBe(false)
    clock.advance(MINUTE_MS)
    await other.noteAccepted('carrier', ONE)
    await pauses.refresh()
    expect(allows()).toBe(true)
  })
})

describe("an operator's pause", () => {
  it('stays until the operator ends it', async () => {
    await put(operatorPause())
    await pauses.refresh()
    await pauses.noteMisconfigured('carrier', null, fault)
    await pauses.noteAccepted('carrier', ONE)
    clock.advance(30 * 24 * 60 * MINUTE_MS)
    expect(allows()).toBe(false)
    expect(await rows()).toMatchObject([{ cause: 'operator', reason: 'Maintenance' }])
    await storage.write(({ providerPauses }) =>
      providerPauses.remove({ provider: 'carrier', sender: '' }),
    )
    await pauses.refresh()
    expect(allows()).toBe(true)
  })

  it('stays, even if this server has not read it yet', async () => {
    await put(operatorPause())
    await pauses.noteMisconfigured('carrier', null, fault)
    expect(await rows()).toMatchObject([{ cause: 'operator', reason: 'Maintenance' }])
  })

  it('of a misconfigured provider is not ended by a message in flight', async () => {
    await pauses.noteMisconfigured('carrier', null, fault)
    clock.advance(MINUTE_MS)
    await put(operatorPause())
    await pauses.noteAccepted('carrier', ONE)
    expect(await rows()).toMatchObject([{ cause: 'operator' }])
    await pauses.refresh()
    expect(allows()).toBe(false)
  })

  it('of one sender does not affect other senders', async () => {
    await put(operatorPause({ sender: ONE }))
    await pauses.refresh()
    expect([allows(ONE), allows(OTHER), allows(null)]).toEqual([false, true, true])
  })
})
