import { expect, it } from 'vitest'
import { useWorld } from './world.ts'

const world = useWorld({ console: {}, log_level: 'warn' })

const FROM = '203.0.113.9'

const refused = async (workspaceId: string) => {
  const all = await world().core.audit.ofAll({}, { limit: 100, offset: 0 })
  return all
    .filter(({ action }) => action.endsWith('.refused'))
    .filter(({ workspace_id }) => workspace_id === (workspaceId || null))
    .map(({ action, address, target, details }) => ({ action, address, target, details }))
}

async function login(email: string, password: string, otp?: string): Promise<number> {
  const json = { email, password, ...(otp && { otp }) }
  return (await world().call('POST', '/api/v1/auth/login', { json, from: FROM })).status
}

it('has the client and the account of a wrong password, in the audit log and the log', async () => {
  const owner = await world().signup()
  expect(await login(owner.email, 'not the password')).toBe(401)
  const target = { type: 'login', id: owner.id }
  expect(await refused(owner.id)).toEqual([
    { action: 'session.refused', address: FROM, target, details: { reason: 'password' } },
  ])
  const line = world().lines.find(({ msg }) => msg === 'a sign-in was refused')
  expect(line).toMatchObject({ login: owner.id, address: FROM, reason: 'password' })
  expect(await login(owner.email, owner.password)).toBe(200)
  expect(await refused(owner.id)).toHaveLength(1)
})

it('has a keyed hash of a name without an account, and no secret', async () => {
  const name = 'my-password-by-mistake@example.com'
  for (const one of [name, name.toUpperCase(), 'other@example.com']) {
    expect(await login(one, 'a secret of a stranger')).toBe(401)
  }
  const found = await refused('')
  const ids = found.map(({ target }) => target?.id)
  expect(found.map(({ target }) => target?.type)).toEqual(Array(3).fill('unknown_login'))
  expect(new Set(ids).size).toBe(2)
  const text = JSON.stringify([found, world().lines])
  expect(text).not.toMatch(/by-mistake|secret of a stranger/i)
})

it('has those of operators', async () => {
  await world().core.operators.add({ name: 'asha', password: 'a long password of Asha' })
  const signIn = (name: string) =>
    world()
      .core.operators.signIn({ name, password: 'wrong password' })
      .catch(() => null)
  await signIn('asha')
  await signIn('unknown-name')
  const own = (await refused('')).filter(({ action }) => action === 'operator.refused')
  expect(own.map(({ target }) => target?.type).sort()).toEqual(['operator', 'unknown_operator'])
  expect(own.find(({ target }) => target?.type === 'operator')?.target?.id).toBe('asha')
  expect(JSON.stringify(own)).not.toContain('unknown-name')
})
