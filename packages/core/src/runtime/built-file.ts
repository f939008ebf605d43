import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A source file is at most this number of folders below its package. */
const PARENTS_MAX = 4

/**
 * The built file from which a thread or a process starts, for example `dispatch/worker.js`: beside the module `from` or below
 * its folder, as in a build, or in the `dist` of its package. Sources use the built file too, because Node 20 cannot start a
 * thread from TypeScript.
 * @param advice what to do without the file
 * @throws Error when there is no such file.
 */
export function builtFile(from: string, file: string, advice: string): string {
  let folder = dirname(fileURLToPath(from))
  const places = [join(folder, basename(file)), join(folder, file)]
  for (let i = 0; i < PARENTS_MAX; i++) {
    folder = dirname(folder)
    places.push(join(folder, 'dist', file))
  }
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error(`${file} is missing: ${advice}`)
  return found
}
