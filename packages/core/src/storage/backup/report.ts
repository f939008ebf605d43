import type { LedgerReport } from '../ledger/report.ts'

/** How closely a copy is looked at: everything; sums alone; or not at all. */
export const VERIFICATIONS = ['full', 'fast', 'none'] as const

/** How closely a copy is looked at. */
export type Verification = (typeof VERIFICATIONS)[number]

/** How far something is: bytes where something is copied, rows where the books are verified. */
export type OnStep = (progress: { name: string; done: number; total: number }) => void

/** What a copy of a database is, and what was found right about it. */
export interface BackupCheck {
  file: string
  bytes: number
  /** Of the whole file, in hexadecimal digits. */
  sha256: string
  /** The moment that it is of: nothing in it is newer. */
  as_of: Date
  /** Where that was read: in the copy's own mark, or from its newest rows where it has none. */
  as_of_from: 'mark' | 'rows'
  /** The program and version that made it; null where it bears no mark. */
  made_by: string | null
  /** Migrations that it lacks; a restore adds them. */
  migrations_missing: string[]
  verified: Verification
  /** What was found in the books; null where these were not read, for `none` or for an older schema. */
  ledger: Pick<LedgerReport, 'workspaces' | 'entries' | 'messages'> | null
}

/** What a backup came to. */
export interface BackupReport extends BackupCheck {
  /** Older backups that were removed after it. */
  removed: string[]
  duration_ms: number
}
