import type { BackupCheck, Verification } from '@svc/core/operate'
import { misconfigured, usage } from '../process/failure.ts'
import { counted } from './counted.ts'

const LEVELS: readonly Verification[] = ['full', 'fast', 'none']

/** Reads the value of `--verify`. @throws Failure for any other word. */
export function verificationOf(text: string): Verification {
  const found = LEVELS.find((level) => level === text)
  if (!found) throw usage(`--verify must be one of ${LEVELS.join(', ')}, got "${text}"`)
  return found
}

/** Returns the path in the URL of a SQLite database. @throws Failure with the advice `instead` for PostgreSQL. */
export function fileOfDatabase(url: string, instead: string): string {
  if (url.startsWith('file:')) return url.slice('file:'.length)
  throw misconfigured(`the database is PostgreSQL: ${instead}`)
}

/** The size and contents of a backup, as part of a sentence. */
export function contentOf({ bytes, ledger }: Pick<BackupCheck, 'bytes' | 'ledger'>): string {
  const size = `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
  if (!ledger) return size
  const { messages, entries } = ledger
  return `${size}: ${counted(messages, 'message')}, ${counted(entries, 'ledger entry', 'ledger entries')}`
}

/** The result of the verification, as part of a sentence. */
export function verdictOf({ verified, ledger, as_of_from }: BackupCheck): string {
  if (verified === 'none') return 'not verified'
  const intact = as_of_from === 'mark' ? 'are intact' : 'is intact'
  const parts = as_of_from === 'mark' ? 'checksum and structure' : 'the structure'
  return ledger
    ? `${parts} ${intact}, and the ledger is consistent`
    : `${parts} ${intact}; a restore verifies the ledger, which has an older schema`
}
