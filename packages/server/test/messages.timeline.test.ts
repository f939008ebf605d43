import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { openReceiver } from './receiver.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
  key = (await world().key(owner)).key
})

const timeline = (id: string) => world().call('GET', `/api/v1/messages/${id}/timeline`, { key })

describe('GET /api/v1/messages/:id/timeline', () => {
  it('merges status, provider, ledger and webhooks, oldest first', async () => {
    const receiver = await openReceiver()
    const hook = await world().webhook(owner, { url: receiver.url, events: ['message.failed'] })
    const before = await world().balance(owner)
    const { body } = await world().send(key, {
      to: '+15005550002',
      scheduled_at: new Date(world().now().getTime() + 1_000).toISOString(),
    })
    await world().advance(1_000)
    const { status, body: answer } = await timeline(body.data.message_id)
    const reference = { type: 'message', id: body.data.message_id }
    const made = '2026-05-04T09:00:00.000Z'
    const failed = '2026-05-04T09:00:01.000Z'
    const reason = { error_code: 'unroutable', error_message: 'No route to this recipient' }
    expect(status).toBe(200)
    expect(answer.data.timeline).toStrictEqual([
      {
        at: made,
        kind: 'status',
        status: 'queued',
        applied: true,
        error_code: null,
        error_message: null,
      },
      {
        at: made,
        kind: 'ledger',
        type: 'send',
        credits: -1,
        balance_after: before - 1,
        reference,
      },
      {
        at: failed,
        kind: 'provider',
        provider: 'sandbox',
        attempt: 1,
        outcome: 'rejected',
        finished_at: failed,
        ...reason,
      },
      { at: failed, kind: 'status', status: 'failed', applied: true, ...reason },
      {
        at: failed,
        kind: 'ledger',
        type: 'refund',
        credits: 1,
        balance_after: before,
        reference,
      },
      {
        // The receiver took time to answer.
        at: expect.stringMatching(/^2026-05-04T09:00:01\.\d{3}Z$/),
        kind: 'webhook',
        delivery_id: expect.any(String),
        webhook_id: hook.id,
        event: 'message.failed',
        status: 'delivered',
        attempt_count: 1,
        next_attempt_at: null,
        next_attempt_reason: null,
        response_status: 200,
        error: null,
      },
    ])
    await world().call('DELETE', `/api/v1/webhooks/${hook.id}`, { token: owner.token })
    await receiver.close()
  })

  it('has the debit before the attempt and the attempt before the status, within one millisecond', async () => {
    const { body } = await world().send(key, { to: '+15005550006' })
    await world().advance(0)
    const { body: answer } = await timeline(body.data.message_id)
    const entries = answer.data.timeline.map(
      ({ kind, status, type, attempt }: Record<string, unknown>) =>
        `${kind} ${status ?? type ?? attempt}`,
    )
    expect(entries.slice(0, 4)).toEqual([
      'status queued',
      'ledger send',
      'provider 1',
      'status sent',
    ])
  })

  it('shows the debit of a bulk with the credits of each of its messages', async () => {
    const recipients = [
      { to: '+2557001', variables: { name: 'Asha' } },
      { to: '+2557002', variables: { name: 'A'.repeat(200) } },
    ]
    const json = { channel: 'sms', content: { text: 'x {{name}}' }, recipients }
    const { data } = (await world().call('POST', '/api/v1/messages/bulk', { key, json })).body
    const debits = []
    for (const { message_id } of data.messages) {
      const { body } = await timeline(message_id)
      const [debit] = body.data.timeline.filter(
        (entry: { kind: string }) => entry.kind === 'ledger',
      )
      debits.push(debit)
    }
    const debit = {
      at: data.created_at,
      kind: 'ledger',
      type: 'send',
      balance_after: await world().balance(owner),
      reference: { type: 'bulk', id: data.bulk_id },
    }
    expect(debits).toStrictEqual([
      { ...debit, credits: -1 },
      { ...debit, credits: -2 },
    ])
    await world().advance(0)
  })

  it('is 404 for an unknown message', async () => {
    for (const id of ['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'none']) {
      const { status, body } = await timeline(id)
      expect(status).toBe(404)
      expect(body).toStrictEqual(refusal('not_found', 'Message not found'))
    }
  })
})
