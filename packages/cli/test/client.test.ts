import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { start, svc, svcJson } from './svc.ts'

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

interface Listed {
  messages: { id: string; recipient: string; metadata: object; status: string }[]
  pagination: object
}

let server: DevServer

beforeAll(async () => {
  server = await startDevServer()
})

afterAll(() => server.close())

function sendJson<T>(to: string, more: string[] = []): Promise<T> {
  return svcJson<T>(['send', '--to', to, '--text', 'Hello', ...more], server.here)
}

describe('svc send', () => {
  test('prints the response of the API with --json', async () => {
    expect(await sendJson('+15005550006')).toEqual({
      message_id: uuid,
      status: 'queued',
      credits_used: 1,
      created_at: time,
    })
  })

  test('prints one line in a pipe, and a hint on a terminal only', async () => {
    const argv = ['send', '--to', '+15005550006', '--text', 'Hello']
    const piped = await svc(argv, server.here)
    expect(piped.stdout).toMatch(/^queued\t[0-9a-f-]{36}\t1\n$/)
    expect(piped.stderr).toBe('')
    const shown = await svc(argv, { ...server.here, terminal: true })
    expect(shown.stdout).toMatch(/queued.*[0-9a-f-]{36} {2}1 credit\n$/)
    expect(shown.stderr).toMatch(/svc messages show [0-9a-f-]{36}/)
  })

  test('--wait prints each status until the message is delivered', async () => {
    const argv = ['send', '--to', '+15005550006', '--text', 'Hello', '--wait']
    const { code, stdout } = await svc(argv, server.here)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^20\S+\tqueued\t(\S+)\n20\S+\tsent\t\1\n20\S+\tdelivered\t\1\n$/)
  })

  test('--wait prints the message as one JSON document', async () => {
    const { message } = await sendJson<{ message: object }>('+15005550006', ['--wait'])
    expect(message).toMatchObject({ status: 'delivered', delivered_at: time, provider: 'sandbox' })
  })

  test('--wait exits with 1 and the reason when the message fails', async () => {
    const argv = ['send', '--to', '+15005550007', '--text', 'Hello', '--wait']
    const { code, stdout, stderr } = await svc(argv, server.here)
    expect(code).toBe(1)
    expect(stdout).toMatch(/\tfailed\t/)
    expect(stderr).toMatch(/^svc: the message failed: undelivered: [^\n]*\n$/)
    const machine = await svc([...argv, '--json'], server.here)
    expect(JSON.parse(machine.stdout)).toMatchObject({ message: { status: 'failed' } })
    expect(JSON.parse(machine.stderr)).toMatchObject({ error: 'undelivered' })
  })

  test('--wait stops after --timeout', async () => {
    const argv = ['send', '--to', '+15005550005', '--text', 'Slow', '--wait', '--timeout', '1s']
    const { code, stderr } = await svc(argv, server.here)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^svc: the message is still sent after 1 s: svc messages show \S+ shows/)
  })

  test('--wait reports that the server is paused', async () => {
    const operator = { ...server.here, env: { ...server.here.env, SVC_DATA_DIR: server.data_dir } }
    await svc(['pause'], operator)
    const queue = async () => {
      const health = await fetch(`${server.url}/health`)
      return ((await health.json()) as { services: { queue: string } }).services.queue
    }
    await expect.poll(queue, { timeout: 10_000 }).toBe('paused')
    const argv = ['send', '--to', '+15005550006', '--text', 'Hi', '--wait', '--timeout', '1s']
    const { code, stderr } = await svc(argv, server.here)
    await svc(['resume'], operator)
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/still queued after 1 s, because the server is paused:/),
    })
  })

  test('sends an e-mail to an e-mail address', async () => {
    const more = ['--subject', 'Hi', '--html', '<p>Hi</p>', '--from', 'Shop', '--wait']
    const { message } = await sendJson<{ message: object }>('asha@example.com', more)
    expect(message).toMatchObject({
      channel: 'email',
      content: { subject: 'Hi', html: '<p>Hi</p>', text: 'Hello' },
      credits_used: 0.1,
    })
  })

  test('sends metadata, a time and a channel', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString()
    const more = ['--channel', 'whatsapp', '--metadata', 'order=A1', 'note=a=b', '--at', at]
    const { message_id } = await sendJson<{ message_id: string }>('+15005550006', more)
    const { message } = await svcJson<{ message: object }>(
      ['messages', 'show', message_id],
      server.here,
    )
    expect(message).toMatchObject({
      channel: 'whatsapp',
      metadata: { order: 'A1', note: 'a=b' },
      scheduled_at: at,
      status: 'queued',
      credits_used: 0.5,
    })
  })

  test('sends once for the same idempotency key', async () => {
    const more = ['--idempotency-key', 'order-1']
    expect(await sendJson('+15005550006', more)).toEqual(await sendJson('+15005550006', more))
  })

  test('reads the text from stdin', async () => {
    const argv = ['send', '--to', '+15005550006', '--text', '-', '--wait']
    const sent = await svcJson<{ message: object }>(argv, { ...server.here, stdin: 'Piped\n' })
    expect(sent.message).toMatchObject({ content: { text: 'Piped' } })
  })

  test.each([
    [
      'an invalid number',
      ['--to', '0755', '--text', 'x'],
      'Phone number must be in E.164 format',
      1,
    ],
    ['no text', ['--to', '+12'], 'Missing required field: content.text', 1],
    [
      'no subject',
      ['--to', 'a@b.example', '--text', 'x'],
      'Missing required field: content.subject',
      1,
    ],
    ['a subject for an SMS', ['--to', '+12', '--text', 'x', '--subject', 'y'], 'are for e-mail', 2],
    ['metadata without =', ['--to', '+12', '--text', 'x', '--metadata', 'y'], 'key=value', 2],
    [
      'an invalid duration',
      ['--to', '+12', '--text', 'x', '--timeout', 'soon'],
      'must be a duration',
      2,
    ],
  ])('refuses %s', async (_, argv, text, code) => {
    const ended = await svc(['send', ...argv], server.here)
    expect(ended).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringMatching(/^svc: [^\n]+\n$/),
    })
    expect(ended.stderr).toContain(text)
  })

  test('reports the needed and the available credits', async () => {
    const argv = ['send', '--to', '+12', '--text', 'x'.repeat(1600)]
    await Promise.all(Array.from({ length: 10 }, () => svc(argv, server.here)))
    const { code, stderr } = await svc(argv, server.here)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^svc: Not enough credits\. You need 11 credits but have [\d.]+ \(svc credits grant adds credits\)\n$/,
    )
    const granted = await svc(['credits', 'grant', '1000'], server.here)
    expect(granted.stdout).toMatch(/^Gave 1000 credits to demo@sandbox.svc: /)
    expect((await svc(argv, server.here)).code).toBe(0)
  })
})

