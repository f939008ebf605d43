import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tarball } from './tarballs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Files that no user needs. */
const UNWANTED = /(^|\/)(src|test|node_modules|\.built|tsup\.config\.ts|[^/]*\.test\.[^/]*)(\/|$)/

/** Paths of the build machine: bundlers leave them in source maps. */
const BUILT_AT = [`"${ROOT}`, `'${ROOT}`, `file://${ROOT}`]

/** Bytes. About half more than the current size: a larger package contains a mistake, or needs a decision. */
const SIZE_MAX: Readonly<Record<string, number>> = {
  '@svc/client': 180_000,
  // 3.0 MB, of which source maps take more than half. The copied parts of juice and their source map take 275 kB; installed, its 33
  // packages took 7.6 MB.
  '@svc/core': 3_500_000,
  // 950 kB: the source maps take half, and the console 300 kB, since each of its files, also of two languages, is there with and
  // without Brotli.
  '@svc/server': 1_200_000,
  // 250 kB: everything is there as an ES module and in CommonJS.
  '@svc/testkit': 350_000,
  '@svc/cli': 450_000,
}

/** Bytes of the types that an embedder reads: larger ones contain types of a dependency. */
const TYPES_MAX = 60_000

/** Faults in the contents of a tarball. */
export function faultsOfContents({ manifest, file, files, size, unpacked }: Tarball): string[] {
  const there = new Set(files)
  const required = ['README.md', 'CHANGELOG.md', ...targetsOf(manifest), ...dataOf(manifest)]
  const max = SIZE_MAX[manifest.name] ?? 0
  const textOf = (...paths: string[]) =>
    execFileSync('tar', ['xzOf', file, ...paths], { maxBuffer: 2 * unpacked }).toString()
  const text = textOf()
  const types = manifest.name === '@svc/core' ? textOf('package/dist/index.d.ts').length : 0
  return [
    ...required.filter((path) => !there.has(path)).map((path) => `lacks ${path}`),
    ...files.filter((path) => UNWANTED.test(path)).map((path) => `has ${path}`),
    ...BUILT_AT.filter((path) => text.includes(path)).map((path) => `names ${path}`),
    ...(types > TYPES_MAX ? [`has ${types} bytes of types, more than ${TYPES_MAX}`] : []),
    ...(size > max ? [`has ${size} bytes, more than ${max}`] : []),
  ].map((fault) => `${manifest.name} ${fault}`)
}

function targetsOf({ exports = {}, bin = {} }: Tarball['manifest']): string[] {
  const targets = [...Object.values(exports), bin as Record<string, string>].flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  )
  return targets.map((path) => path.replace(/^\.\//, ''))
}

function dataOf({ name }: Tarball['manifest']): string[] {
  if (name !== '@svc/core') return []
  const migrations = ['postgres', 'sqlite'].flatMap((engine) => {
    const folder = `migrations/${engine}`
    const steps = readdirSync(join(ROOT, 'packages/core', folder))
    return [
      `${folder}/meta/_journal.json`,
      ...steps.filter((file) => file.endsWith('.sql')).map((file) => `${folder}/${file}`),
    ]
  })
  return ['data/common-passwords.txt', 'migrations/kinds.json', ...migrations]
}
