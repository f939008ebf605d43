import { describe, expect, it } from 'vitest'
import { SERVICE } from '../../src/audit/entry.ts'
import { eraseMessage, redactMessage } from '../../src/messages/erase-message.ts'
import { benchFor } from '../storage/bench.ts'
import { ENGINES } from './engines.ts'
import { historySteps, SECRET } from './history.ts'

const ASHA = '+255700000009'

describe.each(ENGINES)('erasing one message on %s', (_, engineOf) => {
  const engine = engineOf()
  const bench = benchFor(engine.open)
  const steps = historySteps(bench)
  const parts = () => ({ storage: bench.storage, runtime: bench.clock })
  const byId = (workspaceId: string, id: string) =>
    bench.storage.read.messages.byId(workspaceId, id)

  it('leaves neither the recipient nor the content of a sent message', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const { id } = await steps.done(workspaceId, ASHA, { status: 'failed' })
    await eraseMessage(parts(), workspaceId, id, SERVICE)
    expect(await byId(workspaceId, id)).toMatchObject({
      status: 'failed',
      recipient: 'erased',
      content: {},
      metadata: {},
      sender: null,
    })
    const window = { after_id: '', last_id: '~' }
    const recipient = { kind: 'phone', address: ASHA } as const
    const { messagesTo, eventsNaming } = bench.storage.read.erasure
    expect(await messagesTo(workspaceId, recipient, window)).toEqual([])
    expect(await eventsNaming(workspaceId, recipient, window)).toEqual([])
    const rest = await engine.dump()
    expect(rest).not.toContain(SECRET)
    expect(rest).toContain('message.erased')
  })

  it('keeps the other messages to the recipient', async () => {
    const workspaceId = await bench.workspace()
    const kept = await steps.done(workspaceId, ASHA)
    const { id } = await steps.done(workspaceId, ASHA)
    await eraseMessage(parts(), workspaceId, id, SERVICE)
    expect((await byId(workspaceId, kept.id))?.recipient).toBe(ASHA)
  })

  it('changes nothing more when it is repeated', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await steps.done(workspaceId, ASHA)
    await eraseMessage(parts(), workspaceId, id, SERVICE)
    const once = await byId(workspaceId, id)
    await eraseMessage(parts(), workspaceId, id, SERVICE)
    expect(await byId(workspaceId, id)).toEqual(once)
  })

  it('removes a received message', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await steps.received(workspaceId, ASHA)
    await eraseMessage(parts(), workspaceId, id, SERVICE)
    expect(await bench.storage.read.receivedMessages.byId(workspaceId, id)).toBeNull()
  })

  it('refuses a queued message, and changes nothing', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, { recipient: ASHA })
    for (const change of [eraseMessage, redactMessage]) {
      await expect(change(parts(), workspaceId, message.id, SERVICE)).rejects.toMatchObject({
        code: 'validation_error',
        message: expect.stringContaining('still queued'),
      })
    }
    expect(await byId(workspaceId, message.id)).toMatchObject({ recipient: ASHA, erased_at: null })
  })

  it('is not found for another workspace, and for a test key that asks for a live message', async () => {
    const workspaceId = await bench.workspace()
    const stranger = await bench.workspace()
    const { id } = await steps.done(workspaceId, ASHA)
    const testKey = { workspace_id: workspaceId, mode: 'test' } as const
    for (const viewer of [stranger, testKey]) {
      for (const change of [eraseMessage, redactMessage]) {
        await expect(change(parts(), viewer, id, SERVICE)).rejects.toMatchObject({
          code: 'not_found',
        })
      }
    }
  })

  it('removes the text of a bulk to this recipient alone, and keeps that of a bulk to several', async () => {
    const workspaceId = await bench.workspace()
    for (const change of [eraseMessage, redactMessage]) {
      for (const [recipients, text] of [
        [1, 'Hi {{name}}'],
        [2, 'Hi {{name}}'],
        [1, null],
      ] as const) {
        const { messages, ...request } = bench.make.bulk(workspaceId, recipients)
        // The e-mails of a bulk may differ: then it has no content.
        const content = text === null ? null : { text }
        const bulk = bench.make.bulkRow(messages, { content, name: 'May', sender: 'Acme' })
        await bench.accept({ ...request, messages, bulk })
        const claims = await bench.claimMessages()
        const outcome = { type: 'rejected', error_code: 'no', error_message: 'no' } as const
        for (const one of claims) await bench.settle(one, { task: 'send', attempt: 1, outcome })
        await change(parts(), workspaceId, messages[0]?.id ?? '', SERVICE)
        const found = await bench.storage.read.bulks.byId(workspaceId, bulk.id)
        const none = { content: null, name: null, sender: null }
        expect(found).toMatchObject(recipients === 1 ? none : { content, name: 'May' })
      }
    }
  })

  it('redacts only the content', async () => {
    const workspaceId = await bench.workspace()
    const sent = await steps.done(workspaceId, ASHA)
    const received = await steps.received(workspaceId, ASHA)
    for (const { id } of [sent, received]) await redactMessage(parts(), workspaceId, id, SERVICE)
    expect(await byId(workspaceId, sent.id)).toMatchObject({
      recipient: ASHA,
      content: {},
      metadata: { who: SECRET },
      erased_at: null,
    })
    expect(await bench.storage.read.receivedMessages.byId(workspaceId, received.id)).toMatchObject({
      sender: ASHA,
      content: { text: null, media: [] },
    })
  })
})
