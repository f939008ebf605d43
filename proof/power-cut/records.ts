import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The changes of a process to one file, in their order. */
export interface Change {
  kind: 'created' | 'written' | 'cut' | 'flushed' | 'flush failed' | 'removed' | 'renamed'
  /** Relative to the recorded folder; empty for the folder itself. */
  name: string
  /** The return time of the call, by the monotonic clock (`process.hrtime.bigint()`). */
  at_ns: bigint
  /** The offset of the bytes; the new size of a truncated file. */
  offset: number
  /** The written bytes; the new name of a renamed file. */
  bytes: Buffer
  /** The offset of its record in the log. */
  log_at: number
}

const KINDS: readonly (Change['kind'] | 'unknown')[] = [
  'created',
  'written',
  'cut',
  'flushed',
  'flush failed',
  'removed',
  'renamed',
  'unknown',
]

const HEAD_BYTES = 24

/** The requirement of the recorder that this machine lacks; null if there is none. */
export function recorderMissing(): string | null {
  if (process.platform !== 'linux') return 'Linux'
  return spawnSync('cc', ['--version']).status === 0 ? null : 'a C compiler (cc)'
}

/**
 * Compiles the recorder into a folder and returns its path.
 * @throws Error when it cannot be compiled or would not be loaded.
 */
export function compileRecorder(folder: string): string {
  const missing = recorderMissing()
  if (missing) throw new Error(`power cuts cannot be recorded without ${missing}`)
  const source = fileURLToPath(new URL('./recorder.c', import.meta.url))
  const library = join(folder, 'recorder.so')
  const options = ['-std=gnu11', '-O1', '-Wall', '-Werror', '-shared', '-fPIC']
  try {
    execFileSync('cc', [...options, '-o', library, source, '-ldl'], { stdio: 'pipe' })
  } catch (cause) {
    throw new Error('the recorder of power cuts could not be compiled', { cause })
  }
  return library
}

/**
 * Reads the records.
 * @throws Error when files were changed in a way that the recorder does not track.
 */
export function readChanges(log: string): Change[] {
  const all = readFileSync(log)
  const changes: Change[] = []
  for (let at = 0; at < all.length; ) {
    const length = all.readUInt32LE(at + 16)
    const name_length = all.readUInt16LE(at + 22)
    const body = at + HEAD_BYTES + name_length
    const kind = KINDS[all.readUInt16LE(at + 20) - 1]
    const name = all.toString('utf8', at + HEAD_BYTES, body)
    const change = {
      name,
      log_at: at,
      at_ns: all.readBigUInt64LE(at),
      offset: Number(all.readBigUInt64LE(at + 8)),
      bytes: all.subarray(body, body + length),
    }
    at = body + length
    // The log's index is shared memory of the processes: it is rebuilt after a power cut.
    if (name.endsWith('-shm')) continue
    if (kind === undefined || kind === 'unknown') {
      throw new Error(`${name} is changed by ${change.bytes}, which the recorder does not track`)
    }
    changes.push({ ...change, kind })
  }
  return changes
}
