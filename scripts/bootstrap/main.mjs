import { fileURLToPath } from 'node:url'
import { build, staleBuilds } from './build.mjs'
import { install, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { readPackages } from './packages.mjs'
import { runCommand, say } from './processes.mjs'

const ROOT = new URL('../..', import.meta.url)

/** Brings the clone up to date as the arguments request, runs their command and exits with its code. */
export async function main(args) {
  const wanted = parse(args)
  process.chdir(fileURLToPath(ROOT))
  const packages = readPackages()
  if (!isReady(packages, wanted)) {
    await withLock('.bootstrap', async () => {
      if (!isInstalled(packages)) await install(packages)
      if (wanted.build) await build(packages, wanted)
    })
  }
  process.exit(wanted.command.length === 0 ? 0 : await runCommand(wanted.command))
}

function isReady(packages, wanted) {
  if (!isInstalled(packages)) return false
  return !wanted.build || staleBuilds(packages, wanted).length === 0
}

function parse(args) {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  const unknown = options.find((option) => option !== '--build' && option !== '--build=types')
  if (unknown !== undefined) {
    say(
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
