import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createProjectFolder } from './project-folder.ts'
import type { Project } from './projects.ts'
import { runCommand } from './run-command.ts'

const INSTALL_LIMIT_MS = 5 * 60_000
const RUN_LIMIT_MS = 60_000

/**
 * The goals for a program that embeds the core: installed packages, their size on the disk, and the CPU time of the import
 * divided by the CPU time in which Node itself starts. A machine at half the speed doubles both times.
 */
const PACKAGES_MAX = 60
const MEGABYTES_MAX = 70
const IMPORT_PER_START_MAX = 8

/** The median counts: 5.3 of runs between 4.6 and 7.4. */
const RUNS = 7

const IMPORT = `
  const cpuMs = (from) => {
    const { user, system } = process.cpuUsage(from)
    return (user + system) / 1000
  }
  const start_ms = cpuMs()
  const before = process.cpuUsage()
  await import('@svc/core')
  console.log(JSON.stringify({ start_ms, import_ms: cpuMs(before) }))
`

const PROJECT: Project = {
  name: 'the core alone',
  manager: 'npm',
  install: ['@svc/core'],
  folders: ['embedding'],
  commands: [],
}

/** Installs the core alone with npm, prints what it costs, and returns the goals that it misses. */
export async function faultsOfEmbedding(where: {
  parent: string
  registry: string
}): Promise<string[]> {
  const cwd = createProjectFolder(PROJECT, where)
  // The script of argon2 only chooses among binaries that are in its package.
  const install = ['npm', 'install', '--prefer-offline', '--ignore-scripts', ...PROJECT.install]
  const installed = await runCommand(install, { cwd, limit_ms: INSTALL_LIMIT_MS })
  if (!installed.isOk) return [installed.output]
  const packages = packagesIn(cwd)
  const megabytes = Math.ceil(bytesIn(join(cwd, 'node_modules')) / 1_000_000)
  const { import_ms, per_start } = await importCost(cwd)
  console.log(
    `       @svc/core installs ${packages} packages and ${megabytes} MB; its import takes ${Math.ceil(import_ms)} ms of CPU, ${per_start.toFixed(1)} times the start of Node`,
  )
  const tests = await runCommand(['node', '--test', 'optional.test.js'], {
    cwd,
    limit_ms: RUN_LIMIT_MS,
  })
  return [
    ...(packages > PACKAGES_MAX ? [`${packages} packages, more than ${PACKAGES_MAX}`] : []),
    ...(megabytes > MEGABYTES_MAX ? [`${megabytes} MB, more than ${MEGABYTES_MAX}`] : []),
    ...(per_start > IMPORT_PER_START_MAX
      ? [
          `the import takes ${per_start.toFixed(1)} times the start of Node, more than ${IMPORT_PER_START_MAX}`,
        ]
      : []),
    ...(tests.isOk ? [] : [tests.output]),
  ]
}

function packagesIn(folder: string): number {
  const lock = readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8')
  return Object.keys((JSON.parse(lock) as { packages: object }).packages).length
}

/** The bytes that the files of a folder take on the disk. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .map((entry) => lstatSync(join(entry.parentPath, entry.name)).blocks * 512)
    .reduce((sum, bytes) => sum + bytes, 0)
}

interface ImportCost {
  import_ms: number
  per_start: number
}

async function importCost(cwd: string): Promise<ImportCost> {
  const costs: ImportCost[] = []
  for (let run = 0; run < RUNS; run++) {
    const command = ['node', '--input-type=module', '-e', IMPORT]
    const { isOk, output } = await runCommand(command, { cwd, limit_ms: RUN_LIMIT_MS })
    if (!isOk) throw new Error(output)
    const { start_ms, import_ms } = JSON.parse(output) as { start_ms: number; import_ms: number }
    costs.push({ import_ms, per_start: import_ms / start_ms })
  }
  costs.sort((a, b) => a.per_start - b.per_start)
  return costs[RUNS >> 1] as ImportCost
}
