import { expect, it } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, LEASE_MS, type OpenStorage, only } from './bench.ts'

/** Commits survive a reopening of the storage, and work in flight is found again. */
export function reopenContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('keeps everything', async () => {
    const workspaceId = await bench.workspace(10)
    const key = bench.make.apiKey(workspaceId)
    await bench.storage.write(({ apiKeys }) => apiKeys.insert(key))
    const webhook = await bench.webhook(workspaceId)
    const message = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    const outcome = { type: 'retry', error_code: 'busy', error_message: 'Busy' } as const
    await bench.settle(claimed, {
      task: 'send',
      attempt: 1,
      outcome: { ...outcome, delay_ms: 9_000 },
    })
    const other = await bench.queued(workspaceId)
    await bench.callback(other, 'sent')
    await bench.callback(other, 'sent')
    await bench.record(only(await bench.claimDeliveries()), { response_status: 500 })

    const everything = async () => {
      const { workspaces, apiKeys, credits, messages, webhooks } = bench.storage.read
      return [
        await workspaces.byId(workspaceId),
        await apiKeys.list(workspaceId, EVERYTHING),
        await bench.storage.hot.findApiKey(key.key_hash),
        await credits.account(workspaceId),
        await bench.ledger(workspaceId),
        await messages.list(workspaceId, {}, EVERYTHING),
        await messages.attempts(workspaceId, message.id),
        await messages.events(workspaceId, other.id),
        await webhooks.list(workspaceId, EVERYTHING),
        await webhooks.deliveries(workspaceId, webhook.id, EVERYTHING),
        await bench.deliveriesOf(other),
      ]
    }
    const before = await everything()
    await bench.reopen()
    expect(await everything()).toEqual(before)
    expect(before).not.toContain(null)
    expect(before).not.toContainEqual([])

    bench.clock.advance(9_000)
    const [second, first] = await bench.claimMessages()
    expect(first).toMatchObject({ message_id: message.id, attempt: 2, interrupted: false })
    expect(second).toMatchObject({ message_id: other.id, attempt: 0 })
    expect(only(await bench.claimDeliveries())).toMatchObject({ attempt: 2 })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 8 * SMS_PRICE, seq: 3 })
  })

  it('finds again what a dead process had claimed, as interrupted', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await bench.queued(workspaceId)
    const right = await bench.storage.startDispatch()
    const lost = only(await bench.claimMessages())
    const other = await bench.queued(workspaceId)
    await bench.callback(other, 'sent')
    const lostDelivery = only(await bench.claimDeliveries())
    // The end of a process releases the right, whatever was in flight.
    await right.release()
    await bench.reopen()

    const again = await bench.storage.startDispatch()
    bench.clock.advance(LEASE_MS)
    const claimed = (await bench.claimMessages()).find((c) => c.message_id === message.id)
    expect(claimed).toMatchObject({ attempt: 1, interrupted: true })
    expect(claimed?.token).not.toBe(lost.token)
    const delivery = only(await bench.claimDeliveries())
    expect(delivery).toMatchObject({ delivery_id: lostDelivery.delivery_id, attempt: 1 })
    expect(await bench.record(lostDelivery)).toBe(false)
    expect(await bench.record(delivery)).toBe(true)
    await again.release()
  })

  it('waits at closing for what was begun', async () => {
    const workspaceId = await bench.workspace()
    const requests = Array.from({ length: 300 }, () => bench.make.send(workspaceId))
    const answers = requests.map((request) => bench.accept(request))
    await bench.reopen()
    const accepted = (await Promise.all(answers)).filter(({ outcome }) => outcome === 'accepted')
    expect(accepted).toHaveLength(100)
    const { messages } = bench.storage.read
    expect(await messages.count(workspaceId, {})).toBe(100)
  })
}
