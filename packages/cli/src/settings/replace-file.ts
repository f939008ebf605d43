import { randomBytes } from 'node:crypto'
import { realpath, rename, rm, writeFile } from 'node:fs/promises'

/**
 * Replaces a file atomically: a reader sees the old file or the new one. For a symbolic link the target is replaced,
 * not the link.
 */
export async function replaceFile(
  path: string,
  text: string,
  { mode }: { mode: number },
): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    // A new file gets `mode`, and `wx` follows no link that another user created at this path.
    await writeFile(draft, text, { mode, flag: 'wx' })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
