import { UNITS_PER_CREDIT, type Units } from '../../contract/fields/units.ts'
import type { Entry } from '../../rules/decide.ts'
import { isNextEntry } from '../../rules/fold.ts'
import { isSigned, nextOfChain, startOfChain } from '../../storage/ledger-chain.ts'
import { refusal } from '../refusal.ts'
import { withSnapshot } from '../snapshot/open-snapshot.ts'
import type { OpenKey } from './run.ts'
import { keyOf, openingOf, openingRows } from './verify-openings.ts'

/** One exported file: its name, and its lines. */
export interface LedgerFile {
  name: string
  lines: AsyncIterable<string>
}

/** One inconsistency between exported files and the openings of the database. Amounts are whole micro-credits. */
export interface LedgerFileDifference {
  check: 'sequence' | 'balance_after' | 'hash' | 'signature' | 'missing'
  workspace_id: string
  seq: number
  stands: string
  should: string
}

/** The result of a verification of exported files. */
export interface LedgerFilesReport {
  ok: boolean
  workspaces: number
  /** The entries whose chain was followed. */
  entries: number
  /** The openings of the database whose hash the files prove. */
  openings: number
  /** Whether the signatures of these openings were compared; false if the key of the service could not be read. */
  signatures_checked: boolean
  /** The first differences. */
  differences: LedgerFileDifference[]
}

/** How far the chain of a workspace was followed. */
interface Followed {
  seq: number
  balance: number
  held: number
  hash: string
  /** The file that was read last, and how far the files before it reached. */
  file: string
  earlier: number
  /** Whether an entry before the next opening was missing. */
  is_broken: boolean
  /** Whether the hash of the opening of the database was compared. */
  is_compared: boolean
}

/** The opening of the database, as far as it is compared. */
interface Expected {
  seq: number
  hash: string
  is_signed: boolean | null
}

const DIFFERENCES_MAX = 100

/**
 * Follows the chains of entries in files of `svc ledger export --format jsonl`, in the order of the list, and compares them
 * with the openings of the database: numbers, balances, and the hash of all entries that an opening stands for. An entry that
 * an earlier file has is skipped. A file may begin with an opening, whose hash the entries after it prove.
 * @throws Error in one line, with a `code`: `not_found`, `behind` or `newer` as of `verifyLedger`; `invalid_file` for a line
 * that is no entry.
 */
