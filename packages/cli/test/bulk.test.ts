import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { api, WireData } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run as svcRun } from '../src/program.ts'
import { type DevServer, startDevServer } from './dev-server.ts'
import { start, svc, svcJson, untilSeen } from './svc.ts'

type Listed = WireData<(typeof api)['messages']['list']>

const TEXT = ['--channel', 'sms', '--text', 'Hi {{name|there}}, order {{order_id}}']

const UNKNOWN = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

let server: DevServer

beforeAll(async () => {
  server = await startDevServer({ SVC_RATE_LIMIT_BULK: '100000/60' })
})

afterAll(() => server.close())

const pathOf = (name: string) => join(server.here.cwd, name)
const run = (...argv: string[]) => svc(['bulk', ...argv], server.here)

function write(name: string, ...lines: string[]): string {
  writeFileSync(pathOf(name), `${lines.join('\n')}\n`)
  return name
}

function linesOf(name: string): Record<string, unknown>[] {
  const lines = readFileSync(pathOf(name), 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** The rows of a result file, without the fields that change. */
function rowsOf(name: string): unknown[][] {
  return linesOf(name).flatMap(({ type, line, to, error, message_id }) =>
    type === 'row' ? [[line, to, error ?? typeof message_id]] : [],
  )
}

function without(line: string | undefined, field: string): string {
  const { [field]: _, ...rest } = JSON.parse(line ?? '') as Record<string, unknown>
  return JSON.stringify(rest)
}

async function sentTo(recipient: string): Promise<Listed['messages']> {
  const argv = ['messages', 'list', '--recipient', recipient]
  return (await svcJson<Listed>(argv, server.here)).messages
}

describe('svc bulk send', () => {
  test('fills in the columns, and records the result of each row', async () => {
    const people = write(
      'people.csv',
      '\ufeffname;To;order_id;metadata.row;unused',
      'Asha;+255710000001;A1;1;x',
      ';+255710000002;A2;2;',
      'Eve;nonsense;A3;3;',
      'Bob;+255710000004;;4;',
      'Twice;+255710000001;A5;5;',
    )
    const { code, stdout, stderr } = await run('send', people, ...TEXT, '--yes')
    expect(code).toBe(1)
    expect(stdout).toContain('sent\t5 of 5\t2 accepted\t2 rejected\t1 duplicate\t2 credits\n')
    expect(stderr).toContain('2 of 5 rows were rejected: see people.csv.results.jsonl')
    expect(rowsOf('people.csv.results.jsonl')).toEqual([
      [2, '+255710000001', 'string'],
      [3, '+255710000002', 'string'],
      [4, 'nonsense', 'invalid_recipient'],
      [5, '+255710000004', 'missing_variable'],
      [6, '+255710000001', 'duplicate'],
    ])
    const [[first], [second]] = [await sentTo('+255710000001'), await sentTo('+255710000002')]
    expect(first).toMatchObject({ content: { text: 'Hi Asha, order A1' }, metadata: { row: '1' } })
    expect(second).toMatchObject({ content: { text: 'Hi there, order A2' } })
  })

  test('records each row of a batch that is rejected completely, and continues', async () => {
    const people = write('bad.csv', 'to,order_id', 'x,1', '+255710000011,', '+255710000012,3')
    const { stdout } = await run('send', people, ...TEXT, '--yes', '--batch', '2')
    expect(stdout).toContain('sent\t3 of 3\t1 accepted\t2 rejected')
    const rows = linesOf('bad.csv.results.jsonl').filter(({ type }) => type === 'row')
    expect(rows).toMatchObject([
      { error: 'invalid_recipient', message: 'Phone number must be in E.164 format' },
      { error: 'missing_variable', message: 'No value for {{order_id}}' },
      { to: '+255710000012' },
    ])
  })

  test('sends to an address once, also in different batches', async () => {
    const rows = ['a@example.com,1', 'b@example.com,2', 'A@EXAMPLE.com,3', 'b@example.com,4']
    const people = write('mail.csv', 'email,n', ...rows)
    const mail = ['--channel', 'email', '--subject', 'S {{n}}', '--text', 'x']
    const { code } = await run('send', people, ...mail, '--yes', '--batch', '1')
    expect(code).toBe(0)
    expect(rowsOf('mail.csv.results.jsonl').map(([, , result]) => result)).toEqual([
      ...['string', 'string', 'duplicate', 'duplicate'],
    ])
  })

  test('shows the result of a finished run again, and sends nothing', async () => {
    const people = write('again.csv', 'to', '+255710000021')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes'] as const
    expect((await run(...argv)).code).toBe(0)
    const again = await run(...argv, '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ rows: 1, accepted: 1, credits_used: 1 })
    expect(await sentTo('+255710000021')).toHaveLength(1)
    expect((await run(...argv, '--restart')).code).toBe(0)
    expect(await sentTo('+255710000021')).toHaveLength(2)
  })

  test.each([
    ['another text', ['--text', 'y'], 'to\n+255710000031\n', 'content'],
    ['another file', ['--text', 'x'], 'to\n+255710000032\n', 'same.csv has changed'],
    ['another sender', ['--text', 'x', '--from', 'Z'], 'to\n+255710000031\n', 'sender'],
  ])('refuses to continue with %s', async (_, more, csv, reason) => {
    const results = `same-${more.length}-${csv.length}-${reason.length}.jsonl`
    const send = (...argv: string[]) =>
      run('send', 'same.csv', '--channel', 'sms', '--yes', '--results', results, ...argv)
    write('same.csv', 'to', '+255710000031')
    await send('--text', 'x')
    writeFileSync(pathOf('same.csv'), csv)
    const { code, stderr } = await send(...more)
    expect(code).toBe(2)
    expect(stderr).toContain(reason)
    expect(stderr).toContain('--restart')
  })

  test('continues with another API key of the same workspace only', async () => {
    const people = write('keys.csv', 'to', '+255710000035', '+255710000036')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes', '--batch', '1']
    await run(...argv)
    const file = pathOf('keys.csv.results.jsonl')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const end = lines.findIndex((line) => line.includes('"type":"batch"'))
    const [first = '', ...more] = lines.slice(0, end + 1)
    const begun = [first.replace(/"key_sha256":"\w+"/, '"key_sha256":"0"'), ...more, ''].join('\n')
    writeFileSync(file, begun.replace(/"bulk_id":"[^"]+"/, `"bulk_id":"${UNKNOWN}"`))
    const refused = await run(...argv)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('its API key belonged to another workspace')
    // A line that a crash cut is incomplete.
    writeFileSync(file, `${begun}{"type":"row","line":3,"to":"+2557`)
    expect(await run(...argv)).toMatchObject({ code: 0 })
    expect(rowsOf('keys.csv.results.jsonl').map(([line]) => line)).toEqual([2, 3])
  })

  test('refuses a file that is not a result file, or is damaged', async () => {
    const people = write('damaged.csv', 'to', '+255710000037')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes']
    const file = pathOf('damaged.csv.results.jsonl')
    writeFileSync(file, 'to\n+255710000037\n')
    const none = await run(...argv)
    expect(none).toMatchObject({ code: 2 })
    expect(none.stderr).toContain('is not a result file of svc bulk send')
    writeFileSync(file, '')
    await run(...argv)
    writeFileSync(file, readFileSync(file, 'utf8').replace('{"type":"batch"', '{"type'))
    expect((await run(...argv)).stderr).toMatch(/results\.jsonl, line 4: the file is damaged/)
    expect(await sentTo('+255710000037')).toHaveLength(1)
  })

  test('continues after the longest possible row, with every character escaped', async () => {
    const people = write('long.csv', 'to', '+255710000091', '\\'.repeat(120_000), '+255710000092')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes', '--batch', '1']
    await run(...argv)
    const { code, stdout } = await run(...argv)
    expect(code).toBe(1)
    expect(stdout).toContain('accepted\t2\nrejected\t1\n')
  })

  test.each<[string, (lines: string[]) => string[]]>([
    ['a line without one of its fields', (lines) => lines.with(3, without(lines[3], 'last_line'))],
    ['a line of an unknown type', (lines) => [...lines, '{"type":"done"}']],
    ['a removed row', (lines) => lines.toSpliced(2, 1)],
    ['a removed batch', (lines) => lines.toSpliced(1, 3)],
    ['a repeated batch', (lines) => [...lines.slice(0, 4), ...lines.slice(1)]],
    [
      'a text for a number',
      (lines) => lines.with(3, String(lines[3]).replace('"rows":1', '"rows":"1"')),
    ],
  ])('an edited result file is refused, and nothing is sent: %s', async (what, edit) => {
    const people = write('edited.csv', 'to', '+255710000095', '+255710000096', '+255710000097')
    const argv = ['send', people, '--channel', 'sms', '--text', what, '--yes', '--batch', '1']
    await run(...argv, '--restart')
    const file = pathOf('edited.csv.results.jsonl')
    const whole = readFileSync(file, 'utf8')
    const before = (await sentTo('+255710000097')).length
    const lines = whole.trimEnd().split('\n').slice(0, 7)
    writeFileSync(file, `${edit(lines).join('\n')}\n`)
    const { code, stderr } = await run(...argv)
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('damaged') })
    expect(await sentTo('+255710000097')).toHaveLength(before)
    writeFileSync(file, whole)
  })

  test('sends nothing twice with an older copy of the result file, with any batch size', async () => {
    const people = write('copy.csv', 'to', '+255710000101', '+255710000102', '+255710000103')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes'] as const
    const file = pathOf('copy.csv.results.jsonl')
    await run(...argv, '--batch', '1')
    const [first] = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, `${first}\n`)
    for (const batch of ['2', '2', '3']) {
      const { code, stderr } = await run(...argv, '--batch', batch)
      expect(code).toBe(1)
      expect(stderr).toContain('the result file is an older copy or was edited')
    }
    expect(await sentTo('+255710000101')).toHaveLength(1)
  })

  test('requires --yes without a terminal, and leaves no result file', async () => {
    const people = write('ask.csv', 'to', '+255710000041')
    const { code, stderr } = await run('send', people, '--channel', 'sms', '--text', 'x')
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(existsSync(pathOf('ask.csv.results.jsonl'))).toBe(false)
    expect(await sentTo('+255710000041')).toEqual([])
  })

  test('reads rows from stdin, and content from a file', async () => {
    writeFileSync(pathOf('content.json'), JSON.stringify({ text: 'Order {{n}}' }))
    const argv = ['--channel', 'whatsapp', '--content', 'content.json', '--to-column', 'Mobile']
    const ended = await svc(
      ['bulk', 'send', '-', ...argv, '--defaults', 'n=of yours', '--yes', '--results', 'in.jsonl'],
      { ...server.here, stdin: 'Mobile,n\n+255710000051,\n' },
    )
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(await sentTo('+255710000051')).toMatchObject([{ content: { text: 'Order of yours' } }])
  })
})

describe('before sending', () => {
  test('--dry-run shows the rejected rows and the cost', async () => {
    const people = write('dry.csv', 'to,order_id', '+255710000061,1', 'x,2', '+255710000061,3')
    const dry = await run('send', people, ...TEXT, '--dry-run')
    expect(dry.code).toBe(1)
    expect(dry.stdout).toContain('3\tx\tinvalid_recipient\n')
    expect(dry.stdout).toMatch(/to be sent\t1\nrejected\t1\nduplicates\t1\ncredits\t1\nbalance\t/)
    expect(await sentTo('+255710000061')).toEqual([])
    const { stdout } = await run('send', people, ...TEXT, '--dry-run', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 1,
      errors: [{ line: 3, to: 'x', error: 'invalid_recipient' }],
    })
  })

  test('--strict sends nothing if a row is faulty', async () => {
    const people = write('strict.csv', 'to,order_id', '+255710000071,1', '+255710000072,')
    const argv = ['send', people, ...TEXT, '--strict', '--yes', '--batch', '1'] as const
    const { code, stderr } = await run(...argv)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'svc: 1 of 2 rows would be rejected; nothing was sent\n',
    })
    expect(await sentTo('+255710000071')).toEqual([])
    expect(existsSync(pathOf('strict.csv.results.jsonl'))).toBe(false)
  })
})

