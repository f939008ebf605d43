// Plays with the official package `twilio` against Twilio's door.
import assert from 'node:assert/strict'
import { api, check, end, load, openReceiver, refusal, scenario, until } from './checks.mjs'

const twilio = load(scenario.module)
const { service, limited } = scenario
const FROM = '+14155550190'
const TO = '+14155550100'
const HOUR_MS = 60 * 60_000
const UNKNOWN = `SM${'0'.repeat(32)}`
const PAGES_TO = '+14155550111'
/** A recipient of the sandbox that answers. */
const TALKATIVE = '+15005550008'

const client = clientOf(service)
const receiver = await openReceiver()

function clientOf(place, { key = place.key, ...options } = {}) {
  const made = twilio(place.account_sid, key, options)
  made.api.baseUrl = `${place.url}/compat/twilio`
  return made
}

const send = (more = {}) => client.messages.create({ to: TO, from: FROM, body: 'Hello', ...more })
const ended = (sid) =>
  until(
    () => client.messages(sid).fetch(),
    ({ status }) => !['queued', 'sending', 'sent'].includes(status),
    'an end of the message',
  )

/** The forms of deliveries with a right signature. */
function formsAt(path) {
  return receiver.at(path).flatMap(({ headers, body }) => {
    const form = Object.fromEntries(new URLSearchParams(body))
    const signature = headers['x-twilio-signature']
    return twilio.validateRequest(service.key, signature, receiver.url + path, form) ? [form] : []
  })
}

await check('send', async () => {
  const made = await send({ body: 'Grüße 👋' })
  assert.match(made.sid, /^SM[0-9a-f]{32}$/)
  assert.equal(made.body, 'Grüße 👋')
  assert.equal(made.accountSid, service.account_sid)
  assert.ok(made.dateCreated instanceof Date && !Number.isNaN(made.dateCreated.getTime()))
})

await check('written numbers, attempt, highest price', async () => {
  const made = await send({ to: '+1 (415) 555-0100', attempt: 1, maxPrice: 1 })
  assert.equal(made.to, TO)
  assert.equal((await refusal(send({ maxPrice: 0.5 }))).code, 30010)
})

await check('fetch', async () => {
  const { sid } = await send()
  const read = await ended(sid)
  assert.equal(read.status, 'delivered')
  assert.equal(read.price, '-1')
  assert.ok(read.dateSent instanceof Date)
})

await check('failed message', async () => {
  const read = await ended((await send({ to: '+15005550002' })).sid)
  assert.equal(read.status, 'failed')
  assert.equal(typeof read.errorCode, 'number')
})

await check('list with paging', async () => {
  for (let n = 0; n < 7; n++) await send({ to: PAGES_TO, body: `Message ${n}` })
  const all = await client.messages.list({ to: PAGES_TO, pageSize: 3 })
  assert.deepEqual(
    all.map(({ body }) => body),
    [6, 5, 4, 3, 2, 1, 0].map((n) => `Message ${n}`),
  )
  assert.equal((await client.messages.list({ to: PAGES_TO, limit: 4 })).length, 4)
})

await check('page and nextPage', async () => {
  const first = await client.messages.page({ to: PAGES_TO, pageSize: 4 })
  const second = await first.nextPage()
  assert.deepEqual([first.instances.length, second.instances.length], [4, 3])
  const again = await client.messages.getPage(first.nextPageUrl)
  assert.deepEqual(
    again.instances.map(({ sid }) => sid),
    second.instances.map(({ sid }) => sid),
  )
})

await check('each', async () => {
  const seen = await new Promise((resolve, reject) => {
    const sids = []
    client.messages.each(
      { to: PAGES_TO, pageSize: 2, done: (error) => (error ? reject(error) : resolve(sids)) },
      ({ sid }) => sids.push(sid),
    )
  })
  assert.equal(new Set(seen).size, 7)
})

