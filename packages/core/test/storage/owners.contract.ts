import { expect, it } from 'vitest'
import type { WorkspaceRow } from '../../src/rows/rows.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** What owners change of a workspace. */
export function ownersContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** Two workspaces, of which the second must never change, and a later moment. */
  async function two(): Promise<{ mine: WorkspaceRow; same: () => Promise<void>; at: Date }> {
    const [mine, theirs] = [bench.make.workspace({ phone: '+1415' }), bench.make.workspace()]
    await bench.storage.write(async ({ workspaces }) => {
      await workspaces.insert(mine)
      await workspaces.insert(theirs)
    })
    const same = async () => {
      expect(await bench.storage.read.workspaces.byId(theirs.id)).toEqual(theirs)
    }
    return { mine, same, at: bench.clock.advance(1_000) }
  }
  const read = ({ id }: WorkspaceRow) => bench.storage.read.workspaces.byId(id)

  it('changes the fields that are named, to nothing too', async () => {
    const { mine, same, at } = await two()
    const change = { name: 'Other', phone: null, sender_name: 'S' }
    await bench.storage.write(({ workspaces }) =>
      workspaces.change(mine.id, { ...change, country: undefined }, at),
    )
    expect(await read(mine)).toEqual({ ...mine, ...change, updated_at: at })
    await same()
  })

  it('verifies an address', async () => {
    const { mine, same, at } = await two()
    const verify = () =>
      bench.storage.write(({ workspaces }) => workspaces.verifyEmail(mine.id, at))
    const answers = await Promise.all([verify(), verify(), verify()])
    expect(answers.filter(Boolean)).toHaveLength(1)
    expect(await read(mine)).toEqual({ ...mine, email_verified: true, updated_at: at })
    await same()
  })

  it('is mailed about the same once in a while, by one of many', async () => {
    const { mine } = await two()
    const hour_ms = 60 * 60_000
    const claim = (kind: 'low_balance' | 'account_frozen' = 'low_balance') =>
      bench.storage.write(({ ownerMails }) =>
        ownerMails.claim({ workspace_id: mine.id, kind, mailed_at: bench.clock.now() }, hour_ms),
      )
    const together = async () =>
      (await Promise.all(Array.from({ length: 8 }, () => claim()))).filter(Boolean).length
    expect(await together()).toBe(1)
    expect(await claim('account_frozen')).toBe(true)
    bench.clock.advance(hour_ms - 1)
    expect(await together()).toBe(0)
    const last = bench.clock.advance(1)
    expect(await together()).toBe(1)
    // A clock that was ahead suppresses no notice.
    bench.clock.set(new Date(last.getTime() - hour_ms))
    expect(await claim()).toBe(false)
    bench.clock.set(new Date(last.getTime() - hour_ms - 1))
    expect(await together()).toBe(1)
  })

  it('changes a password and ends the tokens before, once for each hash that it was', async () => {
    const { mine, same, at } = await two()
    const from = mine.password_hash
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((to) =>
        bench.storage.write(({ workspaces }) =>
          workspaces.changePassword(mine.id, { from, to, at }),
        ),
      ),
    )
    expect(answers.filter(Boolean)).toHaveLength(1)
    const token_version = mine.token_version + 1
    const password_hash = ['a', 'b', 'c'][answers.indexOf(true)]
    expect(await read(mine)).toEqual({ ...mine, password_hash, token_version, updated_at: at })
    await same()
  })

  it('changes a password without the current one, if the request does not name it', async () => {
    const { mine, at } = await two()
    const reset = () =>
      bench.storage.write(({ workspaces }) => workspaces.changePassword(mine.id, { to: 'x', at }))
    expect([await reset(), await reset()]).toEqual([true, true])
    expect(await read(mine)).toMatchObject({ token_version: mine.token_version + 2 })
  })

  it('puts another hash of the same password in place, and ends nothing', async () => {
    const { mine, same } = await two()
    const rehash = (from: string, to: string) =>
      bench.storage.write(({ workspaces }) => workspaces.rehash(mine.id, { from, to }))
    await rehash('not the hash', 'x')
    expect(await read(mine)).toEqual(mine)
    await rehash(mine.password_hash, 'x')
    expect(await read(mine)).toEqual({ ...mine, password_hash: 'x' })
    await same()
  })
}
