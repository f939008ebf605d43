import { randomBytes } from 'node:crypto'
import { realpath, rename, rm, writeFile } from 'node:fs/promises'

/**
 * Writes a file in the place of the one that may be there; a reader sees the old one or the new one, never half of one.
 * What a link leads to is replaced, and not the link.
 */
export async function replaceFile(
  path: string,
  text: string,
  { mode }: { mode: number },
): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    // Anew, or it would keep the mode of what is there, or follow a link that somebody else put there.
    await writeFile(draft, text, { mode, flag: 'wx' })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
