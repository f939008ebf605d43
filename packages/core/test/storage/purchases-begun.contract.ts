import { expect, it } from 'vitest'
import type { PurchaseRow } from '../../src/rows/rows.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** The walk through purchases that compares them with their payments. */
export function purchasesBegunContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function bought(
    workspaceId: string,
    overrides: Partial<PurchaseRow> = {},
  ): Promise<string> {
    const purchase = bench.make.purchase(workspaceId, overrides)
    await bench.storage.write(({ purchases }) => purchases.insert(purchase))
    return purchase.id
  }

  it('are those of a provider with a session, or pending without, from a time on, of a workspace or of all', async () => {
    const [mine, theirs] = [await bench.workspace(0), await bench.workspace(0)]
    const since = bench.clock.advance(1_000)
    const early = new Date(since.getTime() - 1)
    await bought(mine, { created_at: early })
    const unopened = await bought(mine, { created_at: since, session_id: null })
    await bought(mine, { created_at: since, session_id: null, status: 'failed' })
    await bought(mine, { created_at: since, provider: 'other' })
    const first = await bought(mine, { created_at: since })
    const foreign = await bought(theirs, { created_at: bench.clock.advance(1) })
    const paid = await bought(mine, { created_at: bench.clock.now(), status: 'paid' })
    const failed = await bought(mine, { created_at: bench.clock.advance(1), status: 'failed' })
    const { purchases } = bench.storage.read
    const which = { provider: 'played', since }
    const ids = async (is_pending: boolean, workspace_id?: string) => {
      const page = { is_pending, after: null, limit: 10 }
      return (await purchases.begun({ ...which, workspace_id }, page)).map(({ id }) => id)
    }
    expect(await ids(true)).toEqual([unopened, first, foreign])
    expect(await ids(false)).toEqual([paid, failed])
    expect(await ids(true, mine)).toEqual([unopened, first])
    expect(await ids(false, theirs)).toEqual([])
    expect(await purchases.countBegun(which)).toBe(5)
    expect(await purchases.countBegun({ ...which, workspace_id: mine })).toBe(4)
    expect(await purchases.countBegun({ ...which, provider: 'missing' })).toBe(0)
  })

  it('come page by page, each once, also those of one moment', async () => {
    const workspaceId = await bench.workspace(0)
    const ids: string[] = []
    for (const ms of [0, 0, 0, 1, 0]) {
      ids.push(await bought(workspaceId, { created_at: bench.clock.advance(ms) }))
    }
    const { purchases } = bench.storage.read
    const which = { provider: 'played', since: new Date(0) }
    const seen: string[] = []
    let after: PurchaseRow | null = null
    for (let i = 0; i < 3; i++) {
      const page: PurchaseRow[] = await purchases.begun(which, {
        is_pending: true,
        after,
        limit: 2,
      })
      seen.push(...page.map(({ id }) => id))
      after = page.at(-1) ?? null
    }
    expect(seen).toEqual(ids)
    expect(await purchases.begun(which, { is_pending: true, after, limit: 2 })).toEqual([])
  })

  it('are found by their payment, and none by another', async () => {
    const workspaceId = await bench.workspace(0)
    const id = await bought(workspaceId, { payment_id: 'pi_1' })
    const { purchases } = bench.storage.read
    expect(await purchases.byPayment('pi_1')).toEqual(await purchases.byId(workspaceId, id))
    expect(await purchases.byPayment('pi_2')).toBeNull()
    await expect(bought(workspaceId, { payment_id: 'pi_1' })).rejects.toThrow()
  })
}
