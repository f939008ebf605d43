import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createOutput, type Output } from './output.ts'

function written(
  work: (output: Output) => void,
  {
    terminal = false,
    json = false,
    env = {},
  }: { terminal?: boolean; json?: boolean; env?: NodeJS.ProcessEnv } = {},
) {
  const stdout = Object.assign(new PassThrough(), { isTTY: terminal })
  const stderr = Object.assign(new PassThrough(), { isTTY: terminal })
  work(createOutput({ env, cwd: '/', stdin: new PassThrough(), stdout, stderr }, () => json))
  return { stdout: stdout.read()?.toString() ?? '', stderr: stderr.read()?.toString() ?? '' }
}

const table = (output: Output) =>
  output.table(
    ['NAME', 'STATE'],
    [
      ['long name', { text: 'ok', style: 'green' }],
      ['x\ny', 'bad'],
    ],
  )

describe('a table', () => {
  test('in a pipe writes one line with tabs for each row', () => {
    expect(written(table).stdout).toBe('long name\tok\nx\\ny\tbad\n')
  })

  test('on a terminal has headings and columns', () => {
    const { stdout } = written(table, { terminal: true, env: { NO_COLOR: '1' } })
    expect(stdout).toBe('NAME       STATE\nlong name  ok\nx\\ny       bad\n')
  })

  test.each([[{ NO_COLOR: '1' }], [{ TERM: 'dumb' }]])('has no colour with %o', (env) => {
    expect(written(table, { terminal: true, env }).stdout).not.toContain('\u001b')
    expect(written(table, { terminal: true }).stdout).toContain('\u001b[32mok\u001b[39m')
  })
})

describe('a failure', () => {
  test('is printed with its control characters escaped, and in red on a terminal', () => {
    const fail = (output: Output) => output.failure(new Error('bad \u001b[2J'))
    expect(written(fail, { terminal: true }).stderr).toBe(
      '\u001b[31msvc:\u001b[39m bad \\u001b[2J\n',
    )
    expect(written(fail).stderr).toBe('svc: bad \\u001b[2J\n')
  })

  test('is JSON with --json, and notes are not written', () => {
    const fail = (output: Output) => {
      output.note('by the way')
      output.failure(new Error('bad'))
    }
    expect(written(fail, { json: true }).stderr).toBe('{"error":"failed","message":"bad"}\n')
  })
})
