import { expect, it } from 'vitest'
import type { AccountTokenRow } from '../../src/rows/rows.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** Tokens of mails: each is used once, by one caller, and the newest of a purpose is the only one. */
export function accountTokensContract(open: OpenStorage): void {
  const bench = benchFor(open)

  function tokenOf(
    workspace_id: string,
    overrides: Partial<AccountTokenRow> = {},
  ): AccountTokenRow {
    const at = bench.clock.now()
    const expires_at = new Date(at.getTime() + 60_000)
    const token_hash = bench.clock.id()
    const row = { token_hash, workspace_id, purpose: 'verify_email', expires_at, created_at: at }
    return { ...(row as AccountTokenRow), ...overrides }
  }
  async function issued(workspaceId: string, overrides: Partial<AccountTokenRow> = {}) {
    const token = tokenOf(workspaceId, overrides)
    await bench.storage.write(({ accountTokens }) => accountTokens.issue(token))
    return token
  }
  const take = ({ token_hash, purpose }: AccountTokenRow) =>
    bench.storage.write(({ accountTokens }) =>
      accountTokens.take(token_hash, purpose, bench.clock.now()),
    )
  const holderOf = ({ token_hash, purpose }: AccountTokenRow) =>
    bench.storage.read.accountTokens.holderOf(token_hash, purpose, bench.clock.now())
  const isGood = async (token: AccountTokenRow) => (await holderOf(token)) === token.workspace_id

  it('is good until it is taken, and taken once', async () => {
    const workspaceId = await bench.workspace()
    const token = await issued(workspaceId)
    expect(await isGood(token)).toBe(true)
    const answers = await Promise.all(Array.from({ length: 10 }, () => take(token)))
    expect(answers.filter((answer) => answer !== null)).toEqual([workspaceId])
    expect(await isGood(token)).toBe(false)
  })

  it('is good before the moment it expires, for its purpose alone', async () => {
    const token = await issued(await bench.workspace())
    const other = { ...token, purpose: 'reset_password' as const }
    expect([await isGood(other), await take(other)]).toEqual([false, null])
    bench.clock.advance(59_999)
    expect(await isGood(token)).toBe(true)
    bench.clock.advance(1)
    expect([await isGood(token), await take(token)]).toEqual([false, null])
  })

  it('ends the older ones of its workspace and purpose, and no others', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const first = await issued(mine)
    const others = [await issued(mine, { purpose: 'reset_password' }), await issued(theirs)]
    const second = await issued(mine)
    expect(await isGood(first)).toBe(false)
    for (const token of [second, ...others]) expect(await isGood(token)).toBe(true)
  })

  it('leaves one of many that are issued at once', async () => {
    const workspaceId = await bench.workspace()
    const tokens = await Promise.all(Array.from({ length: 10 }, () => issued(workspaceId)))
    const good = await Promise.all(tokens.map(isGood))
    expect(good.filter(Boolean)).toHaveLength(1)
  })

  it('ends by workspace and purpose', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const ended = await issued(mine)
    const others = [await issued(mine, { purpose: 'reset_password' }), await issued(theirs)]
    await bench.storage.write(({ accountTokens }) => accountTokens.end(ended))
    expect(await isGood(ended)).toBe(false)
    for (const token of others) expect(await isGood(token)).toBe(true)
  })

  it('is forgotten after it expired, some at a time', async () => {
    for (let i = 0; i < 5; i++) await issued(await bench.workspace())
    const young = await issued(await bench.workspace(), {
      expires_at: new Date(bench.clock.now().getTime() + 60_001),
    })
    const now = bench.clock.advance(60_001)
    const forget = (before: Date, limit: number) =>
      bench.storage.write(({ accountTokens }) => accountTokens.forget(before, limit))
    expect(await forget(new Date(now.getTime() - 1), 100)).toBe(0)
    expect(await forget(now, 100)).toBe(5)
    bench.clock.set(new Date(now.getTime() - 1))
    expect(await isGood(young)).toBe(true)
    expect(await forget(new Date(now.getTime() + 1), 100)).toBe(1)
  })
}