describe('a run that stops', () => {
  test('without credits, and continues when there are more', async () => {
    const other = await startDevServer({ SVC_RATE_LIMIT_BULK: '100000/60' })
    try {
      const rows = Array.from({ length: 120 }, (_, i) => `+2557200${1000 + i}`)
      writeFileSync(join(other.here.cwd, 'many.csv'), `to\n${rows.join('\n')}\n`)
      const argv = ['bulk', 'send', 'many.csv', '--channel', 'sms', '--text', 'x', '--yes']
      const send = () => svc([...argv, '--batch', '50'], other.here)
      const stopped = await send()
      expect(stopped.code).toBe(1)
      expect(stopped.stderr).toContain(
        'You need 20 credits but have 0: 100 of 120 rows are finished; run the same command again to continue',
      )
      await svcJson(['credits', 'grant', '20'], other.here)
      expect(await send()).toMatchObject({ code: 0 })
      const { pagination } = await svcJson<Listed>(['messages', 'list'], other.here)
      expect(pagination.total).toBe(120)
    } finally {
      await other.close()
    }
  })

  test('waits for the rate limit, stops on Ctrl-C, and continues', async () => {
    const other = await startDevServer({ SVC_RATE_LIMIT_BULK: '2/5' })
    try {
      const rows = Array.from({ length: 5 }, (_, i) => `+2557300${1000 + i}`)
      writeFileSync(join(other.here.cwd, 'five.csv'), `to\n${rows.join('\n')}\n`)
      const argv = ['bulk', 'send', 'five.csv', '--channel', 'sms', '--text', 'x', '--yes']
      const running = start([...argv, '--batch', '1'], other.here)
      await running.until(/rate limit of the server is reached: continuing in 0:0\d/)
      const stopped = await running.stop()
      expect(stopped.code).toBe(1)
      expect(stopped.stderr).toMatch(/stopped: \d of 5 rows are finished; run the same command/)
      expect(await svc([...argv, '--batch', '2'], other.here)).toMatchObject({ code: 0 })
      const { messages } = await svcJson<Listed>(['messages', 'list'], other.here)
      expect(messages.map(({ recipient }) => recipient).sort()).toEqual(rows)
    } finally {
      await other.close()
    }
  })

  test('waits for the rate limit of estimates during a check', async () => {
    const other = await startDevServer({ SVC_RATE_LIMIT_BULK_ESTIMATE: '2/3' })
    try {
      const rows = Array.from({ length: 5 }, (_, i) => `+2557310${1000 + i}`)
      writeFileSync(join(other.here.cwd, 'five.csv'), `to\n${rows.join('\n')}\n`)
      const argv = ['bulk', 'send', 'five.csv', '--channel', 'sms', '--text', 'x', '--batch', '1']
      const check = start([...argv, '--dry-run'], other.here)
      await check.until(/rate limit of the server is reached: continuing in 0:0\d/)
      expect(await check.ended).toMatchObject({ code: 0 })
      // Estimates do not count for the rate limit of bulks.
      expect(await svc([...argv, '--yes'], other.here)).toMatchObject({ code: 0 })
    } finally {
      await other.close()
    }
  })

  test('repeats a batch whose answer is too old only on request', async () => {
    const people = write('old.csv', 'to', '+255710000081', '+255710000082')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes', '--batch', '1']
    const file = pathOf('old.csv.results.jsonl')
    const prepare = async (at_then = '2026-01-01T00:00:00.000Z') => {
      await run(...argv, '--restart')
      const lines = readFileSync(file, 'utf8').split('\n')
      const at = lines.findIndex((line) => line.includes('"begun"') && line.includes('"batch":2'))
      const begun = { ...JSON.parse(lines[at] ?? ''), at: at_then }
      writeFileSync(file, `${[...lines.slice(0, at), JSON.stringify(begun)].join('\n')}\n`)
    }
    await prepare()
    const before = (await sentTo('+255710000082')).length
    const refused = await run(...argv)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('batch 2 (lines 3 to 3) was sent at 2026-01-01')
    expect(await sentTo('+255710000082')).toHaveLength(before)
    const skipped = await run(...argv, '--unanswered', 'skip')
    expect(skipped.code).toBe(1)
    expect(rowsOf('old.csv.results.jsonl').at(-1)).toEqual([3, '+255710000082', 'unanswered'])
    await prepare('2999-01-01T00:00:00.000Z')
    expect((await run(...argv)).stderr).toContain('batch 2 (lines 3 to 3) was sent at 2999-01-01')
    await prepare()
    const again = await run(...argv, '--unanswered', 'send')
    expect(again.code).toBe(0)
    expect(await sentTo('+255710000082')).toHaveLength(before + 3)
  })

  test('does not send to an address of an unanswered batch in a later row', async () => {
    const people = write('lost.csv', 'to', '+255710000085', '+255710000085', '+255710000086')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes', '--batch', '1']
    const file = pathOf('lost.csv.results.jsonl')
    await run(...argv)
    const [first, line = ''] = readFileSync(file, 'utf8').split('\n')
    const begun = { ...JSON.parse(line), at: '2026-01-01T00:00:00.000Z' }
    writeFileSync(file, `${first}\n${JSON.stringify(begun)}\n`)
    expect((await run(...argv, '--unanswered', 'skip')).code).toBe(1)
    expect(rowsOf('lost.csv.results.jsonl')).toMatchObject([
      [2, '+255710000085', 'unanswered'],
      [3, '+255710000085', 'duplicate'],
      [4, '+255710000086', expect.anything()],
    ])
    expect(await sentTo('+255710000085')).toHaveLength(1)
  })

  test('fails at once when the server has never answered', async () => {
    const people = write('unreachable.csv', 'to', '+255710000091')
    const argv = ['--channel', 'sms', '--text', 'x', '--yes', '--url', 'http://127.0.0.1:1']
    const { code, stderr } = await run('send', people, ...argv, '--key', 'svc_x')
    expect(code).toBe(3)
    expect(stderr).toContain('0 of 1 rows are finished')
  })
})

