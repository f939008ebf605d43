import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
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

/** How many transactions of this database wait for a lock. */
async function waiting(client: pg.Client): Promise<number> {
  // In a transaction, PostgreSQL shows the sessions that it showed first.
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0].n
}

/**
 * Runs two transactions side by side: both begin, the first one first, and neither can end before both wait for a lock. Each
 * writes to the audit log, which is locked until then.
 */
async function sideBySide(first: () => Promise<unknown>, second: () => Promise<unknown>) {
  const client = await database.connect()
  await client.query('begin; lock table audit_entries in share row exclusive mode')
  const one = Promise.allSettled([first()])
  await vi.waitUntil(async () => (await waiting(client)) === 1, { timeout: 10_000 })
  const other = Promise.allSettled([second()])
  await vi.waitUntil(async () => (await waiting(client)) === 2, { timeout: 10_000 })
  await client.query('commit')
  return [...(await one), ...(await other)].map(({ status }) => status)
}

describe('on two servers', () => {
  const signup = (email: string) => () =>
    servers[1].workspaces.signup({ email, password, company_name: 'New' })

  const makers = {
    'an acceptance': async (email: string) => {
      const token = await invited(email)
      return () => servers[0].members.accept({ token, password })
    },
    'a sign-in with a role': async (email: string) => () =>
      servers[0].members.signIn({
        issuer: 'https://login.example.com',
        subject: email,
        verified_email: email,
        name: null,
        assigned: { workspace_id: workspaceId, role: 'viewer' },
      }),
  }

  it.each(Object.entries(makers))(
    'a signup and %s with one address make one login',
    async (name, maker) => {
      const email = `signup.before.${name.length}@example.com`
      expect(await sideBySide(signup(email), await maker(email))).toEqual(['fulfilled', 'rejected'])
      const later = `signup.after.${name.length}@example.com`
      expect(await sideBySide(await maker(later), signup(later))).toEqual(['fulfilled', 'rejected'])
    },
  )

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
