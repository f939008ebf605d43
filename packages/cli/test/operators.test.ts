import { createCore } from '@svc/core'
import type { Operator } from '@svc/core/operate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const here = { cwd: folder.path }
const database_url = `file:${folder.path}/data/svc.db`

beforeAll(async () => {
  await using core = await createCore({ database_url, threads: 0 })
  await core.ping()
})
afterAll(() => folder.remove())

interface Added {
  operator: Operator
  password?: string
}

const list = async () =>
  (await svcJson<{ operators: Operator[] }>(['operators', 'list'], here)).operators

async function signIn(name: string, password: string): Promise<string> {
  await using core = await createCore({ database_url, threads: 0 })
  return (await core.operators.signIn({ name, password })).token
}

async function nameOf(token: string): Promise<string | undefined> {
  await using core = await createCore({ database_url, threads: 0 })
  return (await core.operators.ofToken(token))?.name
}

describe('svc operators', () => {
  test('adds an operator with a generated password, which signs in', async () => {
    const { operator, password = '' } = await svcJson<Added>(
      ['operators', 'add', 'Ops@example.com', '--expires', '30d'],
      here,
    )
    expect(operator).toMatchObject({ name: 'Ops@example.com', last_sign_in_at: null })
    expect(password).toMatch(/^[\w-]{24}$/)
    expect(await nameOf(await signIn('ops@EXAMPLE.com', password))).toBe('Ops@example.com')
    expect(await list()).toEqual([
      expect.objectContaining({ name: 'Ops@example.com', last_sign_in_at: expect.any(String) }),
    ])
  })

  test('resets a password, which ends the sessions, and removes the operator', async () => {
    const piped = { ...here, stdin: 'a long password\n' }
    await svc(['operators', 'add', 'asha', '--password-stdin'], piped)
    const token = await signIn('asha', 'a long password')
    const { stdout } = await svc(['operators', 'reset', 'asha'], here)
    const [, password = ''] = /shown only now: (\S+)/.exec(stdout) ?? []
    expect(await nameOf(token)).toBeUndefined()
    const next = await signIn('asha', password)
    await svc(['operators', 'remove', 'ASHA', '--yes'], here)
    expect(await nameOf(next)).toBeUndefined()
    await expect(signIn('asha', password)).rejects.toThrow('Invalid name or password')
    const { audit_entries } = await svcJson<{ audit_entries: object[] }>(['audit'], here)
    expect(audit_entries.map((entry) => (entry as { action: string }).action)).toEqual([
      'operator.refused',
      'operator.removed',
      'operator.signed_in',
      'operator.reset',
      'operator.signed_in',
      'operator.added',
      'operator.signed_in',
      'operator.added',
    ])
    expect(JSON.stringify(audit_entries)).not.toContain(password)
  })

  test.each([
    [['add', 'ops@EXAMPLE.com'], 'There is an operator ops@EXAMPLE.com already'],
    [['add', ' '], 'name must have 1 to 254 characters'],
    [['add', 'new', '--ask', '--password-stdin'], 'choose one of --ask and --password-stdin'],
    [['reset', 'other'], 'Operator not found'],
    [['remove', 'other', '--yes'], 'Operator not found'],
  ])('refuses %j', async (argv, text) => {
    const { code, stderr } = await svc(['operators', ...argv], here)
    expect(code).not.toBe(0)
    expect(stderr).toContain(text)
  })

  test('refuses a password that is easy to guess', async () => {
    for (const stdin of ['password1\n', 'short\n', 'long-enough-name\n']) {
      const argv = ['operators', 'add', 'long-enough-name', '--password-stdin']
      expect((await svc(argv, { ...here, stdin })).stderr).toMatch(/Password must|most common/)
    }
  })
})
