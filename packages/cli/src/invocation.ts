import { existsSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/**
 * How to call this program again from the folder it was called in, so that the lines it prints work as pasted: `svc`
 * where that is on the path, `npx svc` beside an installed package, else `node` with the file.
 */
export function invocationOf(script: string, cwd: string): string {
  if (basename(script) === 'svc') return 'svc'
  if (existsSync(join(cwd, 'node_modules', '.bin', 'svc'))) return 'npx svc'
  const short = relative(cwd, script)
  const path = short.startsWith('..') ? script : short
  return `node ${/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`}`
}
