import { renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { newFolder, start, svc, svcJson } from './svc.ts'

let server: DevServer

beforeAll(async () => {
  server = await startDevServer()
  const to = ['+15005550006', '+15005550001']
  for (const each of to) {
    await svc(['send', '--to', each, '--text', 'Hello', '--wait'], server.here)
  }
})

afterAll(() => server.close())

interface Document {
  findings: { code: string }[]
  messages: { channel: string; status: string; count: number }[]
  rates: Record<string, number> | null
  credits: { workspaces: number; balance: number; held: number }
  message_queue: { waiting: number; due: number; oldest_due_at: string | null; unknown: number }
  failures: { id: string; recipient: string; error_code: string }[]
}

describe('svc top without a keyboard', () => {
  test('prints one document with --json', async () => {
    const found = await svcJson<Document>(['top'], server.here)
    expect(found).toMatchObject({
      at: expect.stringMatching(/Z$/),
      findings: [],
      rates: null,
      message_queue: { waiting: 0, due: 0, oldest_due_at: null, unknown: 0 },
      delivery_queue: { waiting: 0 },
      webhooks: { active: 0, failing: 0, disabled: 0 },
      pause: null,
      providers: [],
      troubled_webhooks: [],
      failures: [{ recipient: '+15005550001', error_code: 'invalid_recipient' }],
    })
    expect(found.messages).toContainEqual({ channel: 'sms', status: 'failed', count: 1 })
    const { credits_balance } = await svcJson<{ credits_balance: number }>(
      ['credits', 'show'],
      server.here,
    )
    expect(found.credits).toMatchObject({ workspaces: 1, balance: credits_balance, held: 0 })
  })

  test('prints rows in a pipe, and on a terminal without a keyboard', async () => {
    const { code, stdout } = await svc(['top'], server.here)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^state\tall is well$/m)
    expect(stdout).toMatch(/^messages\tsms\tfailed\t1$/m)
    expect(stdout).toMatch(/^failure\t20\S+Z\t\S+\tsms\t\+15005550001\tinvalid_recipient\t/m)
    const shown = await svc(['top'], { ...server.here, terminal: true })
    expect(shown.stdout).toMatch(/^state {2}all is well$/m)
    expect(shown.stdout).not.toContain('\u001b[?1049h')
  })

  test('shows the failures of one channel', async () => {
    const { failures } = await svcJson<Document>(['top', '--channel', 'email'], server.here)
    expect(failures).toEqual([])
  })

  test('--watch prints until it is stopped, with rates from the second reading on', async () => {
    const watch = start(['top', '--watch', '--interval', '0.5'], server.here)
    await watch.until(/^20\S+Z\t-\t-\t-\t-\t0\t0\t0\t0\t0\tall is well$/m)
    await watch.until(/^20\S+Z\t0\.0\t0\.0\t0\.0\t0\.0\t/m)
    const { code, stderr } = await watch.stop()
    expect(code).toBe(0)
    expect(stderr).toMatch(/^at\taccepted\/s\tsent\/s/)
  })

  test('--watch --json prints one document a line', async () => {
    const watch = start(['top', '--watch', '--interval', '0.5', '--json'], server.here)
    await watch.until(/"rates":\{/)
    const { stdout, stderr } = await watch.stop()
    const documents = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Document)
    expect(documents[0]?.rates).toBeNull()
    expect(documents[1]?.rates).toMatchObject({ accepted: 0, failed: 0 })
    expect(stderr).toBe('')
  })

  test('--watch reports a removed database', async () => {
    const file = join(resolve(server.here.cwd, server.data_dir), 'svc.db')
    const watch = start(['top', '--watch', '--interval', '0.5'], server.here)
    await watch.until(/all is well/)
    renameSync(file, `${file}.away`)
    try {
      await watch.until(/does not answer; waiting… \(the file \S+svc\.db was removed\)/)
    } finally {
      renameSync(`${file}.away`, file)
    }
    await watch.until(/^The database is back\.$/m)
    expect((await watch.stop()).code).toBe(0)
  })

  test.each([
    ['an interval too short', ['--interval', '0.1'], '--interval must be 0.5 to 60 seconds'],
    ['an invalid interval', ['--interval', 'often'], '--interval must be 0.5 to 60 seconds'],
    ['an unknown channel', ['--channel', 'fax'], 'there is no channel fax'],
  ])('refuses %s', async (_, argv, text) => {
    const { code, stdout, stderr } = await svc(['top', ...argv], server.here)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^svc: [^\n]+\n$/)
    expect(stderr).toContain(text)
  })

  test('reports a missing database, and creates none', async () => {
    const empty = newFolder()
    const { code, stderr } = await svc(['top'], { cwd: empty.path })
    expect(code).toBe(2)
    expect(stderr).toContain('there is no database')
    empty.remove()
  })
})
