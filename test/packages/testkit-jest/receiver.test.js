import { expect, test } from '@jest/globals'
import { createReceiver, createSender, fixture, sign } from '@svc/testkit'

const secret = `whsec_${'a'.repeat(32)}`

test('the matchers check received events', async () => {
  const receiver = await createReceiver({ secret })
  await createSender({ secret }).deliver(receiver.url, fixture('message.failed'))
  expect(receiver).toHaveReceivedEvent('message.failed')
  expect(receiver).not.toHaveReceivedEvent('message.sent')
  expect(() => expect(receiver).toHaveReceivedEvent('message.sent')).toThrow(/message\.sent/)
  await receiver.close()
})

test('the matchers check signatures', async () => {
  const { headers, body } = sign(fixture('message.sent'), { secret })
  expect({ headers, body }).toBeSignedBy(secret)
  expect({ headers, body }).not.toBeSignedBy(`whsec_${'b'.repeat(32)}`)
})

test('a receiver rejects forgeries', async () => {
  const receiver = await createReceiver({ secret })
  await expect(receiver.url).toRejectForgery({ secret })
  await receiver.close()
})
