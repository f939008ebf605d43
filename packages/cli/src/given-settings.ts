import { readConfigFile } from './config-file.ts'
import { misconfigured } from './failure.ts'
import type { Surroundings } from './surroundings.ts'

/**
 * The run's surroundings with what the configuration file sets put under the environment: a variable that is set there
 * goes before the file.
 * @throws Failure for a file that cannot be meant.
 */
export async function withConfigFile(
  surroundings: Surroundings,
  option: string | undefined,
  onWarning: (text: string) => void,
): Promise<Surroundings> {
  const file = await readConfigFile(surroundings, option)
  if (!file) return surroundings
  if (file.warning !== null) onWarning(file.warning)
  const { SETTINGS } = await import('@svc/server/settings')
  const taken = SETTINGS.flatMap(({ env, key }) => {
    const text = file.texts.get(env)
    if (text === undefined || surroundings.env[env]?.trim()) return []
    return [{ env, text, origin: `${key} in ${file.path}` }]
  })
  return withSettings(surroundings, taken)
}

/** A text for a variable, and where it came from, as an error is to say it. */
export interface GivenSetting {
  env: string
  text: string
  origin: string
}

/** The surroundings with settings from elsewhere in the place of the environment's. */
export function withSettings(
  surroundings: Surroundings,
  given: readonly GivenSetting[],
): Surroundings {
  const texts = Object.fromEntries(given.map(({ env, text }) => [env, text]))
  const origins = given.map(({ env, origin }): [string, string] => [env, origin])
  return {
    ...surroundings,
    env: { ...surroundings.env, ...texts },
    origins: new Map([...(surroundings.origins ?? []), ...origins]),
  }
}

/** An error about settings that calls each as it was given: `port in ./svc.config.json`, `--port`. */
export function calledAsGiven(error: unknown, { origins }: Pick<Surroundings, 'origins'>): unknown {
  if (!(error instanceof Error) || error.name !== 'ConfigError' || !origins) return error
  return misconfigured(
    error.message.replaceAll(/\b[A-Z][A-Z0-9_]+\b/g, (name) => origins.get(name) ?? name),
  )
}
