import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Context } from './context.ts'
import { databaseUrl, withDatabase } from './database-option.ts'
import { usage } from './failure.ts'
import { type GivenSetting, withSettings } from './given-settings.ts'
import type { Surroundings } from './surroundings.ts'

/** The options of `withListening`. */
export interface ListenOptions {
  host?: string
  port?: string
  dataDir?: string
  database?: string
}

/** Adds the options that say where a service listens, and where it keeps its data. */
export function withListening(command: Command): Command {
  return withDatabase(
    command
      .option('--host <address>', 'the address to listen on (default: HOST, or 127.0.0.1)')
      .option('--port <number>', 'the port to listen on (default: PORT, or 3000)')
      .option('--data-dir <folder>', 'where data is kept (default: SVC_DATA_DIR, or ./data)'),
  )
}

/** Puts what the options say in the place of environment and configuration file; answers the surroundings then. */
export function takeListenOptions(
  context: Context,
  { host, port, dataDir, database }: ListenOptions,
): Surroundings {
  const { surroundings } = context
  const { cwd } = surroundings
  const given: [env: string, origin: string, text: string | undefined][] = [
    ['HOST', '--host', host],
    ['PORT', '--port', port],
    ['SVC_DATA_DIR', '--data-dir', dataDir && resolve(cwd, dataDir)],
    ['SVC_DATABASE_URL', '--database', database && databaseUrl(surroundings, database)],
  ]
  const taken = given.flatMap(([env, origin, text]): GivenSetting[] => {
    if (text === undefined) return []
    if (text.trim() === '') throw usage(`${origin} has no value`)
    return [{ env, origin, text }]
  })
  context.surroundings = withSettings(surroundings, taken)
  return context.surroundings
}
