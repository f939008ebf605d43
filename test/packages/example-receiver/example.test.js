import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Svc } from '@svc/client'
import { post, startProgram, startService, until } from './programs.js'

// The program itself: a signal to the script in `.bin` does not reach it.
const BUN = 'node_modules/bun/bin/bun.exe'

let svc
let webhook
let receiver

before(async () => {
  const { url, api_key } = await startService()
  svc = new Svc({ baseUrl: url, apiKey: api_key })
  webhook = (await svc.webhooks.create({ url: 'http://127.0.0.1:9/' })).webhook
  await startReceiver()
})

async function startReceiver() {
  receiver = await startProgram(BUN, ['receiver.ts'], { SVC_WEBHOOK_SECRET: webhook.secret })
  await svc.webhooks.update(webhook.id, { url: `${receiver.url}/hooks/svc` })
}

async function send(to) {
  const content = { text: 'Hello' }
  return (await svc.messages.send({ channel: 'sms', to, content })).message_id
}

const printed = (line) => until(() => receiver.lines.includes(line))

test('the receiver handles the events of messages', async () => {
  await printed(`${await send('+15005550006')} was delivered`)
  const id = await send('+15005550001')
  await until(() => receiver.lines.some((line) => line.startsWith(`${id} failed: `)))
})

test('a forged delivery is refused and not handled', async () => {
  const body = { event: 'message.delivered', data: { message_id: 'forged' } }
  const headers = { 'x-svc-signature': '0'.repeat(64) }
  assert.equal((await post(`${receiver.url}/hooks/svc`, body, headers)).status, 403)
  assert.ok(!receiver.lines.some((line) => line.includes('forged')))
})

test('a restarted receiver does not handle an event again', async () => {
  const { deliveries } = await svc.webhooks.deliveries(webhook.id)
  const { id } = deliveries.find(({ event }) => event === 'message.delivered')
  await receiver.stop()
  await startReceiver()
  await svc.webhooks.retry(webhook.id, id)
  const answered = await until(async () => {
    const { delivery } = await svc.webhooks.delivery(webhook.id, id)
    return delivery.attempts.length === 2 && delivery
  })
  const { response_status, response_body } = answered.attempts[1]
  assert.deepEqual([response_status, response_body], [200, '{"message":"handled before"}'])
  assert.deepEqual(receiver.lines, [receiver.url])
})
