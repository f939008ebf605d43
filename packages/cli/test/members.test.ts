import { createCore } from '@svc/core'
import type { Member } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const here = { cwd: folder.path }
const EMAIL = 'Asha@example.com'

beforeAll(async () => {
  await using core = await createCore({
    database_url: `file:${folder.path}/data/svc.db`,
    threads: 0,
  })
  const owner = { email: 'ops@example.com', password: 'long enough', company_name: 'Example' }
  const { id } = await core.workspaces.create(owner)
  await core.members.invite(id, { email: EMAIL, role: 'admin' })
  await core.mails.idle()
  const token = new URL(core.mails.list()[0]?.link ?? '').searchParams.get('token') ?? ''
  await core.members.accept({ token, password: 'a long password', name: 'Asha' })
})
afterAll(() => folder.remove())

const members = async () =>
  (await svcJson<{ members: Member[] }>(['members', 'list'], here)).members

describe('svc members', () => {
  test('lists the owner and the members', async () => {
    expect(await members()).toEqual([
      expect.objectContaining({ email: 'ops@example.com', role: 'owner', name: null }),
      expect.objectContaining({ email: 'Asha@example.com', role: 'admin', name: 'Asha' }),
    ])
    const { stdout } = await svc(['members', 'list'], here)
    expect(stdout).toMatch(/\tAsha@example.com\tadmin\tAsha$/m)
  })

  test('changes a role, with the operator in the audit log', async () => {
    const { stdout } = await svc(['members', 'role', 'asha@EXAMPLE.com', 'viewer'], here)
    expect(stdout).toBe('Asha@example.com has the role viewer.\n')
    expect((await members())[1]?.role).toBe('viewer')
    const { audit_entries } = await svcJson<{ audit_entries: object[] }>(
      ['audit', '--action', 'member.changed'],
      here,
    )
    expect(audit_entries[0]).toMatchObject({ actor: { kind: 'operator' } })
  })

  test.each([
    [['role', EMAIL, 'owner'], 'role must be one of: admin, developer, billing, viewer'],
    [['role', 'ops@example.com', 'viewer'], 'The owner keeps the role'],
    [['remove', 'ops@example.com', '--yes'], 'The owner keeps the role'],
    [['remove', 'other@example.com', '--yes'], 'the workspace has no member other@example.com'],
  ])('refuses %j', async (argv, text) => {
    const { code, stderr } = await svc(['members', ...argv], here)
    expect(code).not.toBe(0)
    expect(stderr).toContain(text)
  })

  test('removes a member', async () => {
    const { stdout } = await svc(['members', 'remove', EMAIL, '--yes'], here)
    expect(stdout).toBe('Asha@example.com is no member any more.\n')
    expect(await members()).toHaveLength(1)
  })
})
