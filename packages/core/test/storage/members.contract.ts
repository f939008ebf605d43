import { expect, it } from 'vitest'
import { emailKey } from '../../src/contract/fields/email-address.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import type { InvitationRow, SessionRow, UserRow } from '../../src/rows/rows.ts'
import { createSavedFilters } from '../../src/workspaces/saved-filters.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** Users, members, invitations and listed sessions. */
export function membersContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const user = (email: string): UserRow => ({
    id: bench.clock.id(),
    email,
    email_key: emailKey(email),
    name: 'Żółw 🐢',
    password_hash: null,
    token_version: 3,
    created_at: bench.clock.now(),
    updated_at: bench.clock.now(),
  })
  const member = (workspace_id: string, user_id: string) => ({
    workspace_id,
    user_id,
    role: 'developer' as const,
    created_at: bench.clock.now(),
    updated_at: bench.clock.now(),
    invited_by: null as string | null,
    invited_at: null as Date | null,
  })
  const invitation = (workspace_id: string, email: string, token_hash: string): InvitationRow => ({
    workspace_id,
    id: bench.clock.id(),
    email,
    email_key: emailKey(email),
    role: 'viewer',
    token_hash,
    expires_at: new Date(bench.clock.now().getTime() + 60_000),
    created_at: bench.clock.now(),
    invited_by: null,
  })
  const session = (user_id: string, workspace_id: string, n: number): SessionRow => ({
    user_id,
    id: bench.clock.id(),
    session_hash: `hash ${n}`,
    workspace_id,
    created_at: bench.clock.now(),
    last_seen_at: bench.clock.now(),
    network: '192.0.2.0/24',
    agent: null,
    ends_at: new Date(bench.clock.now().getTime() + 60_000),
  })

  const savedFilter = (workspace_id: string, user_id: string, name = 'failed') => ({
    ...{ workspace_id, user_id, name, id: bench.clock.id() },
    filter: { status: 'failed' as const },
  })

  it('finds a user by the address in any case, once among many that begin at the same time', async () => {
    const rows = ['Asha@Example.com', 'asha@example.COM', 'ASHA@example.com'].map(user)
    const inserted = await Promise.all(
      rows.map((row) => bench.storage.write(({ users }) => users.insert(row))),
    )
    expect(inserted.filter(Boolean)).toHaveLength(1)
    const { users } = bench.storage.read
    expect(await users.byEmail('aSHA@example.com')).toEqual(rows[inserted.indexOf(true)])
    expect(await users.byEmail('other@example.com')).toBeNull()
  })

  it('gives the facts of a session of an owner, a member and a stranger', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const asha = user('asha@example.com')
    const row = session(asha.id, mine, 1)
    await bench.storage.write(async ({ users, members, sessions }) => {
      await users.insert(asha)
      await members.add(member(mine, asha.id))
      // The owner of a workspace as a member of another one.
      await members.add(member(mine, theirs))
      await sessions.begin(row)
    })
    const facts = (user_id: string, workspace_id: string) =>
      bench.storage.read.sessions.byHash({ user_id, workspace_id, session_hash: 'hash 1' })
    const listed = { id: row.id, last_seen_at: row.last_seen_at }
    const valid = { is_ended: false, listed: null }
    expect(await facts(asha.id, mine)).toEqual({
      ...valid,
      token_version: 3,
      role: 'developer',
      listed,
    })
    expect(await facts(asha.id, theirs)).toMatchObject({ token_version: 3, role: null })
    expect(await facts(mine, mine)).toEqual({ ...valid, token_version: 0, role: 'owner' })
    expect(await facts(theirs, mine)).toEqual({ ...valid, token_version: 0, role: 'developer' })
    expect(await facts(mine, theirs)).toMatchObject({ role: null })
    expect(await facts('missing', mine)).toBeNull()
    expect(await facts(asha.id, 'missing')).toBeNull()
  })

  it('gives an invitation to one of many that take it, and keeps one for each address', async () => {
    const workspaceId = await bench.workspace()
    const insert = (row: InvitationRow) =>
      bench.storage.write(({ invitations }) => invitations.insert(row))
    await insert(invitation(workspaceId, 'a@example.com', 'first'))
    const second = invitation(workspaceId, 'A@example.com', 'second')
    await insert(second)
    const { invitations } = bench.storage.read
    expect(await invitations.byToken('first', bench.clock.now())).toBeNull()
    expect(await invitations.list(workspaceId, bench.clock.now())).toEqual([second])
    const take = () =>
      bench.storage.write((stores) => stores.invitations.take('second', bench.clock.now()))
    const taken = await Promise.all([take(), take(), take()])
    expect(taken.filter(Boolean)).toEqual([second])
    await insert(invitation(workspaceId, 'a@example.com', 'third'))
    const late = bench.clock.advance(60_000)
    expect(await invitations.byToken('third', late)).toBeNull()
    const forget = (before: Date) =>
      bench.storage.write((stores) => stores.invitations.forget(before, 10))
    expect([await forget(late), await forget(new Date(late.getTime() + 1))]).toEqual([0, 1])
  })

  it('removes a user with everything that belongs to the login, and nothing else', async () => {
    const workspaceId = await bench.workspace()
    const [asha, other] = [user('asha@example.com'), user('other@example.com')]
    const at = bench.clock.now()
    for (const row of [asha, other]) {
      await bench.storage.write(async (stores) => {
        await stores.users.insert(row)
        await stores.members.add(member(workspaceId, row.id))
        await stores.savedFilters.insert(savedFilter(workspaceId, row.id))
        await stores.sessions.begin(session(row.id, workspaceId, 1))
        const identity = { issuer: 'https://id.example', user_id: row.id, created_at: at }
        await stores.users.link({ ...identity, subject: row.email })
        await stores.loginNetworks.note({
          workspace_id: row.id,
          network: '192.0.2.0/24',
          last_login_at: at,
        })
      })
    }
    await bench.storage.write(({ users }) => users.remove(asha.id))
    const { users, members, savedFilters, sessions, loginNetworks } = bench.storage.read
    const issuer = 'https://id.example'
    const left = async (row: UserRow) => [
      await users.byId(row.id),
      await users.byIdentity({ issuer, subject: row.email }),
      await members.byId(workspaceId, row.id),
      (await savedFilters.list(workspaceId, row.id)).length,
      (await sessions.list(row.id, at)).length,
      await loginNetworks.byEmail(row.email, '192.0.2.0/24', at),
    ]
    expect(await left(asha)).toEqual([null, null, null, 0, 0, false])
    expect(await left(other)).toEqual([other, other.id, expect.anything(), 1, 1, true])
  })

  it('finds the members that some logins invited after a time, also after these logins moved', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const invited_at = bench.clock.now()
    const invited = (workspace_id: string, user_id: string, invited_by: string) => ({
      ...member(workspace_id, user_id),
      invited_by,
      invited_at,
    })
    await bench.storage.write(async ({ members }) => {
      await members.add(invited(mine, 'a', 'first'))
      await members.add(invited(mine, 'b', 'second'))
      await members.add(invited(theirs, 'c', 'first'))
      await members.add(member(mine, 'd'))
    })
    const found = async (by: string[], since: number) =>
      (
        await bench.storage.read.members.invitedBy(mine, by, new Date(invited_at.getTime() + since))
      ).map(({ user_id }) => user_id)
    expect(await found(['first'], -1)).toEqual(['a'])
    expect(await found(['first'], 0)).toEqual([])
    expect((await found(['first', 'second'], -1)).sort()).toEqual(['a', 'b'])
    await bench.storage.write(({ users }) => users.move('first', 'third'))
    expect([await found(['first'], -1), await found(['third'], -1)]).toEqual([[], ['a']])
  })

  it('lists and ends the subjects of one login', async () => {
    const identity = { issuer: 'https://links.example', created_at: bench.clock.now() }
    const rows = [
      { ...identity, subject: 'a', user_id: 'mine' },
      { ...identity, subject: 'b', user_id: 'mine' },
      { ...identity, subject: 'c', user_id: 'theirs' },
    ]
    await bench.storage.write(async ({ users }) => {
      for (const row of rows) await users.link(row)
    })
    const list = (login: string) => bench.storage.read.users.identities(login)
    expect(await list('mine')).toEqual(rows.slice(0, 2))
    const unlink = (subject: string) =>
      bench.storage.write(({ users }) => users.unlink({ ...identity, subject, user_id: 'mine' }))
    expect([await unlink('c'), await unlink('a'), await unlink('a')]).toEqual([false, true, false])
    expect([await list('mine'), await list('theirs')]).toEqual([[rows[1]], [rows[2]]])
  })

  it('moves memberships and subjects to another login, for the change of an owner', async () => {
    const [first, second] = [await bench.workspace(), await bench.workspace()]
    const identity = { issuer: 'https://id.example', subject: 's', created_at: bench.clock.now() }
    const filter = savedFilter(second, first)
    await bench.storage.write(async ({ users, members, savedFilters }) => {
      await savedFilters.insert(filter)
      await members.add(member(second, first))
      await users.link({ ...identity, user_id: first })
      await users.move(first, 'another login')
    })
    const { users, members, savedFilters } = bench.storage.read
    expect(await savedFilters.list(second, first)).toEqual([])
    expect(await savedFilters.list(second, 'another login')).toEqual([
      { ...filter, user_id: 'another login' },
    ])
    expect(await users.byIdentity(identity)).toBe('another login')
    expect(await members.byId(second, first)).toBeNull()
    expect(await members.byId(second, 'another login')).toMatchObject({ role: 'developer' })
  })

  it('saves no name twice and no filter above the limit when a person saves several at once', async () => {
    const workspace_id = await bench.workspace()
    const owner = { workspace_id, user_id: 'asha' }
    const filters = createSavedFilters({ storage: bench.storage, runtime: bench.clock })
    const added = async (names: string[]) => {
      const adding = names.map((name) => filters.add(owner, { name, filter: {} }))
      const ended = await Promise.allSettled(adding)
      return ended.filter(({ status }) => status === 'fulfilled').length
    }
    expect(await added(['A', 'A', 'A', 'A'])).toBe(1)
    const [first] = await filters.list(owner)
    const { id } = await filters.add(owner, { name: 'B', filter: {} })
    const renaming = [first?.id ?? '', id].map((one) =>
      filters.change(owner, one, { name: 'C', filter: {} }),
    )
    const ended = await Promise.allSettled(renaming)
    expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await bench.storage.write(async ({ savedFilters }) => {
      for (let i = 3; i < LIMITS.saved_filters; i++) {
        await savedFilters.insert(savedFilter(workspace_id, 'asha', `n${i}`))
      }
    })
    expect(await added(['D', 'E', 'F', 'G'])).toBe(1)
    expect(await filters.list(owner)).toHaveLength(LIMITS.saved_filters)
  })

  it('keeps the saved filters of each person, and removes those of one membership', async () => {
    const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
    const rows = [
      savedFilter(workspaceId, 'asha', 'A'),
      savedFilter(workspaceId, 'asha', 'B'),
      savedFilter(workspaceId, 'juma', 'A'),
      savedFilter(other, 'asha', 'A'),
    ]
    const [first] = rows
    if (!first) throw new Error('no filter')
    const renamed = { name: 'C', filter: {} }
    await bench.storage.write(async ({ savedFilters }) => {
      for (const row of rows) await savedFilters.insert(row)
      expect(await savedFilters.change(first, renamed)).toBe(true)
      expect(await savedFilters.change({ ...first, user_id: 'juma' }, renamed)).toBe(false)
      expect(await savedFilters.remove({ ...first, workspace_id: other })).toBe(false)
    })
    const { list } = bench.storage.read.savedFilters
    expect(await list(workspaceId, 'asha')).toEqual([{ ...first, ...renamed }, rows[1]])
    await bench.storage.write(({ savedFilters }) => savedFilters.clear(workspaceId, 'asha'))
    expect(await list(workspaceId, 'asha')).toEqual([])
    expect(await list(workspaceId, 'juma')).toEqual([rows[2]])
    expect(await list(other, 'asha')).toEqual([rows[3]])
  })

  it('keeps the newest hundred sessions of a login in its list, and moves their last use forward', async () => {
    const workspaceId = await bench.workspace()
    const rows = Array.from({ length: 101 }, (_, n) => session(workspaceId, workspaceId, n))
    await bench.storage.write(async ({ sessions }) => {
      for (const row of rows) await sessions.begin(row)
    })
    const list = () => bench.storage.read.sessions.list(workspaceId, bench.clock.now())
    expect((await list()).map(({ id }) => id)).toEqual(
      rows
        .slice(1)
        .map(({ id }) => id)
        .reverse(),
    )
    const newest = rows.at(-1) as SessionRow
    const touch = (last_seen_at: Date) =>
      bench.storage.write(({ sessions }) => sessions.touch([{ ...newest, last_seen_at }]))
    const later = new Date(bench.clock.now().getTime() + 10)
    await touch(later)
    await touch(new Date(later.getTime() - 5))
    expect((await list())[0]?.last_seen_at).toEqual(later)
    expect((await list())[1]?.last_seen_at).toEqual(newest.last_seen_at)
  })
}
