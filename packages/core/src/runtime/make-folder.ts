import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder with its missing parents, which by default only their owner may read; an existing folder is left as it is. `mkdirSync` with
 * `recursive` repeats for ever where the file system reports ENOENT for a new name, as `/proc` does.
 * @throws Error of the file system, such as EACCES; EEXIST if the name is that of a file
 */
export function makeFolder(path: string, mode = 0o700): void {
  const missing: string[] = []
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) {
    missing.unshift(folder)
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode })
    } catch (error) {
      // Another process may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  // Throws EEXIST for a file of this name.
  if (!statSync(path).isDirectory()) mkdirSync(path)
}
