import type { LedgerReport } from '../ledger/report.ts'

/** The depth of a verification: everything; only sums; or none. */
export const VERIFICATIONS = ['full', 'fast', 'none'] as const

/** The depth of a verification. */
export type Verification = (typeof VERIFICATIONS)[number]

/** Reports progress: bytes of a copy, rows of a verification of the books. */
export type OnStep = (progress: { name: string; done: number; total: number }) => void

/** The facts about a verified copy of a database. */
export interface BackupCheck {
  file: string
  bytes: number
  /** The checksum of the whole file, in hexadecimal digits. */
  sha256: string
  /** The moment of the copy: nothing in it is newer. */
  as_of: Date
  /** The source of that moment: the copy's own mark or, without one, its newest rows. */
  as_of_from: 'mark' | 'rows'
  /** The program and version that made it; null without a mark. */
  made_by: string | null
  /** Missing migrations; a restore adds them. */
  migrations_missing: string[]
  verified: Verification
  /** The size of the books; null where they were not read, for `none` or for an older schema. */
  ledger: Pick<LedgerReport, 'workspaces' | 'entries' | 'messages'> | null
}

/** The result of a backup. */
export interface BackupReport extends BackupCheck {
  /** Older backups that were removed afterwards. */
  removed: string[]
  duration_ms: number
}
