import { createCore } from '@svc/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const ASHA = '+255700000009'
const folder = newFolder()
const here = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '10' } }
const nothing = { messages: 0, queued: 0, contacts: 0 }

async function withCore<T>(work: (core: Awaited<ReturnType<typeof createCore>>) => Promise<T>) {
  const core = await createCore({ database_url: `file:${folder.path}/data/svc.db` })
  try {
    return await work(core)
  } finally {
    await core.close()
  }
}

let workspaceId = ''

beforeAll(async () => {
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
  const { stdout } = await svc([...argv, '--password-stdin', '--json'], {
    ...here,
    stdin: 'correct horse battery\n',
  })
  workspaceId = JSON.parse(stdout).workspace.id
  const made = await svcJson<{ key: string }>(
    ['keys', 'create', '--name', 'main', '--scopes', 'send_messages'],
    here,
  )
  await withCore(async (core) => {
    const identity = await core.apiKeys.authenticate(made.key, '127.0.0.1')
    await core.messages.send(identity, { channel: 'sms', to: ASHA, content: { text: 'Hi Asha' } })
    await core.contacts.create(workspaceId, { phone: ASHA, email: 'asha@example.com' } as never)
  })
})

afterAll(() => folder.remove())

test('shows the data and changes nothing with --dry-run', async () => {
  const { code, stdout, stderr } = await svc(['recipients', 'erase', ASHA, '--dry-run'], here)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^waiting to be sent\s+1$/m)
  expect(stdout).toMatch(/^contacts\s+1$/m)
  expect(stderr).toContain('Its contact also has asha@example.com')
  const { code: again, stdout: json } = await svc(
    ['recipients', 'erase', ASHA, '--dry-run', '--json'],
    here,
  )
  expect(again).toBe(0)
  expect(JSON.parse(json)).toMatchObject({ address: ASHA, queued: 1, contacts: 1 })
})

test('changes nothing without a confirmation', async () => {
  const { code, stderr } = await svc(['recipients', 'erase', ASHA], here)
  expect(code).toBe(2)
  expect(stderr).toContain('svc: stdin is not a terminal: add --yes\n')
  expect(await svcJson(['recipients', 'erase', ASHA, '--dry-run'], here)).toMatchObject({
    queued: 1,
  })
})

test('erases, refunds credits, and finds nothing the second time', async () => {
  const done = await svc(['recipients', 'erase', ASHA, '--yes'], here)
  expect(done).toMatchObject({ code: 0 })
  expect(done.stdout).toContain('Erased. Canceled and refunded: 1.')
  await withCore(async (core) => {
    const { messages } = await core.messages.list(workspaceId, { page: 1, limit: 10 } as never)
    expect(messages).toMatchObject([{ recipient: 'erased', content: {}, error_code: 'canceled' }])
    expect((await core.workspaces.account(workspaceId)).credits_balance).toBe(10_000_000)
  })
  const again = await svc(['recipients', 'erase', ASHA, '--yes'], here)
  expect(again.code).toBe(0)
  expect(again.stderr).toContain('No data to erase.')
  expect(await svcJson(['recipients', 'erase', ASHA, '--yes'], here)).toMatchObject(nothing)
})

test.each([
  ['an invalid address', ['asha'], 'The address must be a phone number', 1],
  ['an unknown workspace', [ASHA, '--workspace', 'x@example.com'], 'there is no workspace', 1],
])('refuses %s', async (_, argv, text, code) => {
  const ended = await svc(['recipients', 'erase', ...argv, '--yes'], here)
  expect(ended.code).toBe(code)
  expect(ended.stderr).toContain(text)
  expect(ended.stderr).not.toContain('    at ')
})
