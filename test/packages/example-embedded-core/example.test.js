import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, test } from 'node:test'
import { post, startProgram, until } from './programs.js'

const BOOKING = { id: 'B1', phone: '+15005550006', at: '7 p.m.' }

let app
let key

before(async () => {
  const env = { ...process.env, OPS_PASSWORD: 'correct horse' }
  key = execFileSync(process.execPath, ['setup.js'], { env, encoding: 'utf8' }).trim()
  app = await startProgram(process.execPath, ['app.js'], { SVC_API_KEY: key })
})

const book = (booking) => post(`${app.url}/bookings`, booking)

test('a booking sends one SMS, which is delivered', async () => {
  const first = await book(BOOKING)
  assert.equal(first.status, 201)
  assert.deepEqual(await book(BOOKING), first)
  const path = `${app.url}/bookings/messages/${first.body.message_id}`
  await until(async () => (await (await fetch(path)).json()).status === 'delivered')
})

test('the API below the prefix has the messages of the app', async () => {
  const path = `${app.url}/messaging/api/v1/messages`
  assert.equal((await fetch(path)).status, 401)
  const response = await fetch(path, { headers: { 'x-api-key': key } })
  const { data } = await response.json()
  assert.deepEqual(
    data.messages.map(({ metadata, content }) => [metadata, content]),
    [[{ booking_id: 'B1' }, { text: 'Your table is booked: 7 p.m.' }]],
  )
})

test('faulty bookings are refused, by the app or by the core', async () => {
  assert.equal((await book({ id: 'B2' })).status, 400)
  const { status, body } = await book({ ...BOOKING, id: 'B2', phone: 'no number' })
  assert.deepEqual([status, body.error], [400, 'validation_error'])
})

test('the app handles the event of a failed SMS', async () => {
  await book({ ...BOOKING, id: 'B3', phone: '+15005550001' })
  await until(() => app.lines.some((line) => line.startsWith('the SMS of booking B3 failed: ')))
})

test('the app ends cleanly on SIGTERM', async () => {
  assert.equal(await app.stop(), 0)
})
