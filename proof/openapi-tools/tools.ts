import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../../scripts/packages/run-command.ts'

/** The tools in the versions that were tried. They are installed for a run only: nothing else of the project needs them. */
const PACKAGES = [
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-cli@6.16.3',
  '@stoplight/prism-cli@5.14.2',
  '@hey-api/openapi-ts@0.95.0',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
  '@types/node@20',
]

const INSTALL_LIMIT_MS = 10 * 60_000
const COMMAND_LIMIT_MS = 3 * 60_000

/** A folder with the tools of others that read OpenAPI documents. */
export interface Tools {
  /** The folder of the document, `openapi.json`, and of the results. */
  folder: string
  /** Runs a tool in the folder, with further environment variables. @throws Error with its output when it fails. */
  run(command: readonly string[], env?: Record<string, string>): Promise<string>
}

/** Installs the tools below `parent`. @throws Error when npm cannot. */
export async function installTools(parent: string): Promise<Tools> {
  const folder = join(parent, 'tools')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  // Without scripts: one of the tools depends on a package that would report each installation to its maker.
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  const install = ['npm', 'install', '--prefer-offline', ...quiet, ...PACKAGES]
  const installed = await runCommand(install, { cwd: folder, limit_ms: INSTALL_LIMIT_MS })
  if (!installed.isOk) throw new Error(`npm cannot install the tools:\n${installed.output}`)
  return {
    folder,
    async run(command, env = {}) {
      const ended = await runCommand(command, { cwd: folder, limit_ms: COMMAND_LIMIT_MS, env })
      if (!ended.isOk) throw new Error(`${command.join(' ')}\n${ended.output}`)
      return ended.output
    },
  }
}
