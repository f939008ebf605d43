import fs, { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Connection } from '../../packages/core/src/storage/sqlite/engine/connection.ts'
import { mixed } from './random.ts'

// The disk under SQLite's log. What was flushed survives a power cut. Of what was not, any part survives. A flush that
// failed is not repeated: the kernel counts the pages as written, and only another write of the same bytes reaches the disk.

const SECTOR = 512
const SYNCHRONOUS_FULL = 2

/** A part of the log that is in memory and not on disk. */
interface Unflushed {
  /** Null: the disk's file ends before it. */
  before: Buffer | null
  after: Buffer
}

export function createDisk(seed: number) {
  /** By the number of the sector. */
  const unflushed = new Map<number, Unflushed>()
  const levels = new WeakMap<Connection, unknown>()
  let cuts = 0
  let file = ''
  let failsNext = false
  let salts = ''

  const log = (): Buffer =>
    existsSync(`${file}-wal`) ? readFileSync(`${file}-wal`) : Buffer.alloc(0)

  /** A log that began again has other salts: what it contained before is read no more. */
  function forgetOlder(bytes: Buffer): void {
    const now = bytes.toString('hex', 16, 24)
    if (now !== salts) unflushed.clear()
    salts = now
  }

  function sectorOf(bytes: Buffer, number: number): Buffer {
    return bytes.subarray(number * SECTOR, (number + 1) * SECTOR)
  }

  /** A sector that was written since then is on disk. */
  function isStill(bytes: Buffer, number: number, { after }: Unflushed): boolean {
    return sectorOf(bytes, number).equals(after)
  }

  /** A commit that is in memory only. */
  function commitUnflushed(owner: Connection, commit: () => unknown): unknown {
    // A checkpoint comes after the flush.
    const pages = owner.pragma('wal_autocheckpoint', { simple: true })
    owner.pragma('wal_autocheckpoint = 0')
    const old = log()
    const value = commit()
    const now = log()
    forgetOlder(now)
    owner.pragma(`wal_autocheckpoint = ${pages}`)
    for (let number = 0; number * SECTOR < now.length; number++) {
      const before = sectorOf(old, number)
      const after = sectorOf(now, number)
      if (before.equals(after)) continue
      const known = unflushed.get(number)
      const isOld = known !== undefined && isStill(old, number, known)
      unflushed.set(number, {
        before: isOld ? known.before : before.length > 0 ? before : null,
        after,
      })
    }
    return value
  }

  return {
    commitUnflushed,
    /** The file of the process that starts. What is in memory stays there. */
    mount(next: string): void {
      file = next
      failsNext = false
      mounted = {
        log: `${next}-wal`,
        written(from, to) {
          const now = log()
          for (const [number, one] of unflushed) {
            const isWhole = from <= number * SECTOR && to >= number * SECTOR + one.after.length
            if (isWhole && isStill(now, number, one)) unflushed.delete(number)
          }
        },
        flush() {
          if (!failsNext) return
          failsNext = false
          throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
        },
      }
    },
    /** A commit as the service asked for it. */
    commit(owner: Connection, commit: () => unknown): unknown {
      if (!levels.has(owner)) levels.set(owner, owner.pragma('synchronous', { simple: true }))
      return levels.get(owner) === SYNCHRONOUS_FULL ? commit() : commitUnflushed(owner, commit)
    },
    /** Whether a power cut would lose a part of the log. */
    isAtRisk(): boolean {
      forgetOlder(log())
      return unflushed.size > 0
    },
    /** The next flush of a file that the service wrote itself fails. */
    failFlush(): void {
      failsNext = true
    },
    /** Leaves what is on disk, in the file of a process that has ended; returns the number of lost sectors. */
    cutPower(ended: string): number {
      file = ended
      cuts += 1
      const bytes = log()
      forgetOlder(bytes)
      const draw = mixed(seed, cuts, unflushed.size)
      const numbers = [...unflushed.keys()].sort((a, b) => a - b)
      const first = numbers[draw % Math.max(1, numbers.length)] ?? 0
      const survives = [
        () => false,
        () => true,
        (number: number) => number < first,
        (number: number) => (mixed(draw, number) & 1) === 1,
      ][(draw >>> 8) % 4] as (number: number) => boolean
      let lost = 0
      for (const number of numbers) {
        const one = unflushed.get(number) as Unflushed
        if (!isStill(bytes, number, one) || survives(number)) continue
        const sector = sectorOf(bytes, number)
        sector.fill(0)
        one.before?.copy(sector)
        lost += 1
      }
      unflushed.clear()
      if (lost > 0) writeFileSync(`${ended}-wal`, bytes)
      return lost
    },
  }
}

let mounted: {
  log: string
  /** Bytes of the log that were written again, and flushed. */
  written(from: number, to: number): void
  flush(): void
} | null = null

/** The open log, and the part of it that was written since the last flush. */
const writing = { handle: -1, from: 0, to: 0 }
const { openSync, writeSync, fsyncSync } = fs

Object.assign(fs, {
  openSync(...values: Parameters<typeof openSync>) {
    const handle = openSync(...values)
    if (values[0] === mounted?.log)
      Object.assign(writing, { handle, from: Number.MAX_SAFE_INTEGER, to: 0 })
    return handle
  },
  writeSync(...values: [number, Buffer, number, number, number]) {
    const length = writeSync(...values)
    const [handle, , , , at] = values
    if (handle === writing.handle) {
      writing.from = Math.min(writing.from, at)
      writing.to = Math.max(writing.to, at + length)
    }
    return length
  },
  fsyncSync(handle: number) {
    if (handle !== writing.handle) return fsyncSync(handle)
    writing.handle = -1
    mounted?.flush()
    fsyncSync(handle)
    mounted?.written(writing.from, writing.to)
  },
})
syncBuiltinESMExports()
