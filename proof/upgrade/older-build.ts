import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { finish } from '../stage/command.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BUILD_MAX_MS = 1_800_000

/**
 * Takes a commit out of this repository, installs its dependencies and builds it. Returns the command that gets `serve`.
 * @throws Error with the output of the step that failed.
 */
export async function buildOlder(commit: string, folder: string): Promise<readonly string[]> {
  mkdirSync(folder)
  const take = ['sh', '-c', 'git archive "$0" | tar -x -C "$1"', commit, folder]
  await finish(take, { cwd: ROOT, env: process.env })
  const build = [process.execPath, 'scripts/bootstrap.mjs', '--build']
  await finish(build, { cwd: folder, env: process.env, limit_ms: BUILD_MAX_MS })
  return [process.execPath, join(folder, 'packages/cli/bin/svc.js')]
}
