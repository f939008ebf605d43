import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { dataFolder } from './data-folder.ts'
import { optionText } from './setting-names.ts'
import { type SettingOverride, withSettings } from './setting-sources.ts'

/** The options of `withListening`. */
export interface ListenOptions {
  host?: string
  port?: string
  dataDir?: string
  database?: string
  processes?: string
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
  { host, port, dataDir, database, processes }: ListenOptions,
): ProcessIo {
  const { io } = context
  const { cwd } = io
  const entries: [env: string, origin: string, text: string | undefined][] = [
    ['HOST', '--host', host],
    ['PORT', '--port', port],
    ['SVC_DATA_DIR', '--data-dir', dataDir && resolve(cwd, dataDir)],
    ['SVC_DATABASE_URL', '--database', database && databaseUrl(io, database)],
    ['SVC_PROCESSES', '--processes', processes],
  ]
  const overrides = entries.flatMap(([env, origin, text]): SettingOverride[] => {
    if (text === undefined) return []
    if (text.trim() === '') throw usage(`${origin} has no value`)
    return [{ env, origin, text }]
  })
  context.io = withSettings(io, overrides)
  return context.io
}

/** Adds `--database`. */
export function withDatabase(command: Command): Command {
  return command.option('--database <url>', optionText('SVC_DATABASE_URL'))
}

/**
 * Returns the URL of the database, without a pooler if that is set: commands need a session. The path of a file becomes absolute.
 * @throws Failure for an unknown engine, and for an option without a value.
 */
export function databaseUrl(io: ProcessIo, option: string | undefined): string {
  if (option?.trim() === '') throw usage('--database has no value')
  const { SVC_DATABASE_URL, SVC_DATABASE_DIRECT_URL } = io.env
  const url = (option ?? (SVC_DATABASE_DIRECT_URL?.trim() || SVC_DATABASE_URL))?.trim()
  if (!url) return `file:${join(dataFolder(io), 'svc.db')}`
  if (url.startsWith('file://')) return `file:${fileURLToPath(url)}`
  if (url.startsWith('file:')) return `file:${resolve(io.cwd, url.slice('file:'.length))}`
  if (/^postgres(ql)?:/.test(url)) return url
  throw misconfigured(`the database must begin with file: or postgres: — got ${url.split(':')[0]}:`)
}

/** Turns an ArchiveRefusal into a failure with the advice for its code, and an abort into the failure `stopped`. */
export function withAdvice(thrown: unknown, advices: Readonly<Record<string, string>>): unknown {
  if (!(thrown instanceof Error)) return thrown
  if (thrown.name === 'AbortError') return new Failure('stopped', 'stopped; nothing was written')
  if (thrown.name !== 'ArchiveRefusal') return thrown
  const { code } = thrown as Error & { code: string }
  const advice = advices[code]
  return new Failure(code, advice === undefined ? thrown.message : `${thrown.message}: ${advice}`)
}
