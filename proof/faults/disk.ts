import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../stage/until.ts'
import { expectHealth } from './health.ts'
import { injectionMissing } from './inject.ts'
import type { Scenario, Scene } from './scenario.ts'

/** The duration of a fault after the service has reported it. */
const LASTS_MS = { full: 5_000, short: 300 }

async function last({ short }: Scene): Promise<void> {
  await pause(LASTS_MS[short ? 'short' : 'full'])
}

/** Faults of the data folder's disk: full, broken, read-only. */
export const DISK: readonly Scenario[] = [
  {
    name: 'disk-full',
    title: 'the file system of the data folder fills up',
    missing: () => (process.getuid?.() === 0 ? null : 'mounting a small tmpfs needs root'),
    disk_mib: 96,
    fails: true,
    ends: 'may',
    async play(scene) {
      const filler = join(scene.data, 'filler')
      scene.note(`filled with ${fill(filler)} KiB`)
      await expectHealth(scene, { database: 'error', name: 'disk-full' })
      await last(scene)
      rmSync(filler)
      await expectHealth(scene, { database: 'ok', name: 'disk-full' })
    },
  },
  writesFail('disk-full-injected', 'ENOSPC', 'every write to the data folder fails with ENOSPC'),
  writesFail('write-error', 'EIO', 'every write to the data folder fails with EIO'),
  writesFail('read-only', 'EROFS', 'the data folder is read-only (EROFS)'),
  {
    name: 'flush-error',
    title: 'a flush fails with EIO',
    missing: injectionMissing,
    injects: true,
    fails: true,
    ends: 'must',
    async play(scene) {
      const { injection, service } = scene
      const before = injection.failed()
      injection.failFlushes('EIO')
      await until(() => injection.failed() !== before, { max_ms: 30_000, every_ms: 2 })
      injection.failFlushes(null)
      await Promise.race([service().ended, pause(15_000)])
    },
  },
]

/** Writes a file until the disk is full, while the service writes too. */
function fill(file: string): number {
  const block = Buffer.alloc(4_096)
  const fd = openSync(file, 'w')
  try {
    for (let blocks = 0; ; blocks++) {
      try {
        writeSync(fd, block)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return blocks * 4
        throw error
      }
    }
  } finally {
    closeSync(fd)
  }
}

function writesFail(name: string, error: 'EIO' | 'EROFS' | 'ENOSPC', title: string): Scenario {
  return {
    name,
    title,
    missing: injectionMissing,
    injects: true,
    fails: true,
    ends: 'may',
    async play(scene) {
      const { injection } = scene
      const before = injection.failed()
      injection.failWrites(error)
      await expectHealth(scene, { database: 'error', name })
      await last(scene)
      injection.failWrites(null)
      scene.note(`${injection.failed() - before} calls failed with ${error}`)
      await expectHealth(scene, { database: 'ok', name })
    },
  }
}
