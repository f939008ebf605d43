import { tallyCounters } from './counters.ts'
import { ENTRY_CHECKS, ENTRY_FROM } from './entry-checks.ts'
import type { LedgerCheck } from './report.ts'
import { nameFaults, type Run } from './run.ts'
import { type Slice, slicesOf } from './slices.ts'
import { sumEntries } from './sums.ts'
import { tallyEntries, tallyMarks } from './tally.ts'
import { verifyOpenings } from './verify-openings.ts'

const SLICED = { table: 'ledger_entries', key: 'seq' } as const

/** The checks that sums within a workspace cover; all other checks compare with messages. */
const CHAIN_CHECKS: readonly LedgerCheck[] = ['sequence', 'balance_after', 'held_after']
const OF_CHAIN = ENTRY_CHECKS.filter(({ check }) => CHAIN_CHECKS.includes(check))
const OF_ONE = ENTRY_CHECKS.filter(({ check }) => !CHAIN_CHECKS.includes(check))

/** Computes all sums in one pass. Only the entries of workspaces whose sums differ are checked one by one. */
export async function verifyEntries(run: Run, total: number) {
  const { snapshot, workspaceId } = run
  const tally = tallyEntries()
  const counters = tallyCounters()
  const marks = tallyMarks()
  const close = async () => {
    const ended = tally.end()
    if (!ended) return
    run.found(ended.differences)
    if (!ended.isSuspect || run.isThorough) return
    for await (const slice of slicesOf(snapshot, SLICED, ended.workspace_id)) {
      await nameEntries(run, slice, OF_CHAIN)
    }
  }
  for await (const slice of slicesOf(snapshot, SLICED, workspaceId)) {
    const rows = await sumEntries(snapshot, slice, counters.columns(), run.hasRemoved)
    await counters.add(snapshot, slice, rows)
    for (const sums of rows) {
      if (tally.workspace_id !== sums.workspace_id) await close()
      tally.add(sums)
      marks.add(sums)
    }
    if (run.isThorough) await nameEntries(run, slice, OF_CHAIN)
    run.report('entries', tally.entries, total)
  }
  await close()
  run.report('entries', total, total)
  const openings = await verifyOpenings(run, counters)
  const counter_accounts = counters.accounts()
  return { entries: tally.entries, marks, counter_accounts, openings }
}

/** Checks every entry by itself and against its message. */
export async function nameSingleEntries(run: Run): Promise<void> {
  for await (const slice of slicesOf(run.snapshot, SLICED, run.workspaceId)) {
    await nameEntries(run, slice, OF_ONE)
  }
}

function nameEntries(run: Run, slice: Slice, checks: typeof ENTRY_CHECKS): Promise<void> {
  const about = `t.ref_type || ':' || t.ref_id`
  return nameFaults(run, checks, { from: ENTRY_FROM, slice, seq: 't.seq', about })
}
