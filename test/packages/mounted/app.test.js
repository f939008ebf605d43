// The program of the guide, as `app.js` beside this file, serves the API below `/messaging`.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'

let app
let url
let key

before(async () => {
  key = execFileSync(process.execPath, ['setup.js'], { encoding: 'utf8' }).trim()
  app = spawn(process.execPath, ['app.js'], {
    env: { ...process.env, PORT: '0', PUBLIC_URL: 'https://app.example.com/messaging' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: app.stdout }), 'line')
  url = `${line}/messaging`
})

after(() => app.kill('SIGKILL'))

const sms = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }

function send(headers, body = sms) {
  return fetch(`${url}/api/v1/messages/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

test('the API accepts a message, which is delivered', async () => {
  const response = await send({ 'x-api-key': key })
  assert.equal(response.status, 201)
  assert.ok(response.headers.get('x-request-id'))
  const { data } = await response.json()
  for (;;) {
    const path = `${url}/api/v1/messages/${data.message_id}`
    const stored = await (await fetch(path, { headers: { 'x-api-key': key } })).json()
    if (stored.data.message.status === 'delivered') break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})

test('refusals have the envelope of the API, also for unknown paths', async () => {
  const refused = [
    await send({}),
    await send({ 'x-api-key': key }, {}),
    await fetch(`${url}/nowhere`),
  ]
  assert.deepEqual(
    await Promise.all(refused.map(async (one) => [one.status, (await one.json()).error])),
    [
      [401, 'unauthorized'],
      [400, 'validation_error'],
      [404, 'not_found'],
    ],
  )
})

test('the reference is served below the prefix', async () => {
  assert.match(await (await fetch(`${url}/docs`)).text(), /docs\/docs\.css/)
  assert.equal((await fetch(`${url}/docs/docs.css`)).status, 200)
  const { servers } = await (await fetch(`${url}/openapi.json`)).json()
  assert.deepEqual(servers, [{ url: 'https://app.example.com/messaging' }])
})

test('the program ends cleanly on SIGTERM', async () => {
  const ended = once(app, 'exit')
  app.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})
