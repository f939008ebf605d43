import { accessSync, constants } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Log } from '@svc/core'
import { type BackupOptions, backupDatabase, backupsIn, makeFolder } from '@svc/core/operate'
import type { BackupSettings } from './settings/backups.ts'
import { ConfigError } from './settings/variables.ts'

/** The backups that the server makes by itself. */
export interface Backups {
  /** Makes a backup if it is due; resolves when the backup is done or has failed. */
  check(): Promise<void>
  /** Cancels a running backup. */
  stop(): Promise<void>
}

const CHECK_EVERY_MS = 30_000
const RETRY_MS = 10 * 60_000

/**
 * Makes backups of the SQLite database at an interval. The file names contain the times of the backups, so a restart
 * neither skips nor repeats a backup. A failure is logged, and the backup is retried after ten minutes, or after the
 * interval if that is shorter.
 * @throws ConfigError if the folder cannot be written to.
 */
export function startBackups(
  { dir, every_ms, keep }: BackupSettings,
  {
    database_url,
    made_by,
    log,
    now,
    make = backupDatabase,
  }: {
    database_url: string
    made_by: string
    log: Pick<Log, 'info' | 'error'>
    now: () => Date
    make?: (options: BackupOptions) => Promise<Awaited<ReturnType<typeof backupDatabase>>>
  },
): Backups {
  assertWritable(dir)
  const stopping = new AbortController()
  let failed_at: Date | null = null
  let making: Promise<void> | null = null
  const timer = setInterval(() => void check(), CHECK_EVERY_MS).unref()

  function isDue(): boolean {
    const at_ms = now().getTime()
    const since = (time: Date | undefined | null) =>
      time && time.getTime() <= at_ms ? at_ms - time.getTime() : Number.POSITIVE_INFINITY
    if (since(failed_at) < Math.min(RETRY_MS, every_ms)) return false
    // A backup with a time in the future comes from a wrong clock.
    const last = backupsIn(dir).find(({ at }) => at.getTime() <= at_ms)
    return since(last?.at) >= every_ms
  }

  async function makeIfDue(): Promise<void> {
    try {
      if (stopping.signal.aborted || !isDue()) return
      const database = fileOf(database_url)
      const { signal } = stopping
      const report = await make({ database, to: dir, keep, verify: 'fast', made_by, signal })
      failed_at = null
      const { file, bytes, sha256, removed, duration_ms } = report
      log.info({ file, bytes, sha256, removed, duration_ms }, 'a backup was made and verified')
    } catch (error) {
      if (stopping.signal.aborted) return
      failed_at = now()
      log.error({ err: error, dir }, 'a backup failed')
    }
  }

  function check(): Promise<void> {
    making ??= makeIfDue().finally(() => {
      making = null
    })
    return making
  }

  void check()
  return {
    check,
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await making
    },
  }
}

function assertWritable(dir: string): void {
  try {
    makeFolder(dir)
    accessSync(dir, constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`SVC_BACKUP_DIR cannot be written to: ${dir} (${code})`)
  }
}

/** The path in the URL of a SQLite database. */
export function fileOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
}
