import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReceiver, createTestService } from '@svc/testkit'

test('a service with a simulated clock sends, retries and delivers', async () => {
  const service = await createTestService()
  let secret = ''
  const receiver = await createReceiver({ secret: () => secret, now: service.now, script: [500] })
  try {
    secret = (await service.webhook(receiver.url)).secret
    await service.call('POST', '/api/v1/messages/send', {
      to: '+14155552671',
      channel: 'sms',
      content: { text: 'Hi' },
    })
    await service.advance(10_000)
    const [message] = await service.sent()
    assert.equal(message.status, 'delivered')
    assert.ok(receiver.deliveries.some(({ attempts }) => attempts.length === 2))
  } finally {
    await service.close()
    await receiver.close()
  }
})
