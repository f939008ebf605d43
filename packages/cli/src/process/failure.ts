import { CommanderError } from 'commander'

/** 1: refused or invalid. 2: usage or configuration. 3: the server cannot be reached. */
export type ExitCode = 1 | 2 | 3

/** Why a command ends without having done its work: one line that says what to do. */
export class Failure extends Error {
  override readonly name = 'Failure'
  /** A stable word for machines. */
  readonly code: string
  readonly exit_code: ExitCode

  constructor(code: string, message: string, exit_code: ExitCode = 1) {
    super(message)
    this.code = code
    this.exit_code = exit_code
  }
}

/** The command was called in a way that cannot be meant. */
export function usage(message: string): Failure {
  return new Failure('usage', message, 2)
}

/** Something around the command is missing or set wrongly. */
export function misconfigured(message: string): Failure {
  return new Failure('configuration', message, 2)
}

/** Nobody answers. */
export function unreachable(message: string): Failure {
  return new Failure('unreachable', message, 3)
}

/** What is said of an error: `hint` says to people what may help. */
export interface Explanation {
  error: string
  message: string
  hint?: string | undefined
  exit_code: number
}

/** What to do about a refusal of the server, where the refusal does not say it. */
const HINTS: Record<string, string> = {
  unauthorized: 'give a valid key with SVC_API_KEY or --key-stdin',
  token_expired: 'give a valid key with SVC_API_KEY or --key-stdin',
  insufficient_credits: 'svc credits grant gives more',
}

/** Says what went wrong in one line, whatever was thrown; never with a stack. */
export function explain(thrown: unknown): Explanation {
  const error = rootOf(thrown)
  if (error instanceof Failure) return explanation(error.code, error.message, error.exit_code)
  if (error instanceof CommanderError) return explanation('usage', usageText(error), 2)
  // By name and not by class: loading the classes would load what most commands do not need.
  if (error.name === 'ConfigError' || error.name === 'SealedError') {
    return explanation('configuration', error.message, 2)
  }
  if (error.name === 'SvcError') {
    const { code = 'failed' } = error
    return { ...explanation(code, refusalText(error), 1), hint: HINTS[code] }
  }
  return explanation('failed', systemText(error), 1)
}

interface Thrown extends Error {
  code?: string
  path?: string
  port?: number
  address?: string
  hostname?: string
}

function rootOf(thrown: unknown): Thrown {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  // Its own message is the statement, its cause what is wrong.
  return error.name === 'DrizzleQueryError' && error.cause instanceof Error ? error.cause : error
}

function explanation(error: string, message: string, exit_code: number): Explanation {
  return { error, message: message.trim(), exit_code }
}

function usageText(error: CommanderError): string {
  const [text = '', ...more] = error.message.replace(/^error: /, '').split('\n')
  const suggestion = more.join(' ').trim()
  return suggestion === '' ? text : `${text} ${suggestion}`
}

function refusalText({ code, message, cause }: Thrown): string {
  const isTold =
    code === 'internal_error' && cause instanceof Error && !cause.message.includes('\n')
  return isTold ? `${message} (${cause.message})` : message
}

/** What is wrong with a file, by the system's code. */
const FILE_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'you may not',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a link that leads nowhere',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'there is no such file',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'what should be a folder is none',
  EPERM: 'you may not',
  EROFS: 'nothing can be written there',
}

function systemText({ code = '', message, path, port, address, hostname }: Thrown): string {
  if (code === 'EADDRINUSE')
    return `port ${port} is taken: stop what uses it, or choose another one`
  if (code === 'EACCES' && port !== undefined) {
    return `port ${port} may not be used: choose one from 1024 on`
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `cannot listen on ${hostname ?? address}: set HOST to an address of this machine`
  }
  if (message.startsWith('another svc process already serves')) {
    return `${message}: stop it, or choose another folder with SVC_DATA_DIR`
  }
  if (message.startsWith('database_url ')) {
    return message.replace('database_url', 'the database (SVC_DATABASE_URL or --database)')
  }
  if (code.startsWith('SQLITE_BUSY')) return 'the database is busy: try again in a moment'
  if (code.startsWith('SQLITE_')) return `the database failed: ${message}`
  const fault = FILE_FAULTS[code]
  if (fault !== undefined) return `cannot use ${path ?? 'the file'}: ${fault}`
  return message.split('\n')[0] || 'something failed, and did not say what'
}
