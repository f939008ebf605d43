import { SvcError } from '@svc/core/contract'
import { ConfigError } from '@svc/server'
import { CommanderError } from 'commander'
import { describe, expect, test } from 'vitest'
import { explain, Failure, misconfigured, unreachable, usage } from './failure.ts'

const system = (code: string, more: object = {}) =>
  Object.assign(new Error('corrupt'), { code, ...more })
const drizzle = Object.assign(new Error('Failed query: select secret\nparams: 1'), {
  name: 'DrizzleQueryError',
  cause: system('SQLITE_CORRUPT'),
})

describe('an error is explained in one line with its exit code', () => {
  test.each<[string, unknown, string, string, number]>([
    ['usage', usage('wrong option'), 'usage', 'wrong option', 2],
    ['configuration', misconfigured('set it'), 'configuration', 'set it', 2],
    ['the server', unreachable('no answer'), 'unreachable', 'no answer', 3],
    ['a failure with its own code', new Failure('timeout', 'late'), 'timeout', 'late', 1],
    ['a setting', new ConfigError('PORT must be x'), 'configuration', 'PORT must be x', 2],
    [
      'an error of the API',
      new SvcError('not_found', 'Message not found'),
      'not_found',
      'Message not found',
      1,
    ],
    [
      'a fault of the server',
      new SvcError('internal_error', 'Later.', { cause: new Error('http://x answered 502') }),
      'internal_error',
      'Later. (http://x answered 502)',
      1,
    ],
    [
      'arguments',
      new CommanderError(1, 'c', 'error: bad\n(Did you mean x?)'),
      'usage',
      'bad (Did you mean x?)',
      2,
    ],
    [
      'a package that a setting needs',
      system('package_missing', { message: 'x needs the package twilio: npm install twilio@6' }),
      'configuration',
      'x needs the package twilio: npm install twilio@6',
      2,
    ],
    [
      'a port in use',
      system('EADDRINUSE', { port: 80 }),
      'failed',
      'port 80 is in use: stop the program that uses it, or choose another port',
      1,
    ],
    [
      'a low port',
      system('EACCES', { port: 80 }),
      'failed',
      'no permission to use port 80: choose 1024 or higher',
      1,
    ],
    [
      'an address of another machine',
      system('EADDRNOTAVAIL', { syscall: 'listen', address: '9.9.9.9' }),
      'failed',
      'cannot listen on 9.9.9.9: set HOST to an address of this machine',
      1,
    ],
    [
      'a connection from no address',
      Object.assign(new Error('connect EADDRNOTAVAIL 9.9.9.9:5432'), {
        code: 'EADDRNOTAVAIL',
        syscall: 'connect',
      }),
      'failed',
      'connect EADDRNOTAVAIL 9.9.9.9:5432',
      1,
    ],
    ...['ENOTFOUND', 'EAI_AGAIN'].map((code): [string, unknown, string, string, number] => [
      `a host name (${code})`,
      system(code, { syscall: 'getaddrinfo', hostname: 'db.example' }),
      'failed',
      'no address found for the host db.example: check the name in HOST or in the address of the database (SVC_DATABASE_URL or --database)',
      1,
    ]),
    [
      'a busy database',
      system('SQLITE_BUSY_SNAPSHOT'),
      'failed',
      'the database is busy: try again in a moment',
      1,
    ],
    [
      'an option of the core',
      new Error('database_url is not a valid postgres:// address'),
      'failed',
      'the database (SVC_DATABASE_URL or --database) is not a valid postgres:// address',
      1,
    ],
    ['a broken database', drizzle, 'failed', 'the database failed: corrupt', 1],
    ['a bug', new Error('first line\nsecond'), 'failed', 'first line', 1],
    ['an empty message', new Error(''), 'failed', 'an error without a message', 1],
    ['a value that is not an Error', 'text', 'failed', 'text', 1],
  ])('%s', (_, thrown, error, message, exit_code) => {
    expect(explain(thrown)).toMatchObject({ error, message, exit_code })
  })

  test('adds a hint to an API error that does not say what to do', () => {
    const { hint } = explain(new SvcError('unauthorized', 'Invalid API key'))
    expect(hint).toBe('give a valid key with SVC_API_KEY or --key-stdin')
    expect(explain(new SvcError('not_found', 'x')).hint).toBeUndefined()
  })
})
