import { expect, it } from 'vitest'
import type { Reads } from '../../src/storage/storage.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

const BULK_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** What a stranger may ask about somebody's rows; a read verb that is not listed does not compile. */
type Questions = {
  [Store in keyof Reads]: { [Verb in keyof Reads[Store]]: () => Promise<unknown> }
}

/** Workspaces never see, and never change, each other's rows. */
export function isolationContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A workspace that has one of everything. */
  async function owner() {
    const workspaceId = await bench.workspace()
    const key = bench.make.apiKey(workspaceId)
    await bench.storage.write(({ apiKeys }) => apiKeys.insert(key))
    const webhook = await bench.webhook(workspaceId)
    const message = await bench.queued(workspaceId, {
      bulk_id: BULK_ID,
      recipient: '+255700000009',
    })
    const claimed = only(await bench.claimMessages())
    const outcome = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    const delivery = only(await bench.claimDeliveries())
    await bench.record(delivery)
    return { workspaceId, key, webhook, message, delivery }
  }

  it('gives nothing to whoever asks with a foreign id', async () => {
    const { key, webhook, message, delivery, workspaceId } = await owner()
    const stranger = await bench.workspace(0)
    const questions = (asker: string): Omit<Questions, 'workspaces' | 'secrets'> => {
      const { apiKeys, credits, messages, webhooks } = bench.storage.read
      const filter = { bulk_id: BULK_ID, recipient: '+255700000009' }
      return {
        apiKeys: {
          list: () => apiKeys.list(asker, EVERYTHING),
          count: () => apiKeys.count(asker),
        },
        credits: {
          account: async () => (await credits.account(asker))?.balance,
          entries: () => credits.entries(asker, EVERYTHING),
        },
        messages: {
          byId: () => messages.byId(asker, message.id),
          list: () => messages.list(asker, filter, EVERYTHING),
          count: () => messages.count(asker, filter),
          attempts: () => messages.attempts(asker, message.id),
          events: () => messages.events(asker, message.id),
        },
        webhooks: {
          byId: () => webhooks.byId(asker, webhook.id),
          list: () => webhooks.list(asker, EVERYTHING),
          count: () => webhooks.count(asker),
          deliveries: () => webhooks.deliveries(asker, webhook.id, EVERYTHING),
          countDeliveries: () => webhooks.countDeliveries(asker, webhook.id),
          deliveriesOf: () => webhooks.deliveriesOf(asker, message.id),
          attempts: () => webhooks.attempts(asker, delivery.delivery_id),
        },
      }
    }
    const answers = async (asker: string) =>
      Promise.all(
        Object.entries(questions(asker)).flatMap(([store, verbs]) =>
          Object.entries(verbs).map(async ([verb, ask]) => [`${store}.${verb}`, await ask()]),
        ),
      )
    const isNothing = (answer: unknown) =>
      answer === null || answer === 0 || (Array.isArray(answer) && answer.length === 0)

    for (const [verb, answer] of await answers(stranger)) {
      expect(isNothing(answer), `${verb} gave ${JSON.stringify(answer)}`).toBe(true)
    }
    for (const [verb, answer] of await answers(workspaceId)) {
      expect(isNothing(answer), `${verb} gave its owner nothing`).toBe(false)
    }
    expect(key.workspace_id).toBe(workspaceId)
  })

  it('lets nobody change a foreign key or remove a foreign webhook', async () => {
    const { workspaceId, key, webhook } = await owner()
    const stranger = await bench.workspace(0)
    const at = bench.clock.advance(1_000)
    const answers = await bench.storage.write(async ({ apiKeys, webhooks }) => {
      await apiKeys.touch([{ workspace_id: stranger, id: key.id, at }])
      return [
        await apiKeys.deactivate(stranger, key.id),
        await webhooks.remove(stranger, webhook.id),
      ]
    })
    expect(answers).toEqual([false, false])
    expect(await bench.storage.hot.findApiKey(key.key_hash)).toEqual(key)
    const { webhooks } = bench.storage.read
    expect(await webhooks.byId(workspaceId, webhook.id)).not.toBeNull()
    expect(await webhooks.countDeliveries(workspaceId, webhook.id)).toBe(1)
  })

  it('settles no foreign message and records no foreign delivery, whatever token is shown', async () => {
    const { webhook, ...mine } = await owner()
    const stranger = await bench.workspace(0)
    const message = await bench.queued(mine.workspaceId)
    const claimed = only(await bench.claimMessages())
    const foreign = { ...claimed, workspace_id: stranger }
    const outcome = { type: 'rejected', error_code: 'unroutable', error_message: 'no' } as const

    expect(await bench.settle(foreign, { task: 'send', attempt: 1, outcome })).toBe(false)
    expect(await bench.settle(foreign, { task: 'callback', receipts: [] })).toBe(false)
    expect(await bench.message(mine.workspaceId, message.id)).toEqual(message)
    expect(await bench.account(stranger)).toMatchObject({ balance: 0, seq: 0 })

    await bench.callback(message, 'delivered')
    const delivery = only(await bench.claimDeliveries())
    expect(await bench.record({ ...delivery, workspace_id: stranger })).toBe(false)
    expect(await bench.record({ ...delivery, webhook_id: 'another' })).toBe(false)
    expect(await bench.record(delivery)).toBe(true)
    const { webhooks } = bench.storage.read
    expect(await webhooks.countDeliveries(mine.workspaceId, webhook.id)).toBe(2)
  })
}
