import { fileURLToPath } from 'node:url'
import { build, staleBuilds } from './build.mjs'
import { install, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { readPackages } from './packages.mjs'
import { print, runCommand } from './processes.mjs'

const ROOT = new URL('../..', import.meta.url)

/** Brings the clone up to date as the arguments request, runs their command and exits with its code. */
export async function main(args) {
  const run = parse(args)
  process.chdir(fileURLToPath(ROOT))
  const packages = readPackages()
  if (!isReady(packages, run)) {
    await withLock('.bootstrap', async () => {
      if (!isInstalled(packages)) await install(packages)
      if (run.build) await build(packages, run)
    })
  }
  process.exit(run.command.length === 0 ? 0 : await runCommand(run.command))
}

function isReady(packages, run) {
  if (!isInstalled(packages)) return false
  return !run.build || staleBuilds(packages, run).length === 0
}

function parse(args) {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  const unknown = options.find((option) => option !== '--build' && option !== '--build=types')
  if (unknown !== undefined) {
    print(
      `unknown option ${unknown}; use: node scripts/bootstrap.mjs [--build|--build=types] [-- command…]`,
    )
    process.exit(2)
  }
  return {
    build: options.length > 0,
    types: options.includes('--build=types'),
    command: end === -1 ? [] : args.slice(end + 1),
  }
}
