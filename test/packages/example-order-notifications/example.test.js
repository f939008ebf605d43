import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { before, test } from 'node:test'
import { Svc } from '@svc/client'
import { post, startProgram, startService, until } from './programs.js'

const NEXT = 'node_modules/next/dist/bin/next'
const EVENTS = ['message.sent', 'message.delivered', 'message.failed']

let app
let svc
let secret

before(async () => {
  process.env.NEXT_TELEMETRY_DISABLED = '1'
  execFileSync(process.execPath, [NEXT, 'build'], { stdio: 'inherit' })
  const { url, api_key } = await startService()
  svc = new Svc({ baseUrl: url, apiKey: api_key })
  const { webhook } = await svc.webhooks.create({ url: 'http://127.0.0.1:9/', events: EVENTS })
  secret = webhook.secret
  const env = { SVC_URL: url, SVC_API_KEY: api_key, SVC_WEBHOOK_SECRET: secret }
  app = await startProgram(process.execPath, [NEXT, 'start', '--port', '0'], env)
  await svc.webhooks.update(webhook.id, { url: `${app.url}/api/webhooks/svc` })
})

const ship = (id) => post(`${app.url}/api/orders/${id}/shipped`, {})

async function notificationOf(id) {
  const response = await fetch(`${app.url}/api/orders/${id}`)
  return (await response.json()).notification
}

/** Delivers an event to the app, signed with a secret. */
function deliver(event, key) {
  const body = JSON.stringify(event)
  const signature = createHmac('sha256', key).update(body).digest('hex')
  return post(`${app.url}/api/webhooks/svc`, body, { 'x-svc-signature': signature })
}

test('a shipped order sends one SMS, and the webhook reports its delivery', async () => {
  assert.equal(await notificationOf('A1'), 'none')
  const first = await ship('A1')
  assert.equal(first.status, 202)
  assert.deepEqual(await ship('A1'), first)
  const { messages } = await svc.messages.list()
  assert.deepEqual(
    messages.map(({ id, metadata }) => [id, metadata]),
    [[first.body.message_id, { order_id: 'A1' }]],
  )
  await until(async () => (await notificationOf('A1')) === 'delivered')
})

test('a failed SMS is reported too', async () => {
  await ship('A2')
  await until(async () => (await notificationOf('A2')) === 'failed')
})

test('forged and outdated events change nothing', async () => {
  const event = (status, sequence) => ({
    event: `message.${status}`,
    data: { status, sequence, metadata: { order_id: 'A1' } },
  })
  assert.equal((await deliver(event('failed', 99), 'whsec_wrong')).status, 403)
  assert.equal(await notificationOf('A1'), 'delivered')
  assert.equal((await deliver(event('sent', 1), secret)).status, 200)
  assert.equal(await notificationOf('A1'), 'delivered')
  assert.equal((await deliver(event('failed', 99), secret)).status, 200)
  assert.equal(await notificationOf('A1'), 'failed')
})

test('an unknown order is a 404', async () => {
  assert.equal((await ship('A9')).status, 404)
})
