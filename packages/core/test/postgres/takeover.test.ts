import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Core, createCore } from '../../src/core.ts'
import { postgresBench } from './bench.ts'
import { type ServerProcess, startServer } from './servers.ts'

const LEASE_MS = 1_500

const bench = postgresBench()

let killed: ServerProcess
let other: Core
beforeEach(async () => {
  killed = await startServer(bench.url())
  other = await createCore({ database_url: bench.url(), threads: 0, lease_ms: LEASE_MS })
})
afterEach(() => Promise.all([killed?.kill(), other?.close({ grace_ms: 0 })]))

describe('what a killed server was about to send', () => {
  it('is sent by the other when the lease ends, not before, and paid for once', async () => {
    const id = await bench.workspace(1)
    const message = await bench.queued(id, { provider: null })
    const begun = performance.now()
    const { claimed } = await killed.run({ task: 'claimAll', limit: 1, lease_ms: LEASE_MS })
    expect(claimed).toEqual([message.id])
    await killed.kill()
    await other.startDispatch()
    await expect
      .poll(async () => (await bench.message(id, message.id)).status, { timeout: 20_000 })
      .toBe('delivered')
    expect(performance.now() - begun).toBeGreaterThan(LEASE_MS)
    expect(await bench.account(id)).toMatchObject({ balance: 0, seq: 2 })
  })

  it('is left to the server that survives with it', async () => {
    const id = await bench.workspace(1)
    const message = await bench.queued(id)
    await killed.run({ task: 'claimAll', limit: 1, lease_ms: 60_000 })
    await other.startDispatch()
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS))
    expect(await bench.message(id, message.id)).toEqual(message)
  })
})
