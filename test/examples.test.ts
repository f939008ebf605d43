import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { EXAMPLES } from '../scripts/packages/examples.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = join(ROOT, 'examples')
const folders = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

interface Manifest {
  name: string
  version: string
  private?: boolean
  engines?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

const manifestOf = (path: string) =>
  JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as Manifest

describe('the examples', () => {
  it('are all run by npm run packages', () => {
    expect(EXAMPLES.map(({ example }) => example).sort()).toEqual(folders.sort())
  })

  it('are all named in their README', () => {
    const text = readFileSync(join(FOLDER, 'README.md'), 'utf8')
    expect(folders.filter((name) => !text.includes(`[${name}](${name})`))).toEqual([])
  })
})

describe.each(folders)('the example %s', (folder) => {
  const manifest = manifestOf(`examples/${folder}`)

  it('is private and has its own name', () => {
    expect(manifest).toMatchObject({ name: folder, private: true })
  })

  it('runs on the versions of Node that the packages support, or on Bun', () => {
    const { engines } = manifestOf('packages/core')
    if (manifest.engines?.bun === undefined) expect(manifest.engines).toEqual(engines)
  })

  it('depends on the current versions of the packages, or has no code of svc', () => {
    const ranges = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    const ours = ranges.filter(([name]) => name.startsWith('@svc/'))
    const current = ours.map(([name]) => {
      const { version } = manifestOf(name.replace('@svc/', 'packages/'))
      return [name, `^${version}`]
    })
    const readme = readFileSync(join(FOLDER, folder, 'README.md'), 'utf8')
    expect(ours.length === 0).toBe(readme.includes('no code of svc'))
    expect(ours).toEqual(current)
  })

  it('links to files that exist', () => {
    const text = readFileSync(join(FOLDER, folder, 'README.md'), 'utf8')
    const targets = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, target = '']) => target)
    expect(targets.filter((target) => !existsSync(join(FOLDER, folder, target)))).toEqual([])
  })

  it('names each of its files in its README', () => {
    const text = readFileSync(join(FOLDER, folder, 'README.md'), 'utf8')
    const named = [...text.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    )
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((path) => !existsSync(join(FOLDER, folder, path)))).toEqual([])
  })
})
