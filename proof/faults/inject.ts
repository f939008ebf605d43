import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Makes calls of a running process fail or last longer, and shifts its clock. */
export interface Injection {
  /** For the environment of that process. */
  env: Record<string, string>
  /** Makes each write to a file of the data folder fail; null stops that. */
  failWrites(error: 'EIO' | 'EROFS' | 'ENOSPC' | null): void
  /** Makes each flush of such a file fail. */
  failFlushes(error: 'EIO' | null): void
  /** Makes each flush of such a file last longer. */
  delayFlushes(ms: number): void
  shiftClock(ms: number): void
  /** The number of calls that failed so far. */
  failed(): number
  close(): void
}

/** The reason why injection is impossible here, or null. */
export function injectionMissing(): string | null {
  if (process.platform !== 'linux') return 'LD_PRELOAD needs Linux'
  return spawnSync('cc', ['--version']).status === 0 ? null : 'no C compiler (cc)'
}

/**
 * @param folder contains the library and its control file; it is not `data`. Spaces and colons separate the libraries of
 *   LD_PRELOAD, so its path has none.
 */
export function openInjection({ folder, data }: { folder: string; data: string }): Injection {
  const library = join(folder, 'inject.so')
  if (/[ :]/.test(library)) throw new Error(`${library}: LD_PRELOAD reads no such path`)
  const source = fileURLToPath(new URL('./inject.c', import.meta.url))
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], {
    encoding: 'utf8',
  })
  if (compiled.status !== 0) throw new Error(`inject.c: ${compiled.stderr}`)
  const file = join(folder, 'inject.control')
  writeFileSync(file, Buffer.alloc(32))
  const control = openSync(file, 'r+')

  // The fields of `struct control`.
  function setError(at: 0 | 4, name: keyof typeof constants.errno | null): void {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(name ? constants.errno[name] : 0)
    writeSync(control, bytes, 0, 4, at)
  }

  function setNumber(at: 8 | 24, value: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    writeSync(control, bytes, 0, 8, at)
  }

  return {
    env: { LD_PRELOAD: library, SVC_FAULT_CONTROL: file, SVC_FAULT_FOLDER: data },
    failWrites: (error) => setError(0, error),
    failFlushes: (error) => setError(4, error),
    delayFlushes: (ms) => setNumber(24, Math.round(ms * 1000)),
    shiftClock: (ms) => setNumber(8, ms),
    failed() {
      const bytes = Buffer.alloc(8)
      readSync(control, bytes, 0, 8, 16)
      return Number(bytes.readBigInt64LE())
    },
    close: () => closeSync(control),
  }
}
