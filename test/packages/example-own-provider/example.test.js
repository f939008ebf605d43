import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { signed, startAcme } from './peer.js'
import { post, startProgram, until } from './programs.js'

const LOGIN = { email: 'ops@example.com', password: 'correct horse' }

let acme
let app
let headers

before(async () => {
  acme = await startAcme({ api_key: 'acme-key' })
  app = await startProgram(process.execPath, ['app.js'], {
    ACME_URL: acme.url,
    ACME_API_KEY: 'acme-key',
    ACME_REPORT_SECRET: 'acme-report-secret',
    ACME_SENDER: '+14155550190',
  })
  await post(`${app.url}/api/v1/auth/signup`, { ...LOGIN, company_name: 'Example' })
  const { body } = await post(`${app.url}/api/v1/auth/login`, LOGIN)
  headers = { authorization: `Bearer ${body.data.token}` }
})

/** Sends an SMS through the service, and returns it as Acme got it, with its id in the service. */
async function send(to) {
  const key = await apiKey()
  const message = { channel: 'sms', to, content: { text: 'Hello' } }
  const sent = await post(`${app.url}/api/v1/messages/send`, message, { 'x-api-key': key })
  assert.equal(sent.status, 201)
  const got = await until(() => acme.messages.find((one) => one.to === to))
  return { ...got, message_id: sent.body.data.message_id, key }
}

async function apiKey() {
  const request = { name: 'app', scopes: ['send_messages', 'read_messages'] }
  const { body } = await post(`${app.url}/api/v1/api-keys`, request, headers)
  return body.data.key
}

/** Reports a message as Acme does, signed with a secret. */
function report({ reference, id, report_url }, status, secret) {
  const body = JSON.stringify({ reference, id, status })
  const { pathname } = new URL(report_url)
  return post(new URL(pathname, app.url), body, signed(body, secret))
}

async function statusOf({ message_id, key }) {
  const path = `${app.url}/api/v1/messages/${message_id}`
  const response = await fetch(path, { headers: { 'x-api-key': key } })
  return (await response.json()).data.message.status
}

test('a message goes to Acme, and its report sets the status', async () => {
  const message = await send('+14155550100')
  assert.deepEqual([message.from, message.text], ['+14155550190', 'Hello'])
  assert.equal(message.identity, message.message_id)
  await until(async () => (await statusOf(message)) === 'sent')
  assert.equal((await report(message, 'failed', 'another-secret')).status, 403)
  assert.equal(await statusOf(message), 'sent')
  assert.equal((await report(message, 'delivered', 'acme-report-secret')).status, 200)
  await until(async () => (await statusOf(message)) === 'delivered')
})

test('a failed message is reported with its error', async () => {
  const message = await send('+14155550101')
  await until(async () => (await statusOf(message)) === 'sent')
  await report(message, 'failed', 'acme-report-secret')
  await until(async () => (await statusOf(message)) === 'failed')
})

test('the service ends cleanly on SIGTERM', async () => {
  acme.stop()
  assert.equal(await app.stop(), 0)
})
