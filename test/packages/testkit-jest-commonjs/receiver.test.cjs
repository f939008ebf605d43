// A CommonJS program, whose modules jest requires without any option of Node.
const { Svc } = require('@svc/client')
const { createReceiver, createSender, fixture, sign } = require('@svc/testkit')
const { providerCases } = require('@svc/testkit/provider')

const secret = `whsec_${'a'.repeat(32)}`

test('the matchers check received events', async () => {
  const receiver = await createReceiver({ secret })
  await createSender({ secret }).deliver(receiver.url, fixture('message.failed'))
  expect(receiver).toHaveReceivedEvent('message.failed')
  expect(receiver).not.toHaveReceivedEvent('message.sent')
  await receiver.close()
})

test('the matchers check signatures', () => {
  const { headers, body } = sign(fixture('message.sent'), { secret })
  expect({ headers, body }).toBeSignedBy(secret)
})

test('the other modules can be required', () => {
  expect(typeof Svc).toBe('function')
  expect(typeof providerCases).toBe('function')
})
