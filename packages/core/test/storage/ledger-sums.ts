import { expect } from 'vitest'
import type { Entry } from '../../src/rules/decide.ts'
import { type Bench, EVERYTHING } from './bench.ts'

/**
 * Expects that the ledger of a workspace has no gap, that each entry follows from the one before, and that account and
 * open holds are the sums of the entries. Answers the entries, oldest first.
 */
export async function soundLedger(bench: Bench, workspaceId: string): Promise<Entry[]> {
  const entries = await bench.ledger(workspaceId)
  let balance = 0
  let held = 0
  for (const [i, entry] of entries.entries()) {
    balance += entry.amount
    held += entry.held_delta
    const { seq, balance_after, held_after } = entry
    expect({ seq, balance_after, held_after }).toEqual({
      seq: i + 1,
      balance_after: balance,
      held_after: held,
    })
  }
  expect(await bench.account(workspaceId)).toMatchObject({ balance, held, seq: entries.length })
  const ended = new Set(entries.map(({ resolves }) => resolves))
  const open = entries.filter(({ kind, id }) => kind === 'hold' && !ended.has(id))
  const rows = await bench.storage.read.creditHolds.open(workspaceId, EVERYTHING)
  expect(rows.map(({ id, amount }) => `${id} ${amount}`).sort()).toEqual(
    open.map(({ id, held_delta }) => `${id} ${held_delta}`).sort(),
  )
  return entries
}
