import type { api, WireData } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { svc, svcJson } from './svc.ts'

type Messages = typeof api.messages

const TO = '+15005550006'
const UNKNOWN = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

let server: DevServer

beforeAll(async () => {
  server = await startDevServer()
})

afterAll(() => server.close())

const run = (...argv: string[]) => svc(argv, server.here)
const json = <T>(...argv: string[]) => svcJson<T>(argv, server.here)
const show = async (id: string) =>
  (await json<WireData<Messages['get']>>('messages', 'show', id)).message
const send = async (...more: string[]): Promise<string> =>
  (await json<WireData<Messages['send']>>('send', '--to', TO, '--text', 'Hello', ...more))
    .message_id
const wait = async (...more: string[]): Promise<string> =>
  (await json<WireData<Messages['get']>>('send', '--to', TO, '--text', 'Hi', '--wait', ...more))
    .message.id

/** Calls an endpoint that has no command. */
async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': server.api_key },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { data: T }).data
}

describe('svc send', () => {
  test('--at accepts a duration from now, and --expires-in starts at that time', async () => {
    const before = Date.now()
    const { scheduled_at, expires_at } = await show(await send('--at', '10m', '--expires-in', '1h'))
    const at = Date.parse(scheduled_at ?? '')
    expect(at - 600_000).toBeGreaterThanOrEqual(before)
    expect(at - 600_000).toBeLessThanOrEqual(Date.now())
    expect(Date.parse(expires_at ?? '') - at).toBe(3_600_000)
  })

  test.each([
    ['--at', 'soon', 'Invalid date format. Use ISO 8601 format.', 1],
    ['--at', '50d', 'scheduled_at', 1],
    ['--expires-in', 'soon', '--expires-in must be a duration such as 30s or 1h', 2],
    ['--expires-in', '0s', 'expires_in', 1],
  ])('refuses %s %s', async (option, value, text, code) => {
    const ended = await run('send', '--to', TO, '--text', 'x', option, value)
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(text)
  })
})

describe('svc send --channel voice', () => {
  test('is refused without a provider for voice', async () => {
    const argv = ['--to', TO, '--channel', 'voice', '--text', 'Hello']
    const { code, stderr } = await run('send', ...argv)
    expect(code).toBe(1)
    expect(stderr).toMatch(/Invalid channel\. Must be one of: sms, whatsapp, email$/m)
  })

  test('sends a call with a provider for voice', async () => {
    const twilio = {
      TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
      TWILIO_AUTH_TOKEN: '0'.repeat(32),
      TWILIO_VOICE_FROM: '+15550100001',
    }
    const other = await startDevServer(twilio)
    try {
      const argv = ['send', '--to', TO, '--channel', 'voice', '--text', 'Hello', '--at', '1h']
      const sent = await svcJson<WireData<Messages['send']>>(argv, other.here)
      const showArgv = ['messages', 'show', sent.message_id]
      const { message } = await svcJson<WireData<Messages['get']>>(showArgv, other.here)
      expect(message).toMatchObject({ channel: 'voice', content: { text: 'Hello' } })
    } finally {
      await other.close()
    }
  })
})

describe('svc messages list', () => {
  test('accepts times as dates and as durations before now', async () => {
    const old = await wait()
    const between = new Date((Date.parse((await show(old)).created_at) ?? 0) + 1).toISOString()
    const young = await wait()
    const ids = async (...filters: string[]) =>
      (await json<WireData<Messages['list']>>('messages', 'list', ...filters)).messages.map(
        ({ id }) => id,
      )
    expect(await ids('--since', between)).toEqual([young])
    expect(await ids('--until', between)).not.toContain(young)
    expect(await ids('--until', between)).toContain(old)
    expect(await ids('--since', '1h')).toEqual(expect.arrayContaining([old, young]))
    expect(await ids('--until', '1h')).toEqual([])
  })

  test('filters by bulk, and continues at a cursor', async () => {
    const bulk = { channel: 'sms', content: { text: 'x' }, recipients: [TO, '+12'] }
    const { bulk_id } = await post<{ bulk_id: string }>('messages/bulk', bulk)
    const list = (...more: string[]) =>
      json<WireData<Messages['list']>>('messages', 'list', '--bulk-id', bulk_id, ...more)
    const first = await list('--limit', '1')
    expect(first.pagination).toMatchObject({ total: 2, pages: 2 })
    const second = await list('--limit', '1', '--cursor', first.next_cursor ?? '')
    const found = [...first.messages, ...second.messages]
    expect(found.map(({ recipient }) => recipient).sort()).toEqual(['+12', TO])
  })

  test.each([
    ['--since', 'yesterday', 'such as 2h or 30d, got "yesterday"', 2],
    ['--until', '2026-02-30', 'such as 2h or 30d, got "2026-02-30"', 2],
    ['--bulk-id', 'x', 'bulk_id', 1],
    ['--cursor', 'x', 'cursor', 1],
  ])('refuses %s %s', async (option, value, text, exit_code) => {
    const { code, stderr } = await run('messages', 'list', option, value)
    expect(code).toBe(exit_code)
    expect(stderr).toContain(text)
  })
})

