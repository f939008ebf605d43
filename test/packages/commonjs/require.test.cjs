// A CommonJS program requires every entry and gets the same classes as with `import`.
const assert = require('node:assert/strict')
const { test } = require('node:test')

for (const entry of ['@svc/core', '@svc/core/contract', '@svc/core/sms', '@svc/core/webhooks']) {
  test(`${entry} can be required, and equals its import`, async () => {
    const required = require(entry)
    const imported = await import(entry)
    assert.ok(Object.keys(required).length > 0)
    for (const [name, value] of Object.entries(imported)) assert.equal(required[name], value, name)
  })
}

test('the server can be required', () => {
  assert.equal(typeof require('@svc/server').startServer, 'function')
})

test('the testkit can be required', () => {
  const { fixture, sign } = require('@svc/testkit')
  const secret = `whsec_${'a'.repeat(32)}`
  assert.ok(sign(fixture('message.sent'), { secret }).headers['X-Svc-Signature'])
})

test('an error of the core is an instance of the class that the contract exports', async () => {
  const { createCore } = require('@svc/core')
  const { SvcError } = require('@svc/core/contract')
  const core = await createCore({ database_url: 'file:./required.db' })
  await assert.rejects(core.apiKeys.authenticate('svc_nonsense', '127.0.0.1'), SvcError)
  await core.close()
})
