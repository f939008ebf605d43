import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { dataFolder } from './data-folder.ts'
import { optionText } from './setting-texts.ts'

/** Adds `--database`. */
export function withDatabase(command: Command): Command {
  return command.option('--database <url>', optionText('SVC_DATABASE_URL'))
}

/**
 * Returns the URL of the database. The path of a file becomes absolute.
 * @throws Failure for an unknown engine, and for an option without a value.
 */
export function databaseUrl(io: ProcessIo, option: string | undefined): string {
  if (option?.trim() === '') throw usage('--database has no value')
  const url = (option ?? io.env.SVC_DATABASE_URL)?.trim()
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
