import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The name of a backup in a folder, which contains its time. */
const NAME = /^svc-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)\.db$/

/** The ending of the name of an incomplete copy. */
export const PARTIAL = '.partial'

/** Returns a name such as `svc-2026-01-31T23-59-59-000Z.db`. These names sort by time. */
export function backupName(at: Date): string {
  return `svc-${at.toISOString().replace(/[:.]/g, '-')}.db`
}

/** A backup in a folder. Only its name was read. */
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

/** Removes all backups except the newest `keep` and `spared`; returns the removed names. */
export function removeOldest(folder: string, keep: number, spared: string): string[] {
  const old = backupsIn(folder).slice(keep)
  const removed = old.map(({ name }) => name).filter((name) => name !== spared)
  for (const name of removed) rmSync(join(folder, name), { force: true })
  return removed
}

/** Removes the files that killed backup processes left in a folder. */
export function removePartial(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [base = '', rest] = name.split(PARTIAL)
    if (NAME.test(base) && (rest === '' || rest === '-journal')) {
      rmSync(join(folder, name), { force: true })
    }
  }
}
