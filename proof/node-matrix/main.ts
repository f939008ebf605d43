// Runs the service under each supported version of Node, in a copy of the working tree with an install for that
// version:
//
//   npm run node-matrix            all versions in proof/node-matrix/versions.ts
//   npm run node-matrix -- 24      the versions of one release line
//
// The version that runs the matrix only installs, starts and stops the service: `npm test` does the other steps with it.
// The binaries and their headers come from npm. Exits with 1 when a step fails.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binaryOf } from './node-of.ts'
import { STEPS } from './steps.ts'
import { NODE_VERSIONS } from './versions.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const line = process.argv[2]
const versions = NODE_VERSIONS.filter((version) => !line || version.startsWith(`${line}.`))
if (versions.length === 0) {
  console.error(`no version ${line}; there are ${NODE_VERSIONS.join(', ')}`)
  process.exit(2)
}

// Children and copies are removed on 'exit', which a signal does not emit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const results: string[] = []
for (const version of versions) {
  const start = Date.now()
  const isOk = await runVersion(version)
  if (!isOk) process.exitCode = 1
  results.push(`Node ${version} ${isOk ? 'passed' : 'FAILED'} (${secondsSince(start)} s)`)
}
console.log(results.join('\n'))

async function runVersion(version: string): Promise<boolean> {
  const node = await binaryOf(version)
  const cwd = copyOfClone()
  process.once('exit', () => rmSync(cwd, { recursive: true, force: true, maxRetries: 3 }))
  const env = environment(node)
  const is_newest = version === NODE_VERSIONS.at(-1)
  const isOwn = version === process.versions.node
  for (const { name, work } of STEPS.filter((step) => !(isOwn && step.is_in_tests))) {
    const start = Date.now()
    const prefix = `Node ${version}`
    try {
      const remark = await work({ cwd, env, is_newest })
      console.log(`${prefix} ok     ${name}: ${remark} (${secondsSince(start)} s)`)
    } catch (error) {
      console.log(`${prefix} FAILED ${name} (${secondsSince(start)} s)`)
      console.log((error as Error).message.replace(/^/gm, '    '))
      return false
    }
  }
  rmSync(cwd, { recursive: true, force: true })
  return true
}

/**
 * This version is first on the path, so that each child process uses it; without the variables of npm and of a
 * service.
 */
function environment(node: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(svc_|npm_(?!config_)|npm_config_local_prefix|node_|port$|host$)/i.test(name),
  )
  return {
    ...Object.fromEntries(kept),
    CI: 'true',
    PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
  }
}

function secondsSince(start: number): string {
  return ((Date.now() - start) / 1000).toFixed(1)
}

/**
 * Copies the working tree, without the files that Git ignores, into a temporary folder. Includes the built packages:
 * they are the same for each version of Node.
 */
function copyOfClone(): string {
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
