import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { post, startProgram, startService, until } from './programs.js'

let app

before(async () => {
  const { url, api_key, twilio_account_sid } = await startService()
  app = await startProgram(process.execPath, ['app.js'], {
    TWILIO_ACCOUNT_SID: twilio_account_sid,
    TWILIO_AUTH_TOKEN: api_key,
    TWILIO_BASE_URL: `${url}/compat/twilio`,
  })
})

test('an SMS is sent, and its statuses are called back with a signature', async () => {
  const { status, body } = await post(`${app.url}/orders`, { order: 'A1', to: '+15005550006' })
  assert.equal(status, 202)
  const order = await until(async () => {
    const read = await (await fetch(`${app.url}/orders/${body.sid}`)).json()
    return read.callbacks.length >= 2 && read
  })
  assert.equal(order.status, 'delivered')
  assert.deepEqual(order.callbacks.toSorted(), ['delivered', 'sent'])
})

test('a forged callback is refused', async () => {
  const answer = await fetch(`${app.url}/status`, {
    method: 'POST',
    headers: { 'x-twilio-signature': 'forged' },
    body: new URLSearchParams({ MessageSid: 'SM1', MessageStatus: 'read' }),
  })
  assert.equal(answer.status, 403)
})

test('a wrong number is refused with the error of Twilio', async () => {
  const { status, body } = await post(`${app.url}/orders`, { order: 'A1', to: '123' })
  assert.deepEqual([status, body.code], [400, 21211])
})
