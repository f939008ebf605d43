import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createOutput, type Output, relativeTime } from './output.ts'
import { counted } from './text.ts'

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

const now = new Date('2026-05-04T09:00:00.000Z')

test.each([
  [0, 'now'],
  [-1_400, 'now'],
  [-12_000, '12 s ago'],
  [-59_000, '59 s ago'],
  [-119_000, '1 min ago'],
  [300_000, 'in 5 min'],
  [-3 * 3_600_000, '3 h ago'],
  [-6.9 * 86_400_000, '6 d ago'],
  [-7 * 86_400_000, '2026-04-27'],
  [400 * 86_400_000, '2027-06-08'],
])('a time %i ms from now is %s', (ms, text) => {
  expect(relativeTime(new Date(now.getTime() + ms), now)).toBe(text)
})

test('a number has its noun in the right form', () => {
  expect([counted(1, 'message'), counted(1200, 'message'), counted(0, 'entry', 'entries')]).toEqual(
    ['1 message', '1,200 messages', '0 entries'],
  )
  expect([counted('1', 'credit'), counted('0.1', 'credit')]).toEqual(['1 credit', '0.1 credits'])
})
