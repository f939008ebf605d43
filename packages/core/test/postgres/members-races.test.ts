import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Core, createCore } from '../../src/core.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'

const password = 'a long password'
const ROUNDS = 10

let database: TestDatabase
/** Two servers on one database. */
let servers: [Core, Core]
let workspaceId: string
beforeAll(async () => {
  database = await createDatabase()
  const open = () => createCore({ database_url: database.url, threads: 0 })
  servers = [await open(), await open()]
  const owner = { email: 'owner@example.com', password, company_name: 'Example' }
  workspaceId = (await servers[0].workspaces.create(owner)).id
})
afterAll(async () => {
  for (const server of servers ?? []) await server.close()
  await database?.drop()
})

async function invited(email: string): Promise<string> {
  const [core] = servers
  await core.members.invite(workspaceId, { email, role: 'viewer' })
  await core.mails.idle()
  const link = core.mails.list().find((mail) => mail.to === email)?.link ?? ''
  return new URL(link).searchParams.get('token') ?? ''
}

describe('on two servers', () => {
  it('a signup and an acceptance with one address make one login', async () => {
    const [first, second] = servers
    for (let i = 0; i < ROUNDS; i++) {
      const email = `person${i}@example.com`
      const token = await invited(email)
      const outcomes = await Promise.allSettled([
        first.members.accept({ token, password }),
        second.workspaces.signup({ email, password, company_name: 'New' }),
      ])
      const done = outcomes.filter(({ status }) => status === 'fulfilled')
      expect(done).toHaveLength(1)
      const { workspace_id } = await first.workspaces.login({ email, password })
      expect(workspace_id === workspaceId).toBe(outcomes[0].status === 'fulfilled')
    }
  })

  it('a member who leaves two workspaces at the same time leaves no login behind', async () => {
    const [first, second] = servers
    for (let i = 0; i < ROUNDS; i++) {
      const email = `leaver${i}@example.com`
      const owner = { email: `other${i}@example.com`, password, company_name: 'Other' }
      const other = await first.workspaces.create(owner)
      const { user_id } = await first.members.accept({ token: await invited(email), password })
      await first.members.invite(other.id, { email, role: 'admin' })
      await first.mails.idle()
      const link = first.mails.list()[0]?.link ?? ''
      const token = new URL(link).searchParams.get('token') ?? ''
      await first.members.accept({ token, password })
      await Promise.all([
        first.members.remove(workspaceId, user_id),
        second.members.remove(other.id, user_id),
      ])
      const signup = { email, password, company_name: 'New' }
      expect((await first.workspaces.signup(signup)).email).toBe(email)
    }
  })
})
