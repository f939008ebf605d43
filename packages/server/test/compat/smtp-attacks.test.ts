import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writerOf } from '../../../core/test/storage/writer-of.ts'
import { openInletStage } from './inlet-stage.ts'
import { plainLogin, speak } from './smtp-client.ts'

type Stage = Awaited<ReturnType<typeof openInletStage>>
type Client = Awaited<ReturnType<typeof speak>>

let stage: Stage
let account: Awaited<ReturnType<Stage['world']['signup']>>
let key: string
let writer: Awaited<ReturnType<typeof writerOf>>['writer']

beforeAll(async () => {
  const { opened, writer: found } = await writerOf(() => openInletStage())
  stage = opened
  writer = found
  account = await stage.world.signup({ credits: 100_000 })
  key = (await stage.world.key(account)).key
})
afterAll(() => stage.close())

async function visit(): Promise<Client> {
  const client = await speak(stage.port)
  await client.say('EHLO app.example\r\n', /^250 .*\r\n/m)
  expect(await client.say(plainLogin(key))).toMatch(/^235 /)
  return client
}

async function toData(client: Client, to = 'asha@example.com'): Promise<void> {
  await client.say('MAIL FROM:<a@b.example>\r\n')
  expect(await client.say(`RCPT TO:<${to}>\r\n`)).toMatch(/^250 /)
  expect(await client.say('DATA\r\n')).toMatch(/^354 /)
}

/** The messages of the workspace, newest first. */
async function stored() {
  const { body } = await stage.world.call('GET', '/api/v1/messages?limit=100', { key })
  return body.data.messages as { id: string; content: Record<string, unknown>; metadata: object }[]
}

const HEAD = 'From: shop@svc.example\r\nTo: asha@example.com\r\nSubject: Hi\r\n\r\n'
const SECOND = 'MAIL FROM:<x@y.example>\r\nRCPT TO:<z@example.com>\r\nDATA\r\n'

it.each(['\n.\n', '\n.\r\n', '\r.\r\n', '\r\n.\n', '\r\n.\r', '\r.\r', '\r\n\0.\r\n'])(
  'does not end a mail at %j, so that no second mail is smuggled',
  async (end) => {
    const before = (await stored()).length
    const client = await visit()
    await toData(client)
    const reply = await client.say(`${HEAD}Hello${end}${SECOND}${HEAD}Bye\r\n.\r\n`)
    // The mail with the NUL is refused as a whole.
    expect(reply.match(/^\d{3}/gm)).toStrictEqual([end.includes('\0') ? '554' : '250'])
    const [newest] = await stored()
    expect((await stored()).length - before).toBe(end.includes('\0') ? 0 : 1)
    if (!end.includes('\0')) expect(newest?.content.text).toContain('MAIL FROM:<x@y.example>')
    client.socket.destroy()
  },
)

it('takes 10,000 recipients of one mail for 50, in bounded time and memory', async () => {
  const client = await visit()
  await client.say('MAIL FROM:<a@b.example>\r\n')
  const commands = Array.from({ length: 10_000 }, (_, i) => `RCPT TO:<a${i}@example.com>\r\n`)
  client.socket.write(commands.join(''))
  const replies = await client.say('NOOP\r\n', /^250 OK.*\r\n$|^250 2\.0\.0.*\r\n$/m)
  expect(replies.match(/^250 2\.1\.5/gm)).toHaveLength(50)
  expect(replies.match(/^452 4\.5\.3/gm)).toHaveLength(9_950)
  client.socket.destroy()
})

it('closes a connection whose line has no end, before and within the login', async () => {
  for (const beginning of ['', 'AUTH PLAIN ', 'EHLO ']) {
    const client = await speak(stage.port)
    client.socket.write(beginning + 'x'.repeat(1_000_000))
    await client.closed.catch(() => {})
  }
  const client = await visit()
  client.socket.write(`RCPT TO:<${'x'.repeat(1_000_000)}`)
  await client.closed.catch(() => {})
})

it('stops reading from a client that does not read its replies', async () => {
  const client = await visit()
  client.socket.pause()
  const lines = 'EHLO app.example\r\n'.repeat(5_000)
  const timer = setInterval(() => client.socket.write(lines), 5)
  // More than the system's buffers take.
  await expect.poll(() => client.socket.writableLength, { timeout: 20_000 }).toBeGreaterThan(2e7)
  clearInterval(timer)
  const other = await visit()
  expect(await other.say('NOOP\r\n')).toMatch(/^250 /)
  other.socket.destroy()
  client.socket.destroy()
})

it('answers nonsense, and continues with the next client', async () => {
  for (const bytes of [
    '\0\0\0\0\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n',
    'AUTH PLAIN ====\r\nAUTH LOGIN\r\n*\r\nAUTH LOGIN\r\n\xff\xfe\r\n\r\n',
    'MAIL FROM:<\r\nRCPT TO:<@@@>\r\nDATA\r\nBDAT 10 LAST\r\n0123456789',
    'EHLO \xff\xff\r\nRSET\r\nVRFY a\r\nEXPN a\r\nTURN\r\nHELP\r\n',
  ]) {
    const socket = connect({ host: '127.0.0.1', port: stage.port })
    socket.on('error', () => {})
    socket.end(bytes, 'latin1')
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
  }
  const client = await visit()
  await toData(client)
  expect(await client.say(`${HEAD}Hello\r\n.\r\n`)).toMatch(/^250 2\.6\.0 /)
  client.socket.destroy()
})

