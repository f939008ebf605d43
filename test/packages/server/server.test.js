import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig, startServer } from '@svc/server'
import { createReceiver } from '@svc/testkit'

test('a server that is started from a program serves the API, its documents and the console', async () => {
  const config = readConfig({
    SVC_DATABASE_URL: 'file:./server.db',
    PORT: '0',
    HOST: '127.0.0.1',
    SVC_SIGNUP_CREDITS: '10',
  })
  const server = await startServer({ config, dev: true, log_level: 'silent' })
  const receiver = await createReceiver({ secret: () => secret })
  let secret = ''
  try {
    for (const path of ['/health', '/docs', '/console', '/dev', '/openapi.json']) {
      const { status } = await fetch(new URL(path, server.url))
      assert.equal(status, 200, path)
    }
    const { core } = server
    const workspace = await core.workspaces.signup({
      email: 'me@example.com',
      password: 'correct horse',
      company_name: 'Example',
    })
    const { key } = await core.apiKeys.create(workspace.id, {
      name: 'app',
      scopes: ['send_messages', 'manage_webhooks'],
      mode: 'live',
    })
    const call = async (path, body) => {
      const response = await fetch(new URL(path, server.url), {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      assert.equal(response.status, 201, path)
      return (await response.json()).data
    }
    const hook = { url: receiver.url, events: ['message.delivered'] }
    secret = (await call('/api/v1/webhooks', hook)).webhook.secret
    const message = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }
    const { message_id } = await call('/api/v1/messages/send', message)
    const event = await receiver.waitFor('message.delivered', { timeout_ms: 20_000 })
    assert.equal(event.data.message_id, message_id)
  } finally {
    await receiver.close()
    await server.close()
  }
})
