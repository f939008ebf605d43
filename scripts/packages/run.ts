/**
 * Tests the packages as users get them: `npm run packages [-- <part of a project's name>]`. Packs them, checks the
 * contents of the tarballs, and installs them in example programs with npm and pnpm; some of them also with the newest
 * supported version of Node. Publishes nothing; dependencies come from npm's configured registry.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binaryOf } from '../../proof/node-matrix/node-of.ts'
import { NODE_VERSIONS } from '../../proof/node-matrix/versions.ts'
import { faultsOfLightEntries } from './bare.ts'
import { faultsOfContents } from './contents.ts'
import { faultsOfEmbedding } from './embedding.ts'
import { EXAMPLES } from './examples.ts'
import { faultsOfFormat } from './lint.ts'
import { PROJECTS, type Project } from './projects.ts'
import { faultsOfReference } from './reference.ts'
import { startRegistry } from './registry.ts'
import { packAll } from './tarballs.ts'
import { tryProject } from './try-project.ts'

/** A compiler uses one thread, and so does most other work here. */
const AT_ONCE = 2

const part = process.argv[2] ?? ''
// For projects that need a service and do not install one.
process.env.COMMAND_OF_SVC = fileURLToPath(
  new URL('../../packages/cli/bin/svc.js', import.meta.url),
)
const folder = mkdtempSync(join(tmpdir(), 'svc-packages-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const tarballs = await packAll(join(folder, 'tarballs'))
const registry = await startRegistry(tarballs)
let failed = 0

async function check(name: string, work: () => Promise<readonly string[]>): Promise<void> {
  const start = Date.now()
  const faults = await work().catch((error: Error) => [error.message])
  const seconds = ((Date.now() - start) / 1000).toFixed(1)
  console.log(`${faults.length === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  for (const fault of faults) console.log(fault.replace(/^/gm, '       '))
  if (faults.length > 0) failed++
}

/** `binary` returns the Node with which the project is installed and run. */
const checkOf = (project: Project, name: string, binary: () => string | Promise<string>) => ({
  name,
  async work() {
    const where = { parent: folder, registry: registry.url, node: await binary() }
    const { isOk, output } = await tryProject(project, where)
    return isOk ? [] : [output]
  },
})

const projects = [...PROJECTS, ...EXAMPLES]
const newest = NODE_VERSIONS.at(-1) as string
/** One download, although several projects wait for it. */
let binary: Promise<string> | null = null
const binaryOfNewest = () => {
  binary ??= binaryOf(newest)
  return binary
}

const checks = [
  ...projects.map((project) =>
    checkOf(project, `${project.manager}: ${project.name}`, () => process.execPath),
  ),
  ...projects
    .filter(({ on_newest_node = false }) => on_newest_node && newest !== process.versions.node)
    .map((project) => checkOf(project, `Node ${newest}: ${project.name}`, binaryOfNewest)),
  { name: 'contents of the tarballs', work: async () => tarballs.flatMap(faultsOfContents) },
  { name: 'the reference of the exports', work: () => faultsOfReference(folder) },
  {
    name: 'embedding: packages, size, import, optional packages',
    work: () => faultsOfEmbedding({ parent: folder, registry: registry.url }),
  },
  { name: 'light entries', work: () => faultsOfLightEntries(tarballs, folder) },
  ...tarballs.map((tarball) => ({
    name: `publint and attw of ${tarball.manifest.name}`,
    work: () => faultsOfFormat(tarball),
  })),
].filter(({ name }) => name.includes(part))

await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = checks.shift(); next; next = checks.shift()) await check(next.name, next.work)
  }),
)
registry.close()
process.exitCode = failed === 0 ? 0 : 1
