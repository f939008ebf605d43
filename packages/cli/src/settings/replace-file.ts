import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'

/**
 * Replaces a file atomically: a reader sees either the old file or the new file. If the path is a symbolic link, the
 * target is replaced and not the link.
 */
export async function replaceFile(
  path: string,
  text: string,
  { mode }: { mode: number },
): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    // With `wx` the file is new, so it gets `mode`, and a link that another user created here is not followed.
    await writeFile(draft, text, { mode, flag: 'wx' })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * Writes a file that only its owner can read. It replaces an older file, as `replaceFile` does, when it is complete and on disk; a
 * failure leaves the older file. A pipe or a device is written directly.
 */
export async function writeWhole<T>(path: string, write: (to: Writable) => Promise<T>): Promise<T> {
  const target = await realpath(path).catch(() => path)
  const older = await stat(target).catch(() => null)
  const isDirect = older !== null && !older.isFile()
  const part = isDirect ? target : `${target}.part-${randomBytes(4).toString('hex')}`
  const options = isDirect ? { flags: 'w' } : { flags: 'wx', flush: true }
  const stream = createWriteStream(part, { ...options, mode: 0o600 })
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  try {
    const result = await write(stream)
    stream.end()
    await finished(stream)
    await closed
    if (!isDirect) await rename(part, target)
    return result
  } catch (error) {
    stream.destroy()
    await closed
    if (!isDirect) await rm(part, { force: true })
    throw error
  }
}