describe('svc messages timeline', () => {
  test('prints one line for each entry', async () => {
    const id = await wait()
    const { code, stdout } = await run('messages', 'timeline', id)
    expect(code).toBe(0)
    const rows = stdout
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => line.split('\t'))
    for (const [at] of rows) expect(at).toMatch(/^20\S+Z$/)
    expect(rows.map(([, ...cells]) => cells)).toEqual([
      ['status', 'queued', '', ''],
      ['ledger', 'send', '-1', expect.stringMatching(/^balance [\d.]+$/)],
      ['provider', 'sandbox attempt 1', 'accepted', ''],
      ['status', 'sent', '', ''],
      ['status', 'delivered', '', ''],
    ])
  })

  test('shows the reason of a failure, the refund and the webhook delivery', async () => {
    const { webhook } = await post<{ webhook: { id: string } }>('webhooks', {
      url: `${server.url}/nowhere`,
      events: ['message.failed'],
    })
    const { stderr } = await run('send', '--to', '+15005550002', '--text', 'x', '--wait')
    expect(stderr).toContain('unroutable')
    const { messages } = await json<WireData<Messages['list']>>('messages', 'list', '--limit', '1')
    const id = messages[0]?.id ?? ''
    const { stdout } = await run('messages', 'timeline', id)
    const reason = 'unroutable: No route to this recipient'
    expect(stdout).toContain(`\tprovider\tsandbox attempt 1\trejected\t${reason}\n`)
    expect(stdout).toContain(`\tstatus\tfailed\t\t${reason}\n`)
    expect(stdout).toMatch(/\tledger\trefund\t\+1\tbalance [\d.]+\n/)
    expect(stdout).toMatch(/\twebhook\tmessage\.failed\t\w+\t\d tr(y|ies)/)
    const found = await json<WireData<Messages['timeline']>>('messages', 'timeline', id)
    expect(found.timeline).toContainEqual(
      expect.objectContaining({ kind: 'webhook', webhook_id: webhook.id, event: 'message.failed' }),
    )
  })

  test('has headings on a terminal', async () => {
    const id = await send('--at', '1h')
    const { cwd, env } = server.here
    const shown = await svc(['messages', 'timeline', id], {
      cwd,
      env: { ...env, NO_COLOR: '1' },
      terminal: true,
    })
    expect(shown.stdout).toMatch(/^TIME +KIND +WHAT +RESULT +DETAIL\n20\S+ +status +queued\n/)
  })
})

describe('svc messages cancel', () => {
  test('cancels a queued message once', async () => {
    const id = await send('--at', '1h')
    const { code, stdout, stderr } = await run('messages', 'cancel', id, '--yes')
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `failed\t${id}\tcanceled\t1\n`,
      stderr: '',
    })
    const again = await run('messages', 'cancel', id, '--yes')
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toContain('Message cannot be canceled: it is failed')
  })

  test('prints the message as one JSON document', async () => {
    const id = await send('--at', '1h')
    const { message } = await json<WireData<Messages['cancel']>>('messages', 'cancel', id, '--yes')
    expect(message).toMatchObject({ id, status: 'failed', credits_refunded: 1 })
  })
})

