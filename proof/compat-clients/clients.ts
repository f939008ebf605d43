import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../scripts/packages/run-command.ts'

const INSTALL_LIMIT_MS = 10 * 60_000
const VERSION_LIMIT_MS = 30_000

/** A client of others, and the scenario that it plays. */
export interface Client {
  /** The name in the table; a package has its major version in it. */
  name: string
  scenario: string
  /** The package and version at npm; null for a program of the system. */
  package: { name: string; version: string } | null
  /** The command of a system program that prints its version. */
  version_command: readonly string[] | null
}

/** The newest version of each major version on the day of the last change of this list, and versions in common use. */
const PACKAGES: [name: string, scenario: string, versions: string[]][] = [
  ['twilio', 'twilio.mjs', ['4.23.0', '5.13.1', '6.2.0']],
  ['resend', 'resend.mjs', ['3.5.0', '4.8.0', '5.0.0', '6.38.0']],
  ['nodemailer', 'nodemailer.mjs', ['6.10.1', '7.0.13', '8.0.11', '9.1.1', '10.6.1']],
]

/** Reads the signatures of Resend's webhooks. */
const SVIX = ['svix-1@npm:svix@1.99.1', 'svix-2@npm:svix@2.5.0']

/** Render the field `react` of Resend's package. Versions 4 and 5 accept version 1 of the renderer; version 3 has its own, for React 18.2. */
const REACT = ['react@18.2.0', 'react-dom@18.2.0', '@react-email/render@1.4.0']

/** The clients in the order of the table. */
export const CLIENTS: readonly Client[] = [
  ...PACKAGES.flatMap(([name, scenario, versions]) =>
    versions.map((version) => ({
      name: `${name}-${version.split('.', 1)[0]}`,
      scenario,
      package: { name, version },
      version_command: null,
    })),
  ),
  {
    name: 'smtplib',
    scenario: 'python.py',
    package: null,
    version_command: ['python3', '--version'],
  },
  { name: 'swaks', scenario: 'swaks.mjs', package: null, version_command: ['swaks', '--version'] },
]

/** The file of a scenario. */
export function scenarioFile(client: Client): string {
  return fileURLToPath(new URL(`./scenarios/${client.scenario}`, import.meta.url))
}

/** Installs the packages side by side in `folder`, each under the name of its client. @throws Error when npm cannot. */
export async function install(folder: string, clients: readonly Client[]): Promise<void> {
  const packages = clients.flatMap(({ name, package: of }) =>
    of ? [`${name}@npm:${of.name}@${of.version}`] : [],
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  if (packages.length === 0) return
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  const command = ['npm', 'install', '--prefer-offline', ...quiet, ...SVIX, ...REACT, ...packages]
  const ended = await runCommand(command, { cwd: folder, limit_ms: INSTALL_LIMIT_MS })
  if (!ended.isOk) throw new Error(`npm cannot install the packages:\n${ended.output}`)
}

/** The version of a client; null if it is not installed. */
export async function versionOf({ package: of, version_command }: Client): Promise<string | null> {
  if (of) return of.version
  if (!version_command) return null
  const ended = await runCommand(version_command, { cwd: '/', limit_ms: VERSION_LIMIT_MS })
  return ended.isOk ? (/\d[\d.]+/.exec(ended.output)?.[0] ?? 'unknown') : null
}
