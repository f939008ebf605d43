// The program of the guide, as `app.js` beside this file, in the way that a reader runs it.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'

let app
let url

before(async () => {
  const key = execFileSync(process.execPath, ['setup.js'], { encoding: 'utf8' }).trim()
  app = spawn(process.execPath, ['app.js'], {
    env: { ...process.env, SVC_API_KEY: key, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: app.stdout }), 'line')
  url = line
})

after(() => app.kill('SIGKILL'))

async function send(body) {
  const response = await fetch(`${url}/notifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

async function untilAtItsEnd(id) {
  for (;;) {
    const { status } = await (await fetch(`${url}/notifications/${id}`)).json()
    if (status === 'delivered' || status === 'failed') return status
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('a message that the app sends is delivered', async () => {
  const { status, body } = await send({
    channel: 'sms',
    to: '+15005550006',
    content: { text: 'Hello' },
  })
  assert.equal(status, 201)
  assert.equal(await untilAtItsEnd(body.id), 'delivered')
})

test('a message to an unreachable recipient fails', async () => {
  const { body } = await send({ channel: 'sms', to: '+15005550001', content: { text: 'Hello' } })
  assert.equal(await untilAtItsEnd(body.id), 'failed')
})

test('an invalid request is answered with its faults', async () => {
  const { status, body } = await send({
    channel: 'sms',
    to: 'no number',
    content: { text: 'Hello' },
  })
  assert.equal(status, 400)
  assert.equal(body.error, 'validation_error')
})

test('the app ends cleanly on SIGTERM', async () => {
  const ended = once(app, 'exit')
  app.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})
