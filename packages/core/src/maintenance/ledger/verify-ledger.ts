import { partsOf } from '../../rows/sealed.ts'
import { withSnapshot } from '../snapshot/open-snapshot.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { leaveOutDamagedRows } from './damaged-rows.ts'
import {
  LEDGER_CHECKS,
  type LedgerCheck,
  type LedgerDifference,
  type LedgerReport,
} from './report.ts'
import { nameFaults, type OpenKey, type Run } from './run.ts'
import { TABLE_CHECKS } from './table-checks.ts'
import { verifyCreditSums } from './verify-credit-sums.ts'
import { verifyEntries } from './verify-entries.ts'
import { verifyMessages } from './verify-messages.ts'

/** Options of a verification. */
export interface VerifyOptions {
  /** Only this workspace; default: all. */
  workspace_id?: string | undefined
  /** Checks rows one by one only where sums differ. Takes less than half the time and finds nearly all faults. */
  fast?: boolean | undefined
  /** Checks to skip. */
  without?: readonly LedgerCheck[] | undefined
  /** The maximum number of reported differences of one check. */
  differences_max?: number | undefined
  now?: (() => Date) | undefined
  /**
   * Decrypts the secret that signs openings. Returns null without its key; then signatures are not compared.
   * Default: a secret in plain text is used, an encrypted one is not.
   */
  openKey?: OpenKey | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { name: string; done: number; total: number }) => void) | undefined
}

const DIFFERENCES_MAX = 20
const HOUR_MS = 3_600_000

/**
 * Recomputes the books from their entries, in one snapshot and in constant memory, and reports the differences. Changes
 * nothing; a server may run meanwhile. A row with a value that its column cannot have is a difference, and all sums
 * leave it out. Every row is checked by itself; with `fast`, only where sums differ. One wrong amount, balance or
 * number, or one missing row, makes the sums differ. Openings of folded ledgers are compared with their signatures, the
 * entries that they keep, and the sums of removed history. The sums do not show a reference to another message of the
 * workspace with the same mark (on SQLite one in sixteen). They also do not show faults that compensate each other in
 * sums weighted by number or mark, or are off by a multiple of 2^31 - 1. Source: contract section 4, ledger study
 * section 2.11.
 * @throws Error in one line, with a `code`: `not_found`; `behind` or `newer` if the schema is not this program's.
 */
export function verifyLedger(
  database_url: string,
  options: VerifyOptions = {},
): Promise<LedgerReport> {
  return withSnapshot(database_url, (snapshot) => verify(snapshot, options))
}

async function verify(snapshot: Snapshot, options: VerifyOptions): Promise<LedgerReport> {
  const { workspace_id = null, without = [], fast = false, signal, onProgress } = options
  const { now = () => new Date() } = options
  const max = options.differences_max ?? DIFFERENCES_MAX
  const byCheck = new Map<LedgerCheck, LedgerDifference[]>()
  let has_more = false
  const run: Run = {
    snapshot,
    openKey: options.openKey ?? ((value) => (partsOf(value) === null ? value : null)),
    workspaceId: workspace_id,
    hourAgo: new Date(now().getTime() - HOUR_MS),
    hasRemoved: (await snapshot.rows('select 1 as one from removed_history limit 1')).length > 0,
    max,
    isThorough: !fast,
    found(differences) {
      for (const difference of differences) {
        if (without.includes(difference.check)) continue
        const same = byCheck.get(difference.check) ?? []
        byCheck.set(difference.check, same)
        if (same.length < max) same.push(difference)
        else has_more = true
      }
    },
    report(name, done, total) {
      signal?.throwIfAborted()
      onProgress?.({ name, done: Math.min(done, total), total })
    },
  }
  run.snapshot = await leaveOutDamagedRows(run)
  const size = await sizeOf(run)
  const books = await verifyEntries(run, size.entries)
  await verifyMessages(run, size.messages, books.marks)
  await verifyTables(run)
  await verifyCreditSums(run, size.entries)
  verifyTrial(run, size.balance, books.counter_accounts)
  const differences = LEDGER_CHECKS.flatMap((check) => byCheck.get(check) ?? [])
  return {
    ok: differences.length === 0,
    workspaces: size.workspaces,
    entries: books.entries,
    messages: size.messages,
    ...books.openings,
    workspaces_balance: size.balance,
    counter_accounts: books.counter_accounts,
    differences,
    has_more,
  }
}

interface Size {
  workspaces: number
  entries: number
  messages: number
  balance: string
}

async function sizeOf({ snapshot, workspaceId }: Run): Promise<Size> {
  const own = workspaceId === null ? 'true' : 'workspace_id = :workspace'
  const [size] = await snapshot.rows<Record<keyof Size, string>>(
    `select cast(count(*) as text) as workspaces, cast(coalesce(sum(seq), 0) as text) as entries,
       cast(coalesce(sum(balance), 0) as text) as balance,
       cast((select coalesce(sum(count), 0) from message_counts where unit = 'all' and ${own}) as text) as messages
     from credit_accounts where ${own}`,
    { workspace: workspaceId },
  )
  if (!size) throw new Error('an aggregate without a row')
  const { workspaces, entries, messages, balance } = size
  return {
    workspaces: Number(workspaces),
    entries: Number(entries),
    messages: Number(messages),
    balance,
  }
}

/** Runs all checks of a table in one pass. Searches for the faulty rows only after a fault. */
async function verifyTables(run: Run): Promise<void> {
  const { snapshot, workspaceId, hourAgo } = run
  const tables = [...new Set(TABLE_CHECKS.map(({ table }) => table))]
  for (const [i, table] of tables.entries()) {
    run.report('accounts, holds, lots, purchases', i, tables.length)
    const checks = TABLE_CHECKS.filter((check) => check.table === table)
    const key = table === 'workspaces' ? 'id' : 'workspace_id'
    const slice = {
      where: workspaceId === null ? 'true' : `t.${key} = :workspace`,
      values: { workspace: workspaceId },
    }
    const any = checks.map(({ when, fault }) => `((${when}) and (${fault}))`).join(' or ')
    const faults = await snapshot.rows(
      `select 1 as fault from ${table} t where ${slice.where} and (${any}) limit 1`,
      { ...slice.values, hour_ago: hourAgo },
    )
    if (faults.length === 0) continue
    for (const check of checks) {
      const { seq = 'null', about } = check
      await nameFaults(run, [check], { from: `${table} t`, slice, seq, about, key })
    }
  }
  run.report('accounts, holds, lots, purchases', tables.length, tables.length)
}

/** The sum of all workspaces and the sum of all counter accounts must be opposite. */
function verifyTrial(run: Run, balance: string, accounts: LedgerReport['counter_accounts']): void {
  const others = accounts.reduce((sum, account) => sum + BigInt(account.balance), 0n)
  if (BigInt(balance) + others === 0n) return
  const workspace_id = run.workspaceId ?? 'all'
  const should = `${-others}, which the counter accounts gave`
  run.found([
    { check: 'trial_balance', workspace_id, seq: null, about: null, stands: balance, should },
  ])
}
