import { SETTINGS } from '@svc/server/settings'
import { nearest } from './nearest.ts'

/** Variables of the command that are not settings of the service. */
const OTHERS = ['SVC_CONFIG', 'SVC_PROFILE']

const KNOWN = [...SETTINGS.map(({ env }) => env), ...OTHERS]

/**
 * A warning for each variable `SVC_…` that is not a setting, with the most similar name. It contains no value, because the
 * value may be a secret.
 */
export function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const names = Object.keys(env).filter((name) => name.startsWith('SVC_') && env[name]?.trim())
  return names
    .filter((name) => !KNOWN.includes(name))
    .sort()
    .map((name) => `${name} is not a setting: ${helpFor(name)}`)
}

function helpFor(name: string): string {
  const bare = name.slice('SVC_'.length)
  const suggestion = KNOWN.includes(bare) ? bare : nearest(name, KNOWN)
  return suggestion === null ? 'svc config show lists the settings' : `did you mean ${suggestion}?`
}
