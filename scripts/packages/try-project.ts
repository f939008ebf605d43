import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PNPM } from '../bootstrap/pnpm.mjs'
import type { Manifest } from './manifest.ts'
import { createProjectFolder } from './project-folder.ts'
import type { Project } from './projects.ts'
import { type Ended, runCommand } from './run-command.ts'

/** Compiling takes a minute, and many minutes on a busy machine. */
const INSTALL_LIMIT_MS = 15 * 60_000
const NODE_20_SQLITE = 'better-sqlite3-12@npm:better-sqlite3@12'
const COMMAND_LIMIT_MS = 5 * 60_000
/** Compiles SQLite in a tenth of the CPU time. Not with pnpm, whose store keeps what it built for other projects. */
const QUICK_COMPILER = { CFLAGS: '-O0', CXXFLAGS: '-O0' }

/** Installs a project from the registry with this binary of Node, and runs its commands until one fails. */
export async function tryProject(
  project: Project,
  { node, ...where }: { parent: string; registry: string; node: string },
): Promise<Ended> {
  const cwd = createProjectFolder(project, where)
  const asked = await runCommand([node, '-p', 'process.versions.napi'], {
    cwd,
    limit_ms: COMMAND_LIMIT_MS,
  })
  if (!asked.isOk) return asked
  const install = installOf(project, { folder: cwd, napi: Number(asked.output) })
  const env = project.manager === 'npm' ? QUICK_COMPILER : {}
  const installed = await runCommand(install, { cwd, node, env, limit_ms: INSTALL_LIMIT_MS })
  if (!installed.isOk) return installed
  for (const command of project.commands) {
    const ended = await runCommand(command, { cwd, node, limit_ms: COMMAND_LIMIT_MS })
    if (!ended.isOk) return ended
  }
  return { isOk: true, output: '' }
}

/** @param napi the version of Node-API that the project's Node has. */
function installOf(
  { manager, install, builds = [] }: Project,
  { folder, napi }: { folder: string; napi: number },
): string[] {
  const { dependencies = {} } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest
  // The error message and the READMEs give the same advice for Node 20.
  const needs_more =
    napi < 10 &&
    [...install, ...Object.keys(dependencies)].some((name) =>
      /^@svc\/(?!client|testkit)/.test(name),
    )
  const names = needs_more ? [...install, NODE_20_SQLITE] : install
  if (manager === 'npm') return ['npm', 'install', '--prefer-offline', ...names]
  const allowed = needs_more ? [...builds, 'better-sqlite3'] : builds
  return [
    ...['npx', '--yes', PNPM, names.length === 0 ? 'install' : 'add', '--prefer-offline'],
    ...allowed.map((name) => `--allow-build=${name}`),
    ...names,
  ]
}
