// The core finds its migrations and its threads from any working folder.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createCore } from '@svc/core'
import { migrationStatus } from '@svc/core/operate'

// No user may write there, not even root.
const READ_ONLY = '/proc'

test('a core opens, sends and delivers from a folder that it may not write to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-elsewhere-'))
  if (existsSync(READ_ONLY)) {
    process.chdir(READ_ONLY)
    assert.throws(() => writeFileSync('svc-probe', ''))
  }
  const database_url = `file:${folder}/svc.db`
  const core = await createCore({ database_url, signup_credits: '1' })
  try {
    const dispatcher = await core.startDispatch()
    const workspace = await core.workspaces.signup({
      email: 'me@example.com',
      password: 'correct horse',
      company_name: 'Example',
    })
    const { key } = await core.apiKeys.create(workspace.id, {
      name: 'app',
      scopes: ['send_messages'],
      mode: 'live',
    })
    const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
    const { data } = await core.messages.send(identity, {
      channel: 'sms',
      to: '+15005550006',
      content: { text: 'Hello' },
    })
    await dispatcher.idle()
    const { status } = await core.messages.get(workspace.id, data.message_id)
    assert.equal(status, 'delivered')
    const { applied, pending } = await migrationStatus(database_url)
    assert.ok(applied.length > 0)
    assert.deepEqual(pending, [])
  } finally {
    await core.close()
    rmSync(folder, { recursive: true })
  }
})
