import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { databaseUrl, withDatabase } from './database-option.ts'
import { type SettingOverride, withSettings } from './setting-sources.ts'
import { optionText } from './setting-texts.ts'

/** The options of `withListening`. */
export interface ListenOptions {
  host?: string
  port?: string
  dataDir?: string
  database?: string
}

/** Adds the options for the listening address and the data of a service. */
export function withListening(command: Command): Command {
  return withDatabase(
    command
      .option('--host <address>', optionText('HOST'))
      .option('--port <number>', optionText('PORT'))
      .option('--data-dir <folder>', optionText('SVC_DATA_DIR')),
  )
}

/** Returns `io` with the options, which take precedence over the environment and the configuration file. */
export function applyListenOptions(
  context: Context,
  { host, port, dataDir, database }: ListenOptions,
): ProcessIo {
  const { io } = context
  const { cwd } = io
  const entries: [env: string, origin: string, text: string | undefined][] = [
    ['HOST', '--host', host],
    ['PORT', '--port', port],
    ['SVC_DATA_DIR', '--data-dir', dataDir && resolve(cwd, dataDir)],
    ['SVC_DATABASE_URL', '--database', database && databaseUrl(io, database)],
  ]
  const overrides = entries.flatMap(([env, origin, text]): SettingOverride[] => {
    if (text === undefined) return []
    if (text.trim() === '') throw usage(`${origin} has no value`)
    return [{ env, origin, text }]
  })
  context.io = withSettings(io, overrides)
  return context.io
}
