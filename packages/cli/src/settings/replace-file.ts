import { randomBytes } from 'node:crypto'
import { realpath, rename, rm, writeFile } from 'node:fs/promises'

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
