import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Copies the working tree, without the files that Git ignores, into a temporary folder. Includes the built packages:
 * they are the same for each version of Node.
 */
export function copyOfClone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-node-matrix-'))
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  })
  const builds = readdirSync(join(ROOT, 'packages')).map((name) => join('packages', name, 'dist'))
  for (const path of [...listed.split('\0').filter((path) => path !== ''), ...builds]) {
    if (!existsSync(join(ROOT, path))) continue
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, preserveTimestamps: true })
  }
  return folder
}
