import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Core } from '@svc/core'
import { backupDatabase, backupsIn, makeFolder, verifyLedgerApart } from '@svc/core/operate'
import type * as z from 'zod'
import { fileOf } from '../../scheduled-backups.ts'
import type { backups, ledger, OperatorCheck, OperatorSetting } from './answers.ts'

type Ledger = z.output<typeof ledger>
type Backups = z.output<typeof backups>

/** What the pages of operators need besides the core. A host of the console has none of it. */
export interface OperatorService {
  database_url: string
  /** Where and how backups are made; null for PostgreSQL. */
  backups: { dir: string; every_ms: number | null; keep?: number | undefined } | null
  made_by: string
  settings: readonly OperatorSetting[]
  /** The checks of `svc doctor` that a server can run on itself. */
  checks(core: Core): Promise<OperatorCheck[]>
}

/** Work that runs in the background of this server, at most one of each kind at a time. */
export interface BackgroundWork {
  ledger(): Ledger
  /** Returns false if a verification runs. */
  verifyLedger(fast: boolean): boolean
  backups(): Backups
  /** Returns false if a backup is being made. */
  makeBackup(): boolean
  /** Ends the work. */
  stop(): void
}

const BACKUPS_MAX = 20
const DIFFERENCES_MAX = 20

const NO_LEDGER: Ledger = {
  is_offered: true,
  state: 'none',
  started_at: null,
  progress: null,
  error: null,
  report: null,
}

export function createBackgroundWork(
  service: OperatorService | null,
  now: () => Date,
): BackgroundWork {
  const stopping = new AbortController()
  const { signal } = stopping
  let ledger: Ledger = { ...NO_LEDGER, is_offered: service !== null }
  let backup: Pick<Backups, 'state' | 'error'> = { state: 'none', error: null }

  return {
    ledger: () => ledger,
    verifyLedger(fast) {
      if (!service || ledger.state === 'running') return false
      const running = { ...NO_LEDGER, state: 'running' as const, started_at: now() }
      ledger = running
      const onProgress = (progress: NonNullable<Ledger['progress']>) => {
        ledger = { ...running, progress }
      }
      verifyLedgerApart(service.database_url, { fast, signal, onProgress }).then(
        ({ ok, workspaces, entries, messages, differences, has_more }) => {
          const shown = differences.slice(0, DIFFERENCES_MAX)
          const report = {
            ...{ ok, workspaces, entries, messages, differences: shown },
            has_more: has_more || differences.length > shown.length,
          }
          ledger = { ...running, state: 'done', report }
        },
        (error: Error) => {
          ledger = { ...running, state: 'failed', error: error.message }
        },
      )
      return true
    },
    backups() {
      const { dir, every_ms } = service?.backups ?? { dir: null, every_ms: null }
      return { ...backup, is_offered: dir !== null, dir, every_ms, backups: namedIn(dir) }
    },
    makeBackup() {
      if (!service?.backups || backup.state === 'running') return false
      const { dir, keep } = service.backups
      const { made_by } = service
      backup = { state: 'running', error: null }
      const database = fileOf(service.database_url)
      makeFolder(dir)
      backupDatabase({
        database,
        to: dir,
        keep: keep ?? null,
        verify: 'fast',
        made_by,
        signal,
      }).then(
        () => {
          backup = { state: 'done', error: null }
        },
        (error: Error) => {
          backup = { state: 'failed', error: error.message }
        },
      )
      return true
    },
    stop: () => stopping.abort(),
  }
}

function namedIn(dir: string | null): Backups['backups'] {
  if (dir === null) return []
  try {
    return backupsIn(dir)
      .slice(0, BACKUPS_MAX)
      .map(({ name, at }) => ({ name, at, bytes: statSync(join(dir, name)).size }))
  } catch {
    // The folder is made with the first backup.
    return []
  }
}