it.each([
  ['дж@example.com', /^550 5\.1\.3 /],
  ['a@b@example.com', /^501 5\.1\.3 /],
  ['"a b"@example.com', /^501 5\.1\.3 /],
  ['"a"@example.com', /^550 5\.1\.3 /],
  ['a@[127.0.0.1]', /^550 5\.1\.3 /],
  ['a\0b@example.com', /^5\d\d /],
  ['a%b@example.com', /^250 /],
  ['a@bücher.example', /^250 /],
])('answers to the recipient %j', async (address, expected) => {
  const client = await visit()
  await client.say('MAIL FROM:<ж@b.example> SMTPUTF8 BODY=8BITMIME\r\n')
  client.socket.write(Buffer.from(`RCPT TO:<${address}>\r\n`))
  expect(await client.say('', /^\d{3} .*\r\n/m)).toMatch(expected)
  client.socket.destroy()
})

it.each([
  [
    'a line break in an encoded subject',
    'Subject: =?utf-8?Q?Hi=0D=0ABcc:_eve@example.com?=',
    /^554 5\.6\.0 .*line breaks/,
  ],
  ['a NUL in an encoded subject', 'Subject: =?utf-8?Q?a=00b?=', /^554 5\.6\.0 .*U\+0000/],
  [
    'a line break in an idempotency key',
    'X-Svc-Idempotency-Key: =?utf-8?Q?a=0D=0Ab?=',
    /^554 5\.6\.0 /,
  ],
  ['a long idempotency key', `X-Svc-Idempotency-Key: ${'x'.repeat(300)}`, /^554 5\.6\.0 /],
  ['half an object as metadata', 'X-Svc-Metadata: {"a":', /^554 5\.6\.0 .*must be a JSON object/],
  [
    'deep metadata',
    `X-Svc-Metadata: ${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
    /^554 5\.6\.0 JSON must not be nested deeper/,
  ],
  ['half a character in metadata', 'X-Svc-Metadata: {"a":"\\ud800"}', /^554 5\.6\.0 .*surrogates/],
  ['a wrong time', 'X-Svc-Scheduled-At: 9999-99-99', /^554 5\.6\.0 /],
] as const)('refuses %s, and stores nothing', async (_, header, expected) => {
  const client = await visit()
  const before = (await stored()).length
  await toData(client)
  const mail = `From: shop@svc.example\r\n${header}\r\n\r\nHello\r\n.\r\n`
  expect(await client.say(mail)).toMatch(expected)
  expect(await stored()).toHaveLength(before)
  client.socket.destroy()
})

it('takes X-Svc-… headers from the head of the mail only, the first of each name', async () => {
  const client = await visit()
  await toData(client)
  const mail = [
    'From: shop@svc.example',
    'X-Svc-Metadata: {"from":"first"}',
    'X-Svc-Metadata: {"from":"second"}',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'X-Svc-Metadata: {"from":"part"}',
    'X-Svc-Scheduled-At: 2030-01-01T00:00:00Z',
    '',
    'Hello',
    '--b--',
    '.',
  ]
  expect(await client.say(`${mail.join('\r\n')}\r\n`)).toMatch(/^250 2\.6\.0 /)
  expect((await stored())[0]?.metadata).toMatchObject({ from: 'first' })
  client.socket.destroy()
})

it('defers mails while the disk is full, and takes them again afterwards', async () => {
  const client = await visit()
  const before = (await stored()).length
  const mail = `From: shop@svc.example\r\nX-Svc-Idempotency-Key: full-disk\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(3_000)}.\r\n`
  writer.pragma('max_page_count = 1')
  await toData(client)
  expect(await client.say(mail)).toMatch(/^451 4\.3\.0 /)
  writer.pragma('max_page_count = 1000000')
  stage.world.takeFaults()
  await toData(client)
  expect(await client.say(mail)).toMatch(/^250 2\.6\.0 /)
  expect((await stored()).length - before).toBe(1)
  client.socket.destroy()
})

it('takes mails on a connection after the clock was set back, and repeats none', async () => {
  const client = await visit()
  const mail = 'From: shop@svc.example\r\nX-Svc-Idempotency-Key: clock\r\n\r\nHello\r\n.\r\n'
  await toData(client)
  const first = await client.say(mail)
  stage.world.step(-3_600_000)
  await toData(client)
  expect(await client.say(mail)).toBe(first)
  await toData(client)
  expect(await client.say(`${HEAD}Hello\r\n.\r\n`)).toMatch(/^250 2\.6\.0 /)
  stage.world.step(3_600_000)
  client.socket.destroy()
})
