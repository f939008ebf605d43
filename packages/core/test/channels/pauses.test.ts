import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPauses, type Pauses } from '../../src/channels/pauses.ts'
import type { PauseRow } from '../../src/rows/rows.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'

const MINUTE_MS = 60_000
const fault = { error_code: '20003', error_message: 'Authenticate' }
const ONE = '+15005550006'
const OTHER = '+15005550010'

let folder: string
let storage: Storage
let clock: TestRuntime
let pauses: Pauses

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-pauses-'))
  clock = testRuntime('pauses')
  storage = openSqlite(join(folder, 'svc.db'), clock)
  pauses = createPauses({ storage, runtime: clock })
})

afterEach(async () => {
  await storage.close()
  rmSync(folder, { recursive: true })
})

const lets = (sender: string | null = ONE, provider = 'carrier') => pauses.lets(provider, sender)
const tried = (sender: string | null = ONE) => pauses.tried('carrier', sender)
const rows = () => storage.read.providerPauses.list()

function operatorPause(given: Partial<PauseRow> = {}): PauseRow {
  return {
    provider: 'carrier',
    sender: '',
    cause: 'operator',
    code: null,
    reason: 'Maintenance',
    failures: 0,
    retry_at: null,
    created_at: clock.now(),
    ...given,
  }
}

const put = (row: PauseRow) => storage.write(({ providerPauses }) => providerPauses.put(row))

describe('a provider that refuses its settings', () => {
  it('is paused for a minute, then tried with one message every ten seconds', async () => {
    await pauses.misconfigured('carrier', null, fault)
    expect(lets()).toBe(false)
    expect(lets(ONE, 'other')).toBe(true)
    expect(await rows()).toMatchObject([{ reason: 'Authenticate' }])
    clock.advance(MINUTE_MS - 1)
    expect(lets()).toBe(false)
    clock.advance(1)
    // Looking takes nothing away: only what goes counts.
    expect([lets(), lets()]).toEqual([true, true])
    tried()
    expect([lets(), lets(OTHER)]).toEqual([false, false])
    clock.advance(9_999)
    expect(lets()).toBe(false)
    clock.advance(1)
    expect(lets()).toBe(true)
  })

  it('is paused longer each time it fails again, and never longer than an hour', async () => {
    const waits: number[] = []
    for (let i = 0; i < 6; i++) {
      await pauses.misconfigured('carrier', null, fault)
      const [row] = await rows()
      if (!row?.retry_at) throw new Error('it is paused')
      waits.push((row.retry_at.getTime() - clock.now().getTime()) / MINUTE_MS)
      clock.set(row.retry_at)
    }
    expect(waits).toEqual([1, 5, 15, 60, 60, 60])
    expect(await rows()).toMatchObject([{ failures: 6, code: '20003', cause: 'misconfigured' }])
  })

  it('counts what others of one batch say as one failure', async () => {
    await Promise.all([1, 2, 3].map(() => pauses.misconfigured('carrier', null, fault)))
    expect(await rows()).toMatchObject([{ failures: 1 }])
  })

  it('goes on when it takes the message that tries it', async () => {
    await pauses.misconfigured('carrier', null, fault)
    clock.advance(MINUTE_MS)
    tried()
    await pauses.worked('carrier', ONE)
    expect([lets(), lets(OTHER)]).toEqual([true, true])
    expect(await rows()).toEqual([])
  })

  it('stays paused by what was on its way before', async () => {
    await pauses.misconfigured('carrier', null, fault)
    clock.advance(MINUTE_MS - 1)
    await pauses.worked('carrier', ONE)
    expect(lets()).toBe(false)
    expect(await rows()).toHaveLength(1)
  })

  it('is paused for one sender alone where only that is wrong', async () => {
    await pauses.misconfigured('carrier', ONE, fault)
    expect([lets(ONE), lets(OTHER), lets(null)]).toEqual([false, true, true])
    clock.advance(MINUTE_MS)
    await pauses.worked('carrier', OTHER)
    tried()
    expect([lets(ONE), lets(OTHER)]).toEqual([false, true])
    await pauses.worked('carrier', ONE)
    expect(lets(ONE)).toBe(true)
  })

  it('is not tried while the sender alone is, and the other way round', async () => {
    await pauses.misconfigured('carrier', null, fault)
    clock.advance(30_000)
    await pauses.misconfigured('carrier', ONE, fault)
    clock.advance(30_000)
    expect([lets(ONE), lets(OTHER)]).toEqual([false, true])
    clock.advance(30_000)
    expect(lets(ONE)).toBe(true)
  })

  it.each([1, 24])(
    'is over when the clock is set back that was %i hours ahead at its beginning',
    async (hours) => {
      clock.step(hours * 60 * MINUTE_MS)
      await pauses.misconfigured('carrier', null, fault)
      expect(lets()).toBe(false)
      clock.step(-hours * 60 * MINUTE_MS)
      expect(lets()).toBe(true)
      tried()
      await pauses.misconfigured('carrier', null, fault)
      expect(lets()).toBe(false)
      clock.advance(5 * MINUTE_MS)
      expect(lets()).toBe(true)
    },
  )

  it('is known to every server, and after a restart', async () => {
    await pauses.misconfigured('carrier', null, fault)
    const other = createPauses({ storage, runtime: clock })
    await other.refresh()
    expect(other.lets('carrier', ONE)).toBe(false)
    clock.advance(MINUTE_MS)
    await other.worked('carrier', ONE)
    await pauses.refresh()
    expect(lets()).toBe(true)
  })
})

describe("an operator's pause", () => {
  it('stands whatever the provider says, until it is resumed', async () => {
    await put(operatorPause())
    await pauses.refresh()
    await pauses.misconfigured('carrier', null, fault)
    await pauses.worked('carrier', ONE)
    clock.advance(30 * 24 * 60 * MINUTE_MS)
    expect(lets()).toBe(false)
    expect(await rows()).toMatchObject([{ cause: 'operator', reason: 'Maintenance' }])
    await storage.write(({ providerPauses }) =>
      providerPauses.remove({ provider: 'carrier', sender: '' }),
    )
    await pauses.refresh()
    expect(lets()).toBe(true)
  })

  it('stands though this server has not heard of it yet', async () => {
    await put(operatorPause())
    await pauses.misconfigured('carrier', null, fault)
    expect(await rows()).toMatchObject([{ cause: 'operator', reason: 'Maintenance' }])
  })

  it('of a provider that refused its settings is not ended by a message on its way', async () => {
    await pauses.misconfigured('carrier', null, fault)
    clock.advance(MINUTE_MS)
    await put(operatorPause())
    await pauses.worked('carrier', ONE)
    expect(await rows()).toMatchObject([{ cause: 'operator' }])
    await pauses.refresh()
    expect(lets()).toBe(false)
  })

  it('of one sender leaves the others', async () => {
    await put(operatorPause({ sender: ONE }))
    await pauses.refresh()
    expect([lets(ONE), lets(OTHER), lets(null)]).toEqual([false, true, true])
  })
})
