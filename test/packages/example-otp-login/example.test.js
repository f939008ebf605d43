import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Svc } from '@svc/client'
import { createCodes } from './codes.js'
import { post, startProgram, startService } from './programs.js'

const PHONE = '+15005550006'
const SECRET = 's'.repeat(32)

let app
let svc

before(async () => {
  const { url, api_key } = await startService()
  svc = new Svc({ baseUrl: url, apiKey: api_key })
  const env = { SVC_URL: url, SVC_API_KEY: api_key, OTP_SECRET: SECRET }
  app = await startProgram(process.execPath, ['app.js'], env)
})

const login = (phone) => post(`${app.url}/login`, { phone })
const sendCode = (phone, code) => post(`${app.url}/login/code`, { phone, code })

/** The code in the newest SMS to a number. */
async function codeFor(recipient) {
  const { messages } = await svc.messages.list({ recipient })
  return /^\d{6}/.exec(messages[0].content.text)[0]
}

const another = (code) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

test('the code of the SMS logs in once', async () => {
  assert.deepEqual(await login(PHONE), { status: 202, body: { valid_s: 300 } })
  const code = await codeFor(PHONE)
  assert.equal((await sendCode(PHONE, another(code))).status, 401)
  assert.equal((await sendCode('+14155550100', code)).status, 401)
  assert.deepEqual(await sendCode(PHONE, code), { status: 200, body: { phone: PHONE } })
  assert.equal((await sendCode(PHONE, code)).status, 401)
})

test('the right code is refused after five wrong ones', async () => {
  const phone = '+14155550101'
  await login(phone)
  const code = await codeFor(phone)
  for (let i = 0; i < 5; i++) assert.equal((await sendCode(phone, another(code))).status, 401)
  assert.equal((await sendCode(phone, code)).status, 401)
})

test('a number gets three codes, and only the last one is valid', async () => {
  const phone = '+14155550102'
  await login(phone)
  const first = await codeFor(phone)
  await login(phone)
  await login(phone)
  assert.equal((await login(phone)).status, 429)
  const last = await codeFor(phone)
  if (first !== last) assert.equal((await sendCode(phone, first)).status, 401)
  assert.equal((await sendCode(phone, last)).status, 200)
})

test('an invalid number is refused by the app, or by the service', async () => {
  assert.equal((await login('0415 555 0100')).status, 400)
  assert.equal((await login({ toString: 'x' })).status, 400)
  const phone = '+14155550104'
  await svc.suppressions.add({ channel: 'sms', address: phone, reason: 'manual' })
  assert.equal((await login(phone)).status, 400)
})

test('a code expires, and a number gets new codes after the window', () => {
  let now = 0
  const codes = createCodes({ secret: SECRET, now: () => now })
  const code = codes.create(PHONE)
  now = 299_999
  codes.create('+14155550103')
  now = 300_000
  assert.equal(codes.use(PHONE, code), false)
  codes.create(PHONE)
  codes.create(PHONE)
  assert.equal(codes.create(PHONE), null)
  now = 900_000
  assert.equal(codes.use(PHONE, codes.create(PHONE)), true)
})

test('the app does not start with a short secret', () => {
  assert.throws(() => createCodes({ secret: 'short' }), /OTP_SECRET/)
})
