import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The packages that only some options need, and the major version that works. An embedding program installs them itself. */
export const OPTIONAL_PACKAGES = {
  nodemailer: 10,
  pg: 8,
  'postal-mime': 4,
  'smtp-server': 3,
  stripe: 23,
  twilio: 6,
} as const

export type OptionalPackage = keyof typeof OPTIONAL_PACKAGES

/**
 * Checks that optional packages are installed, so that a missing package is an error of the option and not of the first
 * message. `user` names the option, and the value in it, that needs the packages.
 * @throws Error with `code` `package_missing` that names the packages and the command that installs them.
 */
export function assertInstalled(user: string, packages: readonly OptionalPackage[]): void {
  const faults = packages.flatMap((name) => faultOf(name) ?? [])
  if (faults.length === 0) return
  const command = `npm install ${faults.map(({ wanted }) => wanted).join(' ')}`
  const text = `${user} needs ${faults.map(({ fault }) => fault).join(' and ')}: ${command}`
  throw Object.assign(new Error(text), { code: 'package_missing' })
}

function faultOf(name: OptionalPackage): { wanted: string; fault: string } | null {
  const major = OPTIONAL_PACKAGES[name]
  const wanted = `${name}@${major}`
  const installed = installedVersion(name)
  if (installed === null) return { wanted, fault: `the package ${name}, which is not installed` }
  if (installed === undefined || Number.parseInt(installed, 10) === major) return null
  return { wanted, fault: `version ${major} of the package ${name}, not ${installed}` }
}

/** The version of a package; null if the package is not installed, undefined if its version is unknown. */
function installedVersion(name: string): string | null | undefined {
  let path: string
  try {
    path = createRequire(import.meta.url).resolve(name)
  } catch (error) {
    // Any other error comes from a package that is installed.
    return (error as { code?: unknown }).code === 'MODULE_NOT_FOUND' ? null : undefined
  }
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = manifestIn(folder)
    if (manifest?.name === name) return manifest.version
  }
  return undefined
}

function manifestIn(folder: string): { name?: string; version?: string } | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch {
    return null
  }
}