export function verifyLedgerFiles(
  database_url: string,
  files: readonly LedgerFile[],
  { openKey, signal }: { openKey: OpenKey; signal?: AbortSignal | undefined },
): Promise<LedgerFilesReport> {
  return withSnapshot(database_url, async (snapshot) => {
    const key = await keyOf({ snapshot, openKey })
    const expected = new Map<string, Expected>()
    for await (const row of openingRows(snapshot, null)) {
      const opening = openingOf(row)
      const is_signed = opening !== null && (key === null ? null : isSigned(key, opening))
      expected.set(row.workspace_id, { seq: row.seq, hash: row.hash, is_signed })
    }
    const followed = new Map<string, Followed>()
    const report = { entries: 0, openings: 0, differences: [] as LedgerFileDifference[] }
    const found = (difference: LedgerFileDifference) => {
      if (report.differences.length < DIFFERENCES_MAX) report.differences.push(difference)
    }
    /** Compares the chain with the opening of the database when it has reached its number. */
    const compare = (workspace_id: string, at: Followed) => {
      const opening = expected.get(workspace_id)
      if (!opening || at.is_compared || at.is_broken || at.seq !== opening.seq) return
      at.is_compared = true
      const { seq } = at
      if (at.hash !== opening.hash) {
        found({ check: 'hash', workspace_id, seq, stands: at.hash, should: opening.hash })
      } else report.openings += 1
    }
    for (const { name, lines } of files) {
      let number = 0
      for await (const line of lines) {
        signal?.throwIfAborted()
        number += 1
        if (line.trim() === '') continue
        const entry = entryOf(line)
        if (!entry)
          throw refusal('invalid_file', `${name}, line ${number}: not an entry of a ledger`)
        const { workspace_id, seq } = entry
        const at = followed.get(workspace_id) ?? beginningOf(workspace_id)
        followed.set(workspace_id, at)
        if (at.file !== name) Object.assign(at, { file: name, earlier: at.seq })
        if (entry.kind === 'opening') {
          if (seq < at.seq || (seq === at.seq && !at.is_broken)) continue
          // A file begins with the entries that the opening keeps.
          if (at.earlier > 0 && seq > at.seq) found(missing(workspace_id, at.seq, seq))
          Object.assign(at, { seq, balance: entry.balance_after, held: entry.held_after })
          Object.assign(at, { hash: entry.ref_id, is_broken: false })
          compare(workspace_id, at)
          continue
        }
        if (seq <= at.seq || at.is_broken) continue
        const next = entry as Entry
        if (seq !== at.seq + 1) {
          // The entries that an opening keeps have numbers with gaps; the opening follows them.
          at.is_broken = true
          continue
        }
        if (!isNextEntry(null, next, at)) {
          const should = `${at.balance + entry.amount}, held ${at.held + entry.held_delta}`
          const stands = `${entry.balance_after}, held ${entry.held_after}`
          found({ check: 'balance_after', workspace_id, seq, stands, should })
        }
        Object.assign(at, { seq, balance: entry.balance_after, held: entry.held_after })
        at.hash = nextOfChain(at.hash, next)
        report.entries += 1
        compare(workspace_id, at)
      }
    }
    let signatures_checked = true
    for (const [workspace_id, at] of followed) {
      const { seq } = at
      if (at.is_broken) {
        const should = `entry ${seq + 1}, or an opening`
        found({ check: 'sequence', workspace_id, seq, stands: 'a gap after it', should })
      }
      const opening = expected.get(workspace_id)
      if (!opening) continue
      if (opening.is_signed === null) signatures_checked = false
      if (opening.is_signed === false) {
        const should = 'an opening with a signature by the key of the service'
        found({ check: 'signature', workspace_id, seq: opening.seq, stands: 'another', should })
      }
      if (!at.is_compared && !at.is_broken && seq < opening.seq) {
        found(missing(workspace_id, seq, opening.seq))
      }
    }
    const ok = report.differences.length === 0
    return { ok, workspaces: followed.size, ...report, signatures_checked }
  })
}

function beginningOf(workspaceId: string): Followed {
  return {
    ...{ seq: 0, balance: 0, held: 0, hash: startOfChain(workspaceId) },
    ...{ file: '', earlier: 0, is_broken: false, is_compared: false },
  }
}

function missing(workspace_id: string, after: number, until: number): LedgerFileDifference {
  const stands = `entries up to ${after}`
  return { check: 'missing', workspace_id, seq: until, stands, should: `entries up to ${until}` }
}

const NUMBERS = ['amount', 'held_delta', 'balance_after', 'held_after', 'unit_price'] as const

/** An entry, or the opening of a ledger, from a line of JSON; null for any other text. */
function entryOf(line: string): (Omit<Entry, 'kind'> & { kind: string }) | null {
  try {
    const { email: _, ...fields } = JSON.parse(line)
    for (const name of NUMBERS) fields[name] = microOf(fields[name])
    const entry = { ...fields, created_at: new Date(fields.created_at) }
    const isEntry =
      typeof entry.workspace_id === 'string' &&
      typeof entry.kind === 'string' &&
      typeof entry.ref_id === 'string' &&
      Number.isSafeInteger(entry.seq) &&
      NUMBERS.every((name) => name === 'unit_price' || Number.isSafeInteger(entry[name])) &&
      !Number.isNaN(entry.created_at.getTime())
    return isEntry ? entry : null
  } catch {
    return null
  }
}

/** Credits with at most six decimals as micro-credits: exact up to 15 digits. */
function microOf(credits: unknown): Units | null {
  return typeof credits === 'number' ? (Math.round(credits * UNITS_PER_CREDIT) as Units) : null
}
