import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The names of backups in a folder, by their time. */
const NAME = /^svc-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)\.db$/

/** The ending of an incomplete copy. */
export const PARTIAL = '.partial'

/** `svc-2026-01-31T23-59-59-000Z.db`: the names sort by time. */
export function backupName(at: Date): string {
  return `svc-${at.toISOString().replace(/[:.]/g, '-')}.db`
}

/** A backup in a folder, by its name alone. */
export interface NamedBackup {
  name: string
  at: Date
}

/** The backups in a folder, newest first; other files are ignored. */
export function backupsIn(folder: string): NamedBackup[] {
  const found = readdirSync(folder).flatMap((name) => {
    const [, day, minutes, seconds, rest] = NAME.exec(name) ?? []
    return day ? [{ name, at: new Date(`${day}:${minutes}:${seconds}.${rest}`) }] : []
  })
  return found.sort((a, b) => (a.name < b.name ? 1 : -1))
}

/** Removes all except the newest `keep` backups, and never `spared`; returns the removed names. */
export function removeOldest(folder: string, keep: number, spared: string): string[] {
  const old = backupsIn(folder).slice(keep)
  const removed = old.map(({ name }) => name).filter((name) => name !== spared)
  for (const name of removed) rmSync(join(folder, name), { force: true })
  return removed
}

/** Removes the files of killed backups from a folder. */
export function removePartial(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [base = '', rest] = name.split(PARTIAL)
    if (NAME.test(base) && (rest === '' || rest === '-journal')) {
      rmSync(join(folder, name), { force: true })
    }
  }
}
