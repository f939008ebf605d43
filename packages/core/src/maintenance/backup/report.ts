import type { LedgerReport } from '../ledger/report.ts'

/** The depths of a verification: everything, only sums, or nothing. */
export const VERIFICATIONS = ['full', 'fast', 'none'] as const

/** The depth of a verification. */
export type Verification = (typeof VERIFICATIONS)[number]

/** Receives progress: the bytes of a copy, or the rows of verified books. */
export type OnStep = (progress: { name: string; done: number; total: number }) => void

/** The facts about a verified copy of a database. */
export interface BackupCheck {
  file: string
  bytes: number
  /** The checksum of the whole file, in hexadecimal digits. */
  sha256: string
  /** The moment of the copy: no row in the copy is newer. */
  as_of: Date
  /** The source of `as_of`: the copy's mark or, without a mark, its newest rows. */
  as_of_from: 'mark' | 'rows'
  /** The program and version that made the copy; null without a mark. */
  made_by: string | null
  /** The missing migrations; a restore applies them. */
  migrations_missing: string[]
  verified: Verification
  /** The size of the books; null for `none` and for an older schema, because they were not read. */
  ledger: Pick<LedgerReport, 'workspaces' | 'entries' | 'messages'> | null
  /** The ids of the keys that encrypted its secrets, which the next server needs; null for an older schema. */
  secrets_keys: string[] | null
}

/** The result of a backup. */
export interface BackupReport extends BackupCheck {
  /** The names of older backups that were removed after this backup. */
  removed: string[]
  duration_ms: number
}
