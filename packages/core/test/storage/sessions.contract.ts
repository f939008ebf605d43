import { expect, it } from 'vitest'
import { benchFor, type OpenStorage } from './bench.ts'

const ownerOf = (workspace_id: string, session_hash: string) => ({
  user_id: workspace_id,
  workspace_id,
  session_hash,
})

/** Sessions that were ended one by one. */
export function sessionsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const end = (workspace_id: string, session_hash: string, ends_at = bench.clock.now()) =>
    bench.storage.write(({ sessions }) => sessions.end({ workspace_id, session_hash, ends_at }))
  const isEnded = async (workspaceId: string, hash: string) =>
    (await bench.storage.read.sessions.byHash(ownerOf(workspaceId, hash)))?.is_ended

  it('end once and for all, each alone', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const answers = await Promise.all([end(mine, 'a'), end(mine, 'a'), end(mine, 'b')])
    expect(answers.filter(Boolean)).toHaveLength(2)
    expect(await end(mine, 'b')).toBe(false)
    expect(await isEnded(mine, 'a')).toBe(true)
    expect(await isEnded(mine, 'b')).toBe(true)
    expect(await isEnded(mine, 'c')).toBe(false)
    expect(await isEnded(theirs, 'a')).toBe(false)
    expect(await isEnded('missing', 'a')).toBeUndefined()
  })

  it('are returned with the version of valid tokens', async () => {
    const row = bench.make.workspace({ token_version: 7 })
    await bench.storage.write(({ workspaces }) => workspaces.insert(row))
    const session = await bench.storage.read.sessions.byHash(ownerOf(row.id, 'a'))
    expect(session).toEqual({ token_version: 7, is_ended: false, role: 'owner', listed: null })
  })

  it('are forgotten after their token expired, some at a time', async () => {
    const workspaceId = await bench.workspace()
    const at = bench.clock.now()
    for (let i = 0; i < 5; i++) await end(workspaceId, `old ${i}`, new Date(at.getTime() + i))
    await end(workspaceId, 'young', new Date(at.getTime() + 60_000))
    const forget = (before: Date, limit: number) =>
      bench.storage.write(({ sessions }) => sessions.forget(before, limit))
    expect(await forget(at, 100)).toBe(0)
    const later = new Date(at.getTime() + 60_000)
    expect(await forget(later, 2)).toBe(2)
    expect(await forget(later, 100)).toBe(3)
    expect(await isEnded(workspaceId, 'old 4')).toBe(false)
    expect(await isEnded(workspaceId, 'young')).toBe(true)
    expect(await forget(new Date(later.getTime() + 1), 100)).toBe(1)
  })
}
