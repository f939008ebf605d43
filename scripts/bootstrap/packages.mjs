import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The packages of the workspace in the current folder: `{ name, folder, manifest, needs }`, where `needs` names the
 * workspace packages that it depends on.
 */
export function readPackages() {
  const packages = readdirSync('packages').flatMap((name) => {
    const folder = join('packages', name)
    if (!existsSync(join(folder, 'package.json'))) return []
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const needs = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
    return [{ name: manifest.name, folder, manifest, needs }]
  })
  const ours = new Set(packages.map(({ name }) => name))
  return packages.map((one) => ({ ...one, needs: one.needs.filter((name) => ours.has(name)) }))
}

/** A hash of `facts` and of these files and folders, without tests; a missing path counts too. */
export function hashOf(paths, facts) {
  const hash = createHash('sha256')
  for (const fact of facts) hash.update(`${fact}\0`)
  for (const path of paths.flatMap(filesIn)) {
    const content = contentOf(path)
    hash.update(`${path}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function contentOf(path) {
  try {
    return readFileSync(path)
  } catch (error) {
    if (error.code === 'ENOENT') return 'absent'
    throw error
  }
}

function filesIn(path) {
  const entries = readEntries(path)
  if (entries === null) return [path]
  return entries
    .filter(({ name }) => !name.endsWith('.test.ts') && name !== 'node_modules')
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const inner = join(path, entry.name)
      // To read each file as a folder first would take a quarter of the time.
      return entry.isFile() ? [inner] : filesIn(inner)
    })
}

function readEntries(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOTDIR' || error.code === 'ENOENT') return null
    throw error
  }
}
