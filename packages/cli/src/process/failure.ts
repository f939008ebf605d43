import { CommanderError } from 'commander'

/**
 * 1: the command failed. 2: the usage or the configuration is wrong. 3: the server cannot be reached. 4: an upgrade needs that
 * servers are stopped.
 */
type ExitCode = 1 | 2 | 3 | 4

/** The failure of a command. The message is one line and says what to do. */
export class Failure extends Error {
  override readonly name = 'Failure'
  /** A stable code for programs. */
  readonly code: string
  readonly exit_code: ExitCode

  constructor(code: string, message: string, exit_code: ExitCode = 1) {
    super(message)
    this.code = code
    this.exit_code = exit_code
  }
}

/** The arguments of the command are wrong. */
export function usage(message: string): Failure {
  return new Failure('usage', message, 2)
}

/** A setting, a file or another condition of the command is missing or wrong. */
export function misconfigured(message: string): Failure {
  return new Failure('configuration', message, 2)
}

/** The server does not answer. */
export function unreachable(message: string): Failure {
  return new Failure('unreachable', message, 3)
}

/** The reported form of an error; `hint` is shown only to people. */
export interface Explanation {
  error: string
  message: string
  hint?: string | undefined
  exit_code: number
}

/** Hints for the server's errors that have no advice in their message. */
const HINTS: Record<string, string> = {
  unauthorized: 'give a valid key with SVC_API_KEY or --key-stdin',
  token_expired: 'give a valid key with SVC_API_KEY or --key-stdin',
  insufficient_credits: 'svc credits grant adds credits',
}

/** Explains any thrown value in one line, without a stack. */
export function explain(thrown: unknown): Explanation {
  const error = rootOf(thrown)
  if (error instanceof Failure) return explanation(error.code, error.message, error.exit_code)
  if (error instanceof CommanderError) return explanation('usage', usageText(error), 2)
  // Compare the name, because an import of the classes would load modules that most commands do not need.
  const isSetting =
    error.name === 'ConfigError' || error.name === 'SealedError' || error.code === 'package_missing'
  if (isSetting) {
    return explanation('configuration', error.message, 2)
  }
  if (error.code === 'connection_failed' || error.code === 'timeout') return unanswered(error)
  if (error.name === 'SvcError' || error.requestId !== undefined) {
    const { code = 'failed' } = error
    return { ...explanation(code, refusalText(error), 1), hint: HINTS[code] }
  }
  return explanation('failed', systemText(error), 1)
}

interface Thrown extends Error {
  /** Only errors of the client have these. */
  requestId?: string | null
  status?: number | null
  code?: string
  path?: string
  syscall?: string
  port?: number
  address?: string
  hostname?: string
}

function rootOf(thrown: unknown): Thrown {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  // The message of a DrizzleQueryError is the SQL statement; the reason is in its cause.
  return error.name === 'DrizzleQueryError' && error.cause instanceof Error ? error.cause : error
}

/** The server cannot be reached, or redirects to another address. */
function unanswered({ message, status }: Thrown): Explanation {
  const isElsewhere = status !== null && status !== undefined
  return isElsewhere
    ? explanation('redirected', `${message}: give the final address with --url`, 1)
    : explanation(
        'unreachable',
        `${message}: start the server with svc dev, or give its address with --url`,
        3,
      )
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
  const showsCause =
    code === 'internal_error' && cause instanceof Error && !cause.message.includes('\n')
  return showsCause ? `${message} (${cause.message})` : message
}

/** The reason why a file cannot be used, for each error code of the system. */
const FILE_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'there is no such file',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
}

function systemText({
  code = '',
  message,
  path,
  syscall,
  port,
  address,
  hostname,
}: Thrown): string {
  if (code === 'EADDRINUSE')
    return `port ${port} is in use: stop the program that uses it, or choose another port`
  if (code === 'EACCES' && port !== undefined) {
    return `no permission to use port ${port}: choose 1024 or higher`
  }
  if (code === 'EADDRNOTAVAIL' && syscall !== 'connect') {
    return `cannot listen on ${address}: set HOST to an address of this machine`
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `no address found for the host ${hostname}: check the name in HOST or in the address of the database (SVC_DATABASE_URL or --database)`
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
  return message.split('\n')[0] || 'an error without a message'
}