describe('on a terminal', () => {
  test('asks with the cost, and sends nothing after a no', async () => {
    const people = write('tty.csv', 'to', '+255710000099', 'x')
    const argv = ['bulk', 'send', people, '--channel', 'sms', '--text', 'x']
    const answer = async (line: string) => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true })
      const output = [new PassThrough(), new PassThrough()] as const
      const written: string[] = []
      for (const stream of output) stream.on('data', (chunk) => written.push(String(chunk)))
      const [stdout, stderr] = output
      const ended = svcRun(argv, { ...server.here, stdin, stdout, stderr })
      await untilSeen(/\[y\/N\]/, () => written.join(''))
      stdin.write(line)
      return { code: await ended, text: written.join('') }
    }
    const no = await answer('n\n')
    expect(no).toMatchObject({ code: 1, text: expect.stringContaining('nothing was changed') })
    expect(no.text).toContain('3\tx\tinvalid_recipient')
    expect(no.text).toContain('Send 1 message by sms for 1 credit? [y/N]')
    expect(await sentTo('+255710000099')).toEqual([])
    expect(await answer('y\n')).toMatchObject({ code: 1 })
    expect(await sentTo('+255710000099')).toHaveLength(1)
  })
})

describe('one bulk', () => {
  test('lists its rejected recipients, a page at a time', async () => {
    const people = write('rejected.csv', 'to', '+255710000094', '0710 1', '0710 2')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes', '--json']
    const { last_bulk_id: id } = JSON.parse((await run(...argv)).stdout) as { last_bulk_id: string }
    const reason = 'Phone number must be in E.164 format'
    const { code, stdout, stderr } = await run('rejected', id, '--limit', '1')
    expect([code, stdout]).toEqual([0, `1\t0710 1\tinvalid_recipient\t${reason}\n`])
    expect(stderr).toContain('2 recipients; more: --page 2 (of 2)')
    const { rejected } = JSON.parse(
      (await run('rejected', id, '--page', '2', '--limit', '1', '--json')).stdout,
    )
    expect(rejected).toEqual([
      { index: 2, to: '0710 2', error: 'invalid_recipient', message: reason },
    ])
  })

  test('is paused and resumed, and not resumed after a cancellation', async () => {
    const people = write('paused.csv', 'to', '+255710000097')
    const argv = [
      'send',
      people,
      '--channel',
      'sms',
      '--text',
      'x',
      '--at',
      '2h',
      '--yes',
      '--json',
    ]
    const { last_bulk_id: id } = JSON.parse((await run(...argv)).stdout) as { last_bulk_id: string }
    expect(await run('pause', id)).toMatchObject({
      stdout: `paused\t${id}\t1 message queued\n`,
      code: 0,
    })
    expect((await run('show', id)).stdout).toMatch(/\npaused\tsince \d{4}-/)
    expect(await run('resume', id)).toMatchObject({
      stdout: `queued\t${id}\t1 message queued\n`,
      code: 0,
    })
    await run('pause', id)
    await run('cancel', id, '--yes')
    expect(await run('resume', id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The bulk is not paused: it cannot be resumed'),
    })
  })

  test('is shown, canceled and retried', async () => {
    const people = write('one.csv', 'to', '+255710000095', '+15005550002')
    const argv = ['send', people, '--channel', 'sms', '--text', 'x', '--yes', '--json']
    const { last_bulk_id: id } = JSON.parse((await run(...argv)).stdout) as { last_bulk_id: string }
    await expect
      .poll(async () => (await run('show', id)).stdout, { timeout: 10_000 })
      .toMatch(/status\tcompleted\n[\s\S]*accepted\t2 of 2\n[\s\S]*\nfailed\t1\n/)
    expect(await run('cancel', id, '--yes')).toMatchObject({
      stdout: '0 of 2 messages canceled\n',
      code: 0,
    })
    const retried = await run('retry', id, '--yes')
    expect(retried).toMatchObject({ code: 0, stderr: '' })
    expect(retried.stdout).toMatch(/^queued\t\S+\t1 of 1\t1 credit\n$/)
    expect(await run('retry', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    expect(await run('rejected', id)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No rejected recipients.'),
    })
    expect(await run('show', 'nonsense')).toMatchObject({
      code: 1,
      stderr: 'svc: Bulk not found\n',
    })
  })
})
