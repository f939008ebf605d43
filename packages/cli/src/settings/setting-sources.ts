import { misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { readConfigFile } from './config-file.ts'

/**
 * Adds the settings of the configuration file to `env`; variables of the environment take precedence.
 * @throws Failure for a file that cannot be read or has a fault.
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
  const overrides = SETTINGS.flatMap(({ env, key }) => {
    const text = file.texts.get(env)
    if (text === undefined || io.env[env]?.trim()) return []
    return [{ env, text, origin: `${key} in ${file.path}` }]
  })
  return withSettings(io, overrides)
}

/** A setting that does not come from the environment; `origin` names its source in errors. */
export interface SettingOverride {
  env: string
  text: string
  origin: string
}

/** Replaces settings of the environment with settings from other sources. */
export function withSettings(io: ProcessIo, overrides: readonly SettingOverride[]): ProcessIo {
  const texts = Object.fromEntries(overrides.map(({ env, text }) => [env, text]))
  const origins = overrides.map(({ env, origin }): [string, string] => [env, origin])
  return {
    ...io,
    env: { ...io.env, ...texts },
    origins: new Map([...(io.origins ?? []), ...origins]),
  }
}

/** Replaces variables in an error about settings with their origins: `port in ./svc.config.json`, `--port`. */
export function withOrigins(error: unknown, { origins }: Pick<ProcessIo, 'origins'>): unknown {
  if (!(error instanceof Error) || error.name !== 'ConfigError' || !origins) return error
  return misconfigured(
    error.message.replaceAll(/\b[A-Z][A-Z0-9_]+\b/g, (name) => origins.get(name) ?? name),
  )
}