describe('svc messages reschedule', () => {
  test('gives a queued message a new time', async () => {
    const id = await send('--at', '1h')
    const time = new Date(Date.now() + 7_200_000).toISOString()
    expect(await run('messages', 'reschedule', id, time)).toEqual({
      code: 0,
      stdout: `queued\t${id}\t${time}\n`,
      stderr: '',
    })
    const { message } = await json<WireData<Messages['reschedule']>>(
      ...['messages', 'reschedule', id, '3h'],
    )
    expect(message).toMatchObject({ id, status: 'queued' })
    expect(Date.parse(message.scheduled_at ?? '')).toBeGreaterThan(Date.parse(time))
  })

  test('refuses a time that is none', async () => {
    const id = await send('--at', '1h')
    const { code, stderr } = await run('messages', 'reschedule', id, 'soon')
    expect(code).not.toBe(0)
    expect(stderr).toContain('ISO 8601')
  })
})

describe('svc messages estimate', () => {
  test('shows encoding, segments, credits, the UCS-2 characters and a cheaper text', async () => {
    const { code, stdout, stderr } = await run(
      ...['messages', 'estimate', '--to', TO, '--text', `It’s ready…${'x'.repeat(60)}`],
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^encoding\tUCS-2\ncharacters\t71\nunits\t71\nsegments\t2\ncredits\t2\n/)
    expect(stdout).toContain('forced by\t’ at 2, … at 10\n')
    expect(stdout).toMatch(/^suggestion\t"It's ready\.\.\.x+" \(1 segment\)$/m)
    expect(stdout).not.toContain('blocked')
  })

  test('sends nothing, and accepts the options of svc send', async () => {
    const before = await json<WireData<Messages['list']>>('messages', 'list')
    const options = ['--to', 'asha@example.com', '--subject', 'Hi', '--text', '-', '--at', '10m']
    const found = await svcJson<WireData<Messages['estimate']>>(
      ['messages', 'estimate', ...options, '--metadata', 'a=b'],
      { ...server.here, stdin: 'Piped\n' },
    )
    expect(found).toMatchObject({ can_send: true, credits_needed: 0.1, recipients: 1 })
    const { stdout } = await run('messages', 'estimate', ...options.with(5, 'x'))
    expect(stdout).toMatch(/^credits\t0\.1\nbalance\t[\d.]+\n$/)
    const after = await json<WireData<Messages['list']>>('messages', 'list')
    expect(after.pagination.total).toBe(before.pagination.total)
  })

  test('reports a message that would not be sent', async () => {
    const to = '+255711000001'
    await post('contacts/suppressions', { channel: 'sms', address: to })
    const { code, stdout, stderr } = await run('messages', 'estimate', '--to', to, '--text', 'x')
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'It would not be sent.\n' })
    expect(stdout).toContain('blocked\tsuppressed\n')
  })
})

test.each([['cancel', '--yes'], ['timeline'], ['reschedule', '1h']])(
  '%s reports a missing message in one line',
  async (command, ...more) => {
    for (const id of [UNKNOWN, 'nonsense']) {
      const { code, stderr } = await run('messages', command, id, ...more)
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'svc: Message not found\n' })
    }
  },
)

describe('svc messages received', () => {
  const TALKATIVE = '+15005550008'
  type Received = WireData<(typeof api)['received']['list']>

  test('lists messages from recipients, and reports an empty list', async () => {
    const none = await run('messages', 'received', '--sender', '+15005550007')
    expect(none).toMatchObject({ code: 0, stderr: expect.stringContaining('No messages.') })
    await json('send', '--to', TALKATIVE, '--text', 'Hello', '--wait')
    await expect
      .poll(async () => (await json<Received>('messages', 'received')).received, {
        timeout: 10_000,
      })
      .toMatchObject([{ sender: TALKATIVE, content: { text: 'Thank you!', media: [] } }])
    const { stdout } = await run('messages', 'received', '--sender', TALKATIVE, '--since', '1h')
    expect(stdout).toMatch(/\tsms\t\+15005550008\t[^\t]+\t\t"Thank you!"\n$/)
    const later = await json<Received>('messages', 'received', '--channel', 'whatsapp')
    expect(later.received).toEqual([])
  })
})
