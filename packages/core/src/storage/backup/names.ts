import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The names under which backups stand in a folder, by the time they are of. */
const NAME = /^svc-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)\.db$/

/** What a copy is called until it is whole. */
export const PARTIAL = '.partial'

/** `svc-2026-01-31T23-59-59-000Z.db`: names sort as their times do. */
export function backupName(at: Date): string {
  return `svc-${at.toISOString().replace(/[:.]/g, '-')}.db`
}

/** A backup in a folder, by its name alone. */
export interface NamedBackup {
  name: string
  at: Date
}

/** The backups of a folder, the newest first; other files are none. */
export function backupsIn(folder: string): NamedBackup[] {
  const found = readdirSync(folder).flatMap((name) => {
    const [, day, minutes, seconds, rest] = NAME.exec(name) ?? []
    return day ? [{ name, at: new Date(`${day}:${minutes}:${seconds}.${rest}`) }] : []
  })
  return found.sort((a, b) => (a.name < b.name ? 1 : -1))
}

/** Removes all but the newest `keep` backups, and never `spared`; answers the names of those removed. */
export function removeOldest(folder: string, keep: number, spared: string): string[] {
  const old = backupsIn(folder).slice(keep)
  const removed = old.map(({ name }) => name).filter((name) => name !== spared)
  for (const name of removed) rmSync(join(folder, name), { force: true })
  return removed
}

/** Removes what backups that were killed have left in a folder. */
export function removePartial(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [base = '', rest] = name.split(PARTIAL)
    if (NAME.test(base) && (rest === '' || rest === '-journal')) {
      rmSync(join(folder, name), { force: true })
    }
  }
}