await check('filter by date', async () => {
  const at = new Date(Date.now() - 48 * HOUR_MS)
  assert.equal((await client.messages.list({ to: PAGES_TO, dateSentAfter: at })).length, 7)
  assert.equal((await client.messages.list({ to: PAGES_TO, dateSentBefore: at })).length, 0)
  assert.equal((await client.messages.list({ to: PAGES_TO, dateSent: at })).length, 0)
})

await check('schedule and cancel', async () => {
  const sendAt = new Date(Date.now() + HOUR_MS)
  const messagingServiceSid = `MG${'0'.repeat(32)}`
  const schedule = { messagingServiceSid, scheduleType: 'fixed', sendAt }
  const made = await client.messages.create({ to: TO, body: 'Later', ...schedule })
  assert.equal(made.status, 'scheduled')
  const canceled = await client.messages(made.sid).update({ status: 'canceled' })
  assert.equal(canceled.status, 'canceled')
})

await check('redact and remove', async () => {
  const { sid } = await send({ body: 'Secret' })
  await ended(sid)
  assert.equal((await client.messages(sid).update({ body: '' })).body, '')
  assert.equal(await client.messages(sid).remove(), true)
  assert.equal((await refusal(client.messages(sid).fetch())).code, 20404)
})

await check('balance and account', async () => {
  assert.ok(Number((await client.balance.fetch()).balance) > 0)
  const account = await client.api.v2010.accounts(service.account_sid).fetch()
  assert.equal(account.status, 'active')
})

await check('errors', async () => {
  const reader = clientOf(service, { key: service.reader })
  const cases = [
    [() => send({ to: '12' }), 400, 21211],
    [() => send({ body: 'a'.repeat(1_601) }), 400, 21617],
    [() => send({ from: 'whatsapp:+14155550190' }), 400, 21606],
    [() => client.messages(UNKNOWN).fetch(), 404, 20404],
    [() => client.messages(UNKNOWN).remove(), 404, 20404],
    [() => clientOf(service, { key: 'wrong' }).messages.list(), 401, 20003],
    [() => reader.messages.create({ to: TO, from: FROM, body: 'Hi' }), 403, 20003],
  ]
  for (const [work, status, code] of cases) {
    const error = await refusal(work())
    assert.deepEqual([error.status, error.code], [status, code], error.message)
    assert.equal(error.moreInfo, `https://www.twilio.com/docs/errors/${code}`)
  }
})

await check('rate limit', async () => {
  const hasty = clientOf(limited)
  const results = await Promise.allSettled([1, 2, 3, 4, 5].map(() => hasty.balance.fetch()))
  const errors = results.flatMap(({ reason }) => (reason ? [reason] : []))
  assert.ok(errors.length > 0, 'no request was refused')
  for (const error of errors) assert.deepEqual([error.status, error.code], [429, 20429])
})

await check('retry after 429', async () => {
  const patient = clientOf(limited, { autoRetry: true, maxRetries: 30 })
  for (let n = 0; n < 6; n++) assert.equal((await patient.balance.fetch()).currency, 'XXX')
})

await check('status callbacks', async () => {
  const { sid } = await send({ statusCallback: `${receiver.url}/status?order=1` })
  const forms = await until(
    () => formsAt('/status?order=1'),
    ({ length }) => length >= 2,
    'two callbacks',
  )
  assert.deepEqual(forms.map(({ MessageStatus }) => MessageStatus).sort(), ['delivered', 'sent'])
  for (const form of forms) assert.equal(form.MessageSid, sid)
})

await check('repeated callback', async () => {
  const path = '/fails-once'
  await send({ statusCallback: receiver.url + path })
  await until(
    () => formsAt(path),
    ({ length }) => length >= 3,
    'three callbacks',
  )
  const bodies = receiver.at(path).map(({ body }) => body)
  assert.equal(new Set(bodies).size, 2)
})

