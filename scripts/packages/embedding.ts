import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createProjectFolder } from './project-folder.ts'
import type { Project } from './projects.ts'
import { runCommand } from './run-command.ts'

const INSTALL_LIMIT_MS = 5 * 60_000
const RUN_LIMIT_MS = 60_000

/** The goals for a program that embeds the core: installed packages, their size on the disk, and CPU time of the import. */
const PACKAGES_MAX = 60
const MEGABYTES_MAX = 70
const IMPORT_CPU_MS_MAX = 300

/** The least of several runs counts, because other processes make a run longer but never shorter. */
const RUNS = 5

const IMPORT = `
  const before = process.cpuUsage()
  await import('@svc/core')
  const { user, system } = process.cpuUsage(before)
  console.log((user + system) / 1000)
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
  const cpu_ms = Math.ceil(await importCpuMs(cwd))
  console.log(
    `       @svc/core installs ${packages} packages and ${megabytes} MB; its import takes ${cpu_ms} ms of CPU`,
  )
  const tests = await runCommand(['node', '--test', 'optional.test.js'], {
    cwd,
    limit_ms: RUN_LIMIT_MS,
  })
  return [
    ...(packages > PACKAGES_MAX ? [`${packages} packages, more than ${PACKAGES_MAX}`] : []),
    ...(megabytes > MEGABYTES_MAX ? [`${megabytes} MB, more than ${MEGABYTES_MAX}`] : []),
    ...(cpu_ms > IMPORT_CPU_MS_MAX ? [`${cpu_ms} ms, more than ${IMPORT_CPU_MS_MAX}`] : []),
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

async function importCpuMs(cwd: string): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const command = ['node', '--input-type=module', '-e', IMPORT]
    const { isOk, output } = await runCommand(command, { cwd, limit_ms: RUN_LIMIT_MS })
    if (!isOk) throw new Error(output)
    times.push(Number(output))
  }
  return Math.min(...times)
}
