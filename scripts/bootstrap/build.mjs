import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hashOf } from './packages.mjs'
import { fail, print, runStep } from './processes.mjs'

const TSUP = 'node_modules/tsup/dist/cli-default.js'
const TSC = 'node_modules/typescript-7/bin/tsc'
const DECLARATIONS = 'tsconfig.declarations.json'
const SHARED = [
  'pnpm-lock.yaml',
  'tsconfig.json',
  'tsconfig.base.json',
  DECLARATIONS,
  'scripts/tsup.ts',
]

// About one of 150 builds of type declarations hangs forever; the next try is fast. On a busy machine one took more than
// three minutes without a fault.
const BUILD_LIMITS_MS = [300_000, 600_000]

/** The packages whose `dist` is older than their sources, or lacks the requested type declarations. */
export function staleBuilds(packages, { types }) {
  const hashes = buildHashes(packages)
  return packages.filter(({ name, folder }) => {
    const mark = readMark(folder)
    return mark !== `types ${hashes.get(name)}` && (types || mark !== `js ${hashes.get(name)}`)
  })
}

/**
 * Builds the stale packages, each after its dependencies, in parallel where possible; exits with the reason on
 * failure.
 */
export async function build(packages, { types }) {
  const stale = staleBuilds(packages, { types })
  if (stale.length === 0) return
  print(
    `building ${stale.map(({ name }) => name).join(', ')}${types ? ' with type declarations' : ''}…`,
  )
  const start = Date.now()
  if (types) await emitDeclarations()
  const hashes = buildHashes(packages)
  const builds = new Map()
  const built = (one) => {
    if (!builds.has(one.name)) builds.set(one.name, buildAfterNeeds(one))
    return builds.get(one.name)
  }
  const buildAfterNeeds = async (one) => {
    await Promise.all(stale.filter(({ name }) => one.needs.includes(name)).map(built))
    await buildOne(one, types)
    writeFileSync(markOf(one.folder), `${types ? 'types' : 'js'} ${hashes.get(one.name)}`)
  }
  await Promise.all(stale.map(built))
  print(`built in ${((Date.now() - start) / 1000).toFixed(1)} s`)
}

/** Emits the declarations of every source file, which tsup then rolls up into one file an entry. */
async function emitDeclarations() {
  rmSync('.bootstrap/declarations', { recursive: true, force: true })
  const doing = 'emitting type declarations'
  const args = [TSC, '-p', DECLARATIONS]
  const { code, output } = await runStep('node', args, { limit_ms: BUILD_LIMITS_MS[1], doing })
  if (code !== 0) fail(`${doing} failed`, output)
}

async function buildOne({ name, folder }, types) {
  rmSync(markOf(folder), { force: true })
  const args = [resolve(TSUP), '--silent', ...(types ? [] : ['--no-dts'])]
  let output = ''
  for (const limit_ms of BUILD_LIMITS_MS) {
    const step = await runStep('node', args, { cwd: folder, limit_ms, doing: `building ${name}` })
    if (step.code === 0) return
    if (!step.isOverLimit) fail(`building ${name} failed`, step.output)
    output = step.output
  }
  const limits = BUILD_LIMITS_MS.map((ms) => `${ms / 1000} s`).join(' and then ')
  fail(`building ${name} took more than ${limits}`, output)
}

/** A package's hash covers its sources, its configuration and the hashes of the packages it needs. */
function buildHashes(packages) {
  const shared = hashOf(SHARED, [])
  const hashes = new Map()
  const hashed = (one) => {
    if (!hashes.has(one.name)) {
      const needs = packages.filter(({ name }) => one.needs.includes(name)).map(hashed)
      const paths = ['package.json', 'tsup.config.ts', 'src', 'console'].map((name) =>
        join(one.folder, name),
      )
      hashes.set(one.name, hashOf(paths, [shared, ...needs]))
    }
    return hashes.get(one.name)
  }
  packages.forEach(hashed)
  return hashes
}

/** The mark is in `dist`, so that a removal of the folder removes the mark too. */
function markOf(folder) {
  return join(folder, 'dist', '.built')
}

function readMark(folder) {
  return existsSync(markOf(folder)) ? readFileSync(markOf(folder), 'utf8') : null
}
