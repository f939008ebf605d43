// The Next.js app of the guide, built by `next build`, serves the API below `/messaging`.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'

let app
let url
let key

before(async () => {
  assert.ok(!existsSync('svc.db'), 'the build opened the database')
  key = execFileSync(process.execPath, ['setup.js'], { encoding: 'utf8' }).trim()
  app = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: app.stdout })) {
    url = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(line)?.[0]
    if (url) break
  }
})

after(() => app.kill('SIGKILL'))

test('the API accepts a message, which is delivered', async () => {
  const path = `${url}/messaging/api/v1/messages`
  const response = await fetch(`${path}/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }),
  })
  assert.equal(response.status, 201, await response.clone().text())
  const { data } = await response.json()
  for (;;) {
    const stored = await fetch(`${path}/${data.message_id}`, { headers: { 'x-api-key': key } })
    if ((await stored.json()).data.message.status === 'delivered') break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})

test('unknown paths get the envelope of the API', async () => {
  const response = await fetch(`${url}/messaging/nowhere`)
  assert.equal(response.status, 404)
  assert.equal((await response.json()).error, 'not_found')
})