await check('received message', async () => {
  const path = '/inbound'
  const url = receiver.url + path
  const events = ['message.received']
  await api('POST', 'webhooks', { url, format: 'twilio', api_key_id: service.key_id, events })
  await send({ to: TALKATIVE })
  const [form] = await until(
    () => formsAt(path),
    ({ length }) => length > 0,
    'a received message',
  )
  assert.deepEqual([form.From, form.Body, form.To], [TALKATIVE, 'Thank you!', FROM])
  assert.equal((await client.messages(form.MessageSid).fetch()).direction, 'inbound')
})

await check('validator', async () => {
  const [{ headers, body }] = receiver.at('/inbound')
  const signature = headers['x-twilio-signature']
  const form = Object.fromEntries(new URLSearchParams(body))
  const url = `${receiver.url}/inbound`
  assert.equal(twilio.validateRequest(service.key, signature, url, form), true)
  const changed = { ...form, Body: 'Changed' }
  assert.equal(twilio.validateRequest(service.key, signature, url, changed), false)
  assert.equal(twilio.validateRequest(service.key, signature, `${url}/other`, form), false)
  assert.equal(twilio.validateRequest(service.reader, signature, url, form), false)
})

await check('reply in TwiML', async () => {
  const path = '/replies'
  const events = ['message.received']
  const url = receiver.url + path
  await api('POST', 'webhooks', { url, format: 'twilio', api_key_id: service.key_id, events })
  await send({ to: TALKATIVE })
  const replies = await until(
    async () =>
      (await client.messages.list({ to: TALKATIVE })).filter(
        ({ body }) => body === 'Automatic reply',
      ),
    ({ length }) => length > 0,
    'a reply',
  )
  assert.equal(replies.length, 1)
  assert.equal(replies[0].from, FROM)
})

await check('call with callbacks', async () => {
  const path = '/call'
  const call = {
    to: TO,
    from: FROM,
    twiml: '<Response><Say>Hello</Say></Response>',
    statusCallback: receiver.url + path,
    statusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
  }
  const { sid } = await client.calls.create(call)
  assert.match(sid, /^CA[0-9a-f]{32}$/)
  const forms = await until(
    () => formsAt(path),
    ({ length }) => length >= 2,
    'two callbacks',
  )
  forms.sort((a, b) => a.SequenceNumber - b.SequenceNumber)
  assert.deepEqual(
    forms.map(({ CallStatus }) => CallStatus),
    ['initiated', 'completed'],
  )
  for (const { CallSid } of forms) assert.equal(CallSid, sid)
  assert.equal((await client.calls(sid).fetch()).status, 'completed')
})

await check('call with a URL, list of calls', async () => {
  const path = '/twiml'
  const call = { to: TO, from: FROM, url: receiver.url + path, machineDetection: 'Enable' }
  const { sid } = await client.calls.create(call)
  assert.equal(formsAt(path).length, 1)
  assert.ok((await client.calls.list({ to: TO, pageSize: 1 })).some((one) => one.sid === sid))
  assert.deepEqual(await client.calls.list({ to: TO, status: 'ringing' }), [])
})

await check('list of numbers', async () => {
  const numbers = await client.incomingPhoneNumbers.list()
  for (const { phoneNumber, sid } of numbers) {
    assert.match(sid, /^PN[0-9a-f]{32}$/)
    assert.match(phoneNumber, /^\+\d+$/)
  }
})

await check('look-up of a number', async () => {
  client.lookups.baseUrl = `${service.url}/compat/twilio`
  const found = await client.lookups.v2.phoneNumbers('+14159929960').fetch()
  assert.equal(found.valid, true)
  assert.equal(found.nationalFormat, '(415) 992-9960')
  const packages = client.lookups.v2.phoneNumbers('+14159929960').fetch({ fields: 'sim_swap' })
  assert.equal((await refusal(packages)).code, 20001)
})

receiver.close()
end()