describe('svc messages', () => {
  test('lists the messages of the filters, newest first', async () => {
    const to = '+15005551111'
    const first = await sendJson<{ message_id: string }>(to, ['--wait', '--json'])
    await sendJson(to, ['--wait'])
    const filters = ['--recipient', to, '--status', 'delivered', '--channel', 'sms', '--limit', '1']
    const list = (more: string[]) =>
      svcJson<Listed>(['messages', 'list', ...filters, ...more], server.here)
    const newest = await list([])
    expect(newest).toMatchObject({
      messages: [{ recipient: to, status: 'delivered' }],
      pagination: { total: 2, page: 1, pages: 2, limit: 1 },
      next_cursor: expect.any(String),
    })
    expect((await list(['--page', '2'])).messages[0]).toEqual(
      (first as unknown as { message: object }).message,
    )
    const { stdout, stderr } = await svc(['messages', 'list', ...filters], server.here)
    expect(stdout).toMatch(/^20\S+\tsms\t\+15005551111\tdelivered\t[0-9a-f-]{36}\t\n$/)
    expect(stderr).toBe('2 messages; more: --page 2 (of 2)\n')
  })

  test('has headings and colours on a terminal, and no colours with NO_COLOR', async () => {
    const argv = ['messages', 'list', '--limit', '1']
    const { cwd, env } = server.here
    const coloured = await svc(argv, { cwd, env, terminal: true })
    expect(coloured.stdout).toContain('\u001b[2mTIME\u001b[22m')
    const plain = await svc(argv, { cwd, env: { ...env, NO_COLOR: '1' }, terminal: true })
    expect(plain.stdout).toMatch(/^TIME +CHANNEL +RECIPIENT +STATUS +ID +ERROR\n/)
  })

  test('reports an empty list on stderr', async () => {
    const { code, stdout, stderr } = await svc(
      ['messages', 'list', '--recipient', '+19990000000'],
      server.here,
    )
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: 'No messages.\n' })
  })

  test('shows a message with the times of its statuses', async () => {
    const { message } = await sendJson<{ message: { id: string } }>('+15005550006', ['--wait'])
    const { stdout } = await svc(['messages', 'show', message.id], server.here)
    expect(stdout).toContain(`id\t${message.id}\nstatus\tdelivered\n`)
    expect(stdout).toContain('content\t{"text":"Hello"}\n')
    expect(stdout).toMatch(/^queued\t20\S+\nsent\t20\S+\ndelivered\t20\S+\n$/m)
  })

  test.each([
    ['show', '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'],
    ['show', 'nonsense'],
  ])('%s %s reports a missing message', async (command, id) => {
    const { code, stderr } = await svc(['messages', command, id], server.here)
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'svc: Message not found\n' })
  })

  test('refuses a page size out of bounds', async () => {
    const { code, stderr } = await svc(['messages', 'list', '--limit', '0'], server.here)
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'svc: Limit must be between 1 and 100\n' })
  })

  test('tail prints new messages and their changes until it is stopped', async () => {
    const before = await sendJson<{ message_id: string }>('+15005550006')
    const tail = start(['messages', 'tail', '--interval', '0.1'], server.here)
    await tail.until(/Following the messages of http/)
    const { message_id } = await sendJson<{ message_id: string }>('+15005550007')
    await tail.until(new RegExp(`failed\t${message_id}\tundelivered: `))
    const { code, stdout } = await tail.stop()
    expect(code).toBe(0)
    const steps = stdout.split('\n').filter((line) => line.includes(message_id))
    expect(steps.map((line) => line.split('\t').slice(1, 4))).toEqual([
      ['sms', '+15005550007', 'queued'],
      ['sms', '+15005550007', 'sent'],
      ['sms', '+15005550007', 'failed'],
    ])
    expect(stdout).not.toContain(`queued\t${before.message_id}`)
  })

  test('tail --json prints one document a line', async () => {
    const tail = start(['messages', 'tail', '--interval', '0.1', '--json'], server.here)
    // With --json nothing says that it is ready: send until a message appears with its first status.
    while (!tail.stdout().includes('"status":"queued"')) await sendJson('+15005550006')
    await tail.until(/"status":"delivered"/)
    const { stdout, stderr } = await tail.stop()
    expect(stderr).toBe('')
    const documents = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    const message = expect.objectContaining({
      id: uuid,
      recipient: '+15005550006',
      credits_used: 1,
    })
    expect(documents).toContainEqual({ status: 'queued', at: time, message })
    expect(documents).toContainEqual({ status: 'delivered', at: time, message })
  })

  test.each(['0', '61', 'often'])('tail refuses an interval of %s', async (interval) => {
    const { code, stderr } = await svc(['messages', 'tail', '--interval', interval], server.here)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'svc: --interval must be 0.1 to 60 seconds\n',
    })
  })
})
