import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSender, fixture, verify, webhookHandler } from '@svc/testkit'

const secret = `whsec_${'a'.repeat(32)}`

test('a receiver with the handler accepts genuine deliveries and refuses others', async () => {
  const seen = []
  const handler = webhookHandler({
    secret,
    on: { 'message.failed': (event) => void seen.push(event.data.error_code) },
  })
  const event = fixture('message.failed', { error_code: 'undelivered' })
  const sender = createSender({ secret })
  const report = await sender.deliver(handler.fetch, event)
  assert.equal(report.outcome, 'delivered')
  assert.deepEqual(seen, ['undelivered'])
  const forged = await sender.forge(handler.fetch, event, 'flipped_byte')
  assert.equal(forged.status, 403)
})

test('a failed verification has a reason', () => {
  const { ok } = verify({ secret, headers: {}, body: '{}' })
  assert.equal(ok, false)
})
