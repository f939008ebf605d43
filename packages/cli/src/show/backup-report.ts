import type { BackupCheck, Verification } from '@svc/core'
import { misconfigured, usage } from '../process/failure.ts'

const LEVELS: readonly Verification[] = ['full', 'fast', 'none']

/** How closely a copy is to be looked at. @throws Failure for any other word. */
export function verificationOf(text: string): Verification {
  const found = LEVELS.find((level) => level === text)
  if (!found) throw usage(`--verify must be one of ${LEVELS.join(', ')}, got "${text}"`)
  return found
}

/** The file behind a database's URL. @throws Failure for a database that is none. */
export function fileOfDatabase(url: string, instead: string): string {
  if (url.startsWith('file:')) return url.slice('file:'.length)
  throw misconfigured(`the database is PostgreSQL: ${instead} (docs/operating/backup.md)`)
}

/** What a copy holds, for a sentence. */
export function contentOf({ bytes, ledger }: Pick<BackupCheck, 'bytes' | 'ledger'>): string {
  const size = `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
  if (!ledger) return size
  const { messages, entries } = ledger
  return `${size}: ${messages.toLocaleString('en')} messages, ${entries.toLocaleString('en')} ledger entries`
}

/** What was found right, for a sentence. */
export function verdictOf({ verified, ledger, as_of_from }: BackupCheck): string {
  if (verified === 'none') return 'not verified'
  const checksum = as_of_from === 'mark' ? 'checksum and structure' : 'structure'
  return ledger
    ? `${checksum} hold, and the books add up`
    : `${checksum} hold; the books of its older schema are verified when it is restored`
}
