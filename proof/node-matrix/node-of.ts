import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { finish } from '../stage/command.ts'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/node-matrix', import.meta.url))
const INSTALL_LIMIT_MS = 10 * 60_000

/** The binary of a version: the running Node if it is that version, otherwise from npm, cached. */
export async function binaryOf(version: string): Promise<string> {
  if (process.versions.node === version) return process.execPath
  const os = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${os}-${process.arch}`
  const folder = join(CACHE, version)
  // The package has the headers beside the binary, where the bootstrap looks for them.
  const binary = join(folder, 'node_modules', name, 'bin/node')
  if (existsSync(binary)) return binary
  mkdirSync(CACHE, { recursive: true })
  // Two checks may install the same version at once, and a binary that exists must be complete.
  const installing = mkdtempSync(`${folder}-`)
  await finish(
    ['npm', 'install', '--prefix', installing, '--no-audit', '--no-fund', `${name}@${version}`],
    { cwd: installing, limit_ms: INSTALL_LIMIT_MS, env: process.env },
  )
  try {
    renameSync(installing, folder)
  } catch (error) {
    rmSync(installing, { recursive: true, force: true })
    if (!existsSync(binary)) throw error
  }
  return binary
}
