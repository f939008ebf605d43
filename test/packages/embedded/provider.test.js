// The provider of the guide, as `acme.js` beside this file, in both placements.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { createCore } from '@svc/core'
import acme from './acme.js'

const requests = []
const peer = createServer(async (request, response) => {
  const { to } = JSON.parse(await text(request))
  requests.push({ to, key: request.headers.authorization })
  response.end(JSON.stringify({ id: `acme-${requests.length}` }))
}).listen(0, '127.0.0.1')
await once(peer, 'listening')
const settings = { url: `http://127.0.0.1:${peer.address().port}`, api_key: 'acme-key' }

after(() => {
  peer.close()
  peer.closeAllConnections()
})

const PLACES = {
  'a value': () => acme(settings),
  'a module': () => ({ module: new URL('./acme.js', import.meta.url), settings }),
}

for (const [name, provider] of Object.entries(PLACES)) {
  test(`a provider that is ${name} sends`, async () => {
    const database_url = `file:./provider-${name.replace(' ', '-')}.db`
    const core = await createCore({
      database_url,
      signup_credits: '10',
      providers: [provider()],
    })
    try {
      const identity = await identityOf(core)
      await core.startDispatch()
      const to = `+1415555010${requests.length}`
      const request = { channel: 'sms', to, content: { text: 'Hello' } }
      const { data } = await core.messages.send(identity, request)
      for (;;) {
        const message = await core.messages.get(identity.workspace_id, data.message_id)
        if (message.status === 'sent') break
        assert.equal(message.status, 'queued')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      assert.deepEqual(requests.at(-1), { to, key: 'Bearer acme-key' })
      assert.deepEqual(await core.providers.check('acme'), { type: 'unsupported' })
    } finally {
      await core.close()
    }
  })
}

test('an invalid provider is refused with its place', async () => {
  const providers = [acme(settings), { type: 'twilio', name: 'twilio', account_sid: 'x' }]
  await assert.rejects(createCore({ database_url: 'file:./refused.db', providers }), {
    message: /^providers\[1\]\.account_sid: /,
  })
})

async function identityOf(core) {
  const signup = { email: 'me@example.com', password: 'correct horse', company_name: 'Example' }
  const { id } = await core.workspaces.signup(signup)
  const { key } = await core.apiKeys.create(id, {
    name: 'app',
    scopes: ['send_messages'],
    mode: 'live',
  })
  return core.apiKeys.authenticate(key, '127.0.0.1')
}
