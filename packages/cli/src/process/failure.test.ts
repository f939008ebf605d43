import { SvcError } from '@svc/core/contract'
import { ConfigError } from '@svc/server'
import { CommanderError } from 'commander'
import { describe, expect, test } from 'vitest'
import { explain, Failure, misconfigured, unreachable, usage } from './failure.ts'

const system = (code: string, more: object = {}) =>
  Object.assign(new Error('as it said'), { code, ...more })
const drizzle = Object.assign(new Error('Failed query: select secret\nparams: 1'), {
  name: 'DrizzleQueryError',
  cause: system('SQLITE_CORRUPT'),
})

describe('an error is explained in one line with its exit code', () => {
  test.each<[string, unknown, string, string, number]>([
    ['usage', usage('like this'), 'usage', 'like this', 2],
    ['configuration', misconfigured('set it'), 'configuration', 'set it', 2],
    ['the server', unreachable('nobody'), 'unreachable', 'nobody', 3],
    ['a failure of its own', new Failure('timeout', 'late'), 'timeout', 'late', 1],
    ['a setting', new ConfigError('PORT must be x'), 'configuration', 'PORT must be x', 2],
    [
      'a refusal',
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
      'a taken port',
      system('EADDRINUSE', { port: 80 }),
      'failed',
      'port 80 is taken: stop what uses it, or choose another one',
      1,
    ],
    [
      'a low port',
      system('EACCES', { port: 80 }),
      'failed',
      'port 80 may not be used: choose one from 1024 on',
      1,
    ],
    [
      'a host',
      system('EADDRNOTAVAIL', { address: '9.9.9.9' }),
      'failed',
      'cannot listen on 9.9.9.9: set HOST to an address of this machine',
      1,
    ],
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
    ['a broken database', drizzle, 'failed', 'the database failed: as it said', 1],
    ['a bug', new Error('first line\nsecond'), 'failed', 'first line', 1],
    ['nothing to go by', new Error(''), 'failed', 'something failed, and did not say what', 1],
    ['what is no error', 'text', 'failed', 'text', 1],
  ])('%s', (_, thrown, error, message, exit_code) => {
    expect(explain(thrown)).toMatchObject({ error, message, exit_code })
  })

  test('with a hint where the refusal does not say what to do', () => {
    const { hint } = explain(new SvcError('unauthorized', 'Invalid API key'))
    expect(hint).toBe('give a valid key with SVC_API_KEY or --key-stdin')
    expect(explain(new SvcError('not_found', 'x')).hint).toBeUndefined()
  })
})
