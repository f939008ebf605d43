import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, test } from 'node:test'
import { Svc } from '@svc/client'
import { post, startProgram, startService, until } from './programs.js'

const PHONE = '+15005550006'

let app
let live
let service

/** Makes a test key, as the README does. */
function testKey() {
  const args = ['keys', 'create', '--name', 'Login by code', '--mode', 'test', '--json']
  const env = { ...process.env, SVC_DATA_DIR: './service' }
  const printed = execFileSync('node_modules/.bin/svc', args, { env, encoding: 'utf8' })
  return JSON.parse(printed).key
}

const start = (key) =>
  startProgram(process.execPath, ['app.js'], { SVC_URL: service.url, SVC_API_KEY: key })

before(async () => {
  service = await startService()
  live = new Svc({ baseUrl: service.url, apiKey: service.api_key })
  app = await start(testKey())
})

const login = (phone) => post(`${app.url}/login`, { phone })
const sendCode = (login, code) => post(`${app.url}/login/code`, { login, code })

/** The code that the app prints for a number. */
async function codeFor(phone) {
  const line = await until(() => app.lines.find((one) => one.startsWith(`code for ${phone}: `)))
  return /\d{6}$/.exec(line)[0]
}

const another = (code) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

test('a code logs in once', async () => {
  const { status, body } = await login(PHONE)
  assert.equal(status, 202)
  const code = await codeFor(PHONE)
  assert.equal((await sendCode(body.login, another(code))).status, 401)
  const other = await login('+14155550100')
  if ((await codeFor('+14155550100')) !== code) {
    assert.equal((await sendCode(other.body.login, code)).status, 401)
  }
  assert.deepEqual(await sendCode(body.login, code), { status: 200, body: { phone: PHONE } })
  assert.equal((await sendCode(body.login, code)).status, 401)
})

test('the right code is refused after five wrong ones', async () => {
  const phone = '+14155550101'
  const { body } = await login(phone)
  const code = await codeFor(phone)
  for (let i = 0; i < 5; i++) {
    assert.equal((await sendCode(body.login, another(code))).status, 401)
  }
  assert.equal((await sendCode(body.login, code)).status, 401)
})

test('a number that asks twice gets one code', async () => {
  const phone = '+14155550102'
  const first = await login(phone)
  assert.deepEqual(await login(phone), first)
})

test('what is no number, no login or no code is refused', async () => {
  assert.equal((await login('0415 555 0100')).status, 400)
  assert.equal((await login({ toString: 'x' })).status, 400)
  assert.equal((await sendCode('x', '123456')).status, 401)
  assert.equal((await sendCode(undefined, '123456')).status, 401)
  const { body } = await login('+14155550103')
  assert.equal((await sendCode(body.login, 'no code')).status, 401)
})

test('with a live key, the app prints no code, and a suppressed number gets none', async () => {
  const sending = await start(service.api_key)
  const phone = '+14155550104'
  assert.equal((await post(`${sending.url}/login`, { phone: PHONE })).status, 202)
  await live.suppressions.add({ channel: 'sms', address: phone, reason: 'manual' })
  assert.equal((await post(`${sending.url}/login`, { phone })).status, 400)
  assert.equal(sending.lines.length, 1)
})

test('one client starts twenty logins in an hour', async () => {
  const limited = []
  for (let i = 0; i < 25; i++) limited.push((await login(`+141555502${10 + i}`)).status)
  assert.equal(limited.includes(429), true)
  assert.equal(limited[0], 202)
})
