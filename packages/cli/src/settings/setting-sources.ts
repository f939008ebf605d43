import { misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { readConfigFile } from './config-file.ts'

/**
 * The run's io with what the configuration file sets put under the environment: a variable that is set there
 * goes before the file.
 * @throws Failure for a file that cannot be meant.
 */
export async function withConfigFile(
  io: ProcessIo,
  option: string | undefined,
  onWarning: (text: string) => void,
): Promise<ProcessIo> {
  const file = await readConfigFile(io, option)
  if (!file) return io
  if (file.warning !== null) onWarning(file.warning)
  const { SETTINGS } = await import('@svc/server/settings')
  const taken = SETTINGS.flatMap(({ env, key }) => {
    const text = file.texts.get(env)
    if (text === undefined || io.env[env]?.trim()) return []
    return [{ env, text, origin: `${key} in ${file.path}` }]
  })
  return withSettings(io, taken)
}

/** A text for a variable, and where it came from, as an error is to say it. */
export interface GivenSetting {
  env: string
  text: string
  origin: string
}

/** The io with settings from elsewhere in the place of the environment's. */
export function withSettings(io: ProcessIo, given: readonly GivenSetting[]): ProcessIo {
  const texts = Object.fromEntries(given.map(({ env, text }) => [env, text]))
  const origins = given.map(({ env, origin }): [string, string] => [env, origin])
  return {
    ...io,
    env: { ...io.env, ...texts },
    origins: new Map([...(io.origins ?? []), ...origins]),
  }
}

/** An error about settings that calls each as it was given: `port in ./svc.config.json`, `--port`. */
export function calledAsGiven(error: unknown, { origins }: Pick<ProcessIo, 'origins'>): unknown {
  if (!(error instanceof Error) || error.name !== 'ConfigError' || !origins) return error
  return misconfigured(
    error.message.replaceAll(/\b[A-Z][A-Z0-9_]+\b/g, (name) => origins.get(name) ?? name),
  )
}
