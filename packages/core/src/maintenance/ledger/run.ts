import type { NamedValues, Snapshot } from '../snapshot/snapshot.ts'
import type { RowCheck } from './entry-checks.ts'
import type { LedgerDifference } from './report.ts'
import type { Slice } from './slices.ts'

/** Decrypts the value of a secret; null without its key. */
export type OpenKey = (value: string) => string | null | Promise<string | null>

/** A verification and its findings. */
export interface Run {
  snapshot: Snapshot
  workspaceId: string | null
  hourAgo: Date
  /** Opens the secret that signs openings, of which the database has this value; null if its key is not known. */
  openKey: OpenKey
  /** Whether messages or bulks of any workspace were removed; only then there are openings. */
  hasRemoved: boolean
  max: number
  /** Checks row by row, even if the sums agree. */
  isThorough: boolean
  found(differences: readonly LedgerDifference[]): void
  report(name: string, done: number, total: number): void
}

/** Adds the rows in which a check finds a fault: at most one row more than the report shows. */
export async function nameFaults(
  run: Run,
  checks: readonly RowCheck[],
  at: { from: string; slice: Slice; seq: string; about: string; key?: string },
): Promise<void> {
  const { from, slice, seq, about, key = 'workspace_id' } = at
  const values: NamedValues = { ...slice.values, hour_ago: run.hourAgo }
  for (const { check, when, fault, stands, should } of checks) {
    const rows = await run.snapshot.rows<Omit<LedgerDifference, 'check'>>(
      `select t.${key} as workspace_id, ${seq} as seq, ${about} as about, ${stands} as stands, ${should} as should
       from ${from} where ${slice.where} and (${when}) and (${fault}) limit ${run.max + 1}`,
      values,
    )
    run.found(
      rows.map(({ workspace_id, seq, about, stands, should }) => ({
        check,
        workspace_id,
        seq: seq === null ? null : Number(seq),
        about,
        stands,
        should,
      })),
    )
  }
}
