import { createHmac } from 'node:crypto'
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

/** The current code of an authenticator app (RFC 6238). */
function codeOf(secret: string): string {
  const bits = [...secret]
    .map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 0x0f) & 0x7fff_ffff
  return String(number % 1_000_000).padStart(6, '0')
}

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
    [['end-sessions', EMAIL], 'add --yes'],
    [['end-sessions', 'other@example.com', '--yes'], 'the workspace has no'],
    [['remove', 'other@example.com', '--yes'], 'the workspace has no member other@example.com'],
  ])('refuses %j', async (argv, text) => {
    const { code, stderr } = await svc(['members', ...argv], here)
    expect(code).not.toBe(0)
    expect(stderr).toContain(text)
  })

  test('ends the sessions of a member and of the owner, with the operator in the audit log', async () => {
    for (const { id, email } of await members()) {
      const { stdout } = await svc(['members', 'end-sessions', email, '--yes'], here)
      expect(stdout).toBe(`All sessions of ${email} ended.\n`)
      const { audit_entries } = await svcJson<{ audit_entries: object[] }>(
        ['audit', '--action', 'sessions.ended'],
        here,
      )
      expect(audit_entries[0]).toMatchObject({ actor: { kind: 'operator' }, target: { id } })
    }
  })

  test('removes a second factor that was lost', async () => {
    await using core = await createCore({
      database_url: `file:${folder.path}/data/svc.db`,
      threads: 0,
    })
    const [, member] = await members()
    const id = member?.id ?? ''
    const { secret } = await core.members.beginTotp(id, { current_password: 'a long password' })
    const login = { user_id: id, workspace_id: (await members())[0]?.id ?? '' }
    await core.members.confirmTotp(login, codeOf(secret))
    const credentials = { email: EMAIL, password: 'a long password' }
    await expect(core.workspaces.login(credentials)).rejects.toThrow('Enter the code')
    const argv = ['members', 'reset-second-factor', EMAIL, '--yes']
    const { stdout } = await svc(argv, here)
    expect(stdout).toBe(`${EMAIL} signs in with the password only; the sessions ended.\n`)
    expect(await core.workspaces.login(credentials)).toMatchObject({ user_id: id })
    const again = await svc(argv, here)
    expect([again.code === 0, again.stderr]).toEqual([
      false,
      expect.stringContaining('The login has no second factor'),
    ])
  })

  test('removes a member', async () => {
    const { stdout } = await svc(['members', 'remove', EMAIL, '--yes'], here)
    expect(stdout).toBe('Asha@example.com is no member any more.\n')
    expect(await members()).toHaveLength(1)
  })
})
