import { expect, it } from 'vitest'
import type { PurchaseRow } from '../../src/rows/rows.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

/** Purchases as an operator looks through them: of one workspace or all, newest first. */
export function purchaseListsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function bought(
    workspaceId: string,
    overrides: Partial<PurchaseRow> = {},
  ): Promise<string> {
    const created_at = bench.clock.advance(1_000)
    const purchase = bench.make.purchase(workspaceId, { created_at, ...overrides })
    await bench.storage.write(({ purchases }) => purchases.insert(purchase))
    return purchase.id
  }

  it('are of a workspace or of all, with a status or any, or those to look at', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const first = await bought(mine, { session_id: 'a', status: 'paid' })
    const foreign = await bought(theirs, { session_id: 'b', status: 'paid' })
    const odd = await bought(mine, { session_id: 'c', review_reason: 'amount_mismatch' })
    const newest = await bought(mine, { session_id: 'd' })
    const { purchases } = bench.storage.read
    const list = async (
      ...[which, page = EVERYTHING]: Partial<Parameters<typeof purchases.list>>
    ) => (await purchases.list(which ?? {}, page)).map(({ id }) => id)

    expect(await list()).toEqual([newest, odd, foreign, first])
    expect(await list({ workspace_id: mine })).toEqual([newest, odd, first])
    expect(await list({ status: 'paid' })).toEqual([foreign, first])
    expect(await list({ workspace_id: mine, status: 'paid' })).toEqual([first])
    expect(await list({ in_review: true })).toEqual([odd])
    expect(await list({ workspace_id: theirs, in_review: true })).toEqual([])
    expect(await list({}, { limit: 2, offset: 1 })).toEqual([odd, foreign])
  })

  it('are found by their id, their session or their payment', async () => {
    const mine = await bench.workspace()
    const id = await bought(mine, { session_id: 'cs_1', payment_id: 'pi_1' })
    await bought(mine, { session_id: 'cs_2', payment_id: 'pi_2' })
    const { purchases } = bench.storage.read
    for (const named of [id, 'cs_1', 'pi_1']) {
      expect(await purchases.list({ named }, EVERYTHING)).toMatchObject([{ id }])
    }
    expect(await purchases.list({ named: 'cs_' }, EVERYTHING)).toEqual([])
    const theirs = await bench.workspace()
    expect(await purchases.list({ named: id, workspace_id: theirs }, EVERYTHING)).toEqual([])
  })

  it('of one moment are in the order of their ids, so that no page has one twice', async () => {
    const workspaceId = await bench.workspace()
    const created_at = bench.clock.now()
    const ids: string[] = []
    for (let i = 0; i < 4; i++) {
      ids.push(await bought(workspaceId, { created_at, session_id: `s${i}` }))
    }
    const { purchases } = bench.storage.read
    const seen: string[] = []
    for (let offset = 0; offset < 4; offset++) {
      for (const { id } of await purchases.list({}, { limit: 1, offset })) seen.push(id)
    }
    expect(seen).toEqual(ids.sort().reverse())
  })
}
