import { expect, it } from 'vitest'
import { createMailReader } from '../../src/compat/smtp/mail-reader.ts'

const OWNER = { workspace_id: 'a', client: '192.0.2.1/32' }

async function readMail(raw: Uint8Array) {
  const reader = createMailReader()
  try {
    return await reader.read(raw, OWNER)
  } finally {
    await reader.close()
  }
}

const line = (text: string) => `${text}\r\n`

/** A part in a part in a part. */
function nested(depth: number): string {
  const heads = Array.from({ length: depth }, (_, i) =>
    line(`Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}`),
  )
  return `${heads.join('')}\r\nHello\r\n`
}

const MAILS: [name: string, mail: string][] = [
  ['100,000 headers', `${line('A: b').repeat(100_000)}\r\nHello`],
  ['one header of 8 MB', `Subject: ${'x'.repeat(8_000_000)}\r\n\r\nHello`],
  ['a header with 500,000 folds', `Subject: x${'\r\n x'.repeat(500_000)}\r\n\r\nHello`],
  ['1,000 nested parts', nested(1_000)],
  [
    '100,000 parts',
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n${line('--b\r\n\r\nx').repeat(100_000)}`,
  ],
  [
    'one base64 line of 6 MB',
    `Content-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n${'QUJD'.repeat(1_500_000)}`,
  ],
  ['2,000,000 empty lines', `\r\n${line('').repeat(2_000_000)}`],
  ['200,000 addresses', `To: ${'a@b.example,'.repeat(200_000)}\r\n\r\nHello`],
  ['60 KB of brackets in To', `To: ${'<('.repeat(30_000)}\r\n\r\nHello`],
  ['60 KB of encoded words', `Subject: ${'=?utf-8?q?=41?= '.repeat(3_500)}\r\n\r\nHello`],
  [
    'HTML of 60 KB without an end beside a text',
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${'<a '.repeat(
      20_000,
    )}\r\n--b\r\n\r\ntext\r\n--b--`,
  ],
  ['a mail without an end of its headers', 'Subject: x'],
  ['no bytes', ''],
  ['bytes of no charset', '\xff\xfe\x00\x80'.repeat(10_000)],
]

it.each(MAILS)('%s does not stop the event loop', async (_, mail) => {
  const reader = createMailReader()
  let turns = 0
  let isRunning = true
  const count = () => {
    turns += 1
    if (isRunning) setTimeout(count, 1)
  }
  count()
  const raw = Buffer.from(mail, 'latin1')
  const reading = await reader.read(raw, OWNER).catch((error: Error) => ({ fault: error.message }))
  isRunning = false
  await reader.close()
  expect('mail' in reading || typeof reading.fault === 'string').toBe(true)
  // A fault has no text of the mail.
  if ('fault' in reading) expect(reading.fault.length).toBeLessThan(100)
  // Other large mails are read in a thread, so timers run meanwhile.
  const isRefusedUnread = 'fault' in reading && /header|addresses/.test(reading.fault)
  if (raw.length > 64 * 1024 && !isRefusedUnread) expect(turns).toBeGreaterThan(1)
})

it('large mails beyond 100 that wait for the thread are deferred: 451 4.4.5', async () => {
  const reader = createMailReader()
  const mail = Buffer.from(`Subject: Hi\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(1_000)}`)
  const readings = await Promise.allSettled(
    Array.from({ length: 102 }, () => reader.read(new Uint8Array(mail), OWNER)),
  )
  expect(readings.slice(0, 101).every(({ status }) => status === 'fulfilled')).toBe(true)
  expect(readings[101]).toMatchObject({ reason: { responseCode: '451 4.4.5' } })
  expect(await reader.read(new Uint8Array(mail), OWNER)).toMatchObject({ mail: { subject: 'Hi' } })
  await reader.close()
})

const ADDRESSES: [name: string, unit: string][] = [
  ['groups', 'g:'],
  ['groups with a member', 'g:a@b;'],
  ['separators', ';'],
  ['addresses', 'a@b.c,'],
  ['comments', '(a)'],
  ['quotes', '"a" '],
  ['brackets', '<a>'],
]

it.each(ADDRESSES)(
  'many %s in an address header are refused unparsed, in any form',
  async (_, unit) => {
    const many = unit.repeat(7_000)
    const folded = many.match(/.{1,60}/g)?.join('\r\n ')
    for (const head of [
      `To: ${many}`,
      `from: ${many}`,
      `To: ${folded}`,
      `Cc: ${many}\r\nX-\xe9: b`,
      ` To: ${many}`,
      `To\r\n : ${many}`,
      `X: y\r\r\nTo \t:${many}`,
    ]) {
      const raw = Buffer.from(`${head}\r\n\r\nHello`, 'latin1')
      expect(await readMail(raw)).toEqual({ fault: 'The mail has too many addresses' })
      const unix = Buffer.from(raw.toString('latin1').replaceAll('\r', ''), 'latin1')
      expect(await readMail(unix)).toEqual({ fault: 'The mail has too many addresses' })
    }
  },
)

it('a few nested groups with a long name are refused, and short ones are read', async () => {
  const to = (length: number) => `To: ${'g:'.repeat(20)}${'a'.repeat(length)}@b.example`
  const long = await readMail(Buffer.from(`${to(50_000)}\r\n\r\nHello`))
  expect(long).toEqual({ fault: 'The mail has too many addresses' })
  const short = await readMail(Buffer.from(`${to(10)}\r\n\r\nHello`))
  expect('mail' in short && short.mail.to).toEqual(['aaaaaaaaaa@b.example'])
})

it.each(['Hello', 'H\xe9llo'])(
  'headers have one maximum size, also in a usual mail',
  async (text) => {
    const raw = Buffer.from(`Subject: ${'x'.repeat(256 * 1024)}\r\n\r\n${text}`, 'latin1')
    const fault = 'Maximum header size of 262144 bytes exceeded'
    expect(await readMail(raw)).toEqual({ fault })
  },
)

it('1,000 named addresses and 60 KB of brackets and commas in the text are read', async () => {
  const reader = createMailReader()
  const to = Array.from({ length: 1_000 }, (_, i) => `"A" <a${i}@b.example>`).join(',\r\n ')
  const raw = Buffer.from(`To: ${to}\r\n\r\n${'<,('.repeat(20_000)}`)
  const reading = await reader.read(raw, OWNER)
  expect('mail' in reading && reading.mail.to.length).toBe(1_000)
  await reader.close()
})

it('a large mail is moved to the thread, and not copied', async () => {
  const reader = createMailReader()
  const large = Buffer.from(`Subject: Hi\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(1_000)}`)
  // Short mails stand in memory that Node shares among buffers.
  const short = Buffer.from(`Subject: Hi\r\n\r\n${'\r\n'.repeat(1_000)}`)
  const [neighbour, length] = [Buffer.from('neighbour'), short.length]
  expect(await reader.read(large, OWNER)).toMatchObject({ mail: { subject: 'Hi' } })
  expect(await reader.read(short, OWNER)).toMatchObject({ mail: { subject: 'Hi' } })
  await reader.close()
  expect([large.length, short.length]).toEqual([0, length])
  expect(neighbour.toString()).toBe('neighbour')
})

it('the workspaces take turns, and the one with the most waiting mails makes room', async () => {
  const reader = createMailReader()
  const mail = Buffer.from(`Subject: Hi\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(1_000)}`)
  const order: string[] = []
  const read = (id: string) =>
    reader.read(new Uint8Array(mail), { workspace_id: id, client: OWNER.client }).then(
      () => order.push(id),
      (error: { responseCode: string }) => order.push(`${id} ${error.responseCode}`),
    )
  // One is read, 100 wait.
  const all = Array.from({ length: 101 }, () => read('busy'))
  await Promise.all([...all, read('other')])
  expect(order[0]).toBe('busy 451 4.4.5')
  expect(order.indexOf('other')).toBe(2)
  expect(order.filter((one) => one === 'busy')).toHaveLength(100)
  await reader.close()
})

it('clients take turns too, so that many workspaces of one client are one among others', async () => {
  const reader = createMailReader()
  const mail = Buffer.from(`Subject: Hi\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(1_000)}`)
  const order: string[] = []
  const read = (workspace_id: string, client: string) =>
    reader.read(new Uint8Array(mail), { workspace_id, client }).then(
      () => order.push(workspace_id),
      (error: { responseCode: string }) => order.push(`${workspace_id} ${error.responseCode}`),
    )
  // One is read, 100 wait.
  const all = Array.from({ length: 101 }, (_, i) => read(`w${i}`, '192.0.2.1/32'))
  const others = [read('x', '192.0.2.2/32'), read('y', '192.0.2.3/32'), read('x', '192.0.2.2/32')]
  await Promise.all([...all, ...others])
  const refused = order.splice(0, 3)
  expect(refused.toSorted()).toEqual(['w100 451 4.4.5', 'w98 451 4.4.5', 'w99 451 4.4.5'])
  // The clients that came later had their first turns before the second one of the first client.
  expect(order.slice(0, 5)).toEqual(['w0', 'x', 'y', 'w1', 'x'])
  await reader.close()
})

const LINES: [name: string, body: string, fault: string][] = [
  ['lines', '\r\nHello\r\n'.repeat(60_000), 'The mail has too many lines'],
  [
    'parts',
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(1_001)}`,
    'The mail must have at most 1000 parts',
  ],
  [
    'parts of a nested boundary',
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed;\r\n boundary="c d"\r\n\r\n${'--c d\r\n\r\nx\r\n'.repeat(1_001)}`,
    'The mail must have at most 1000 parts',
  ],
  ['headers', `${'A: b\r\n'.repeat(501)}\r\nHello`, 'The mail must have at most 500 headers'],
]

it.each(LINES)('a mail with too many %s is refused', async (_, mail, fault) => {
  expect(await readMail(Buffer.from(mail))).toEqual({ fault })
})

it('a text with 2,000 lines that begin with hyphens, and a file of 100,000 lines, are read', async () => {
  const text = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${'-- a\r\n'.repeat(2_000)}--b--`
  expect('mail' in (await readMail(Buffer.from(text)))).toBe(true)
  const base64 = `Content-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n${`${'QUJD'.repeat(15)}\r\n`.repeat(100_000)}`
  expect('mail' in (await readMail(Buffer.from(base64)))).toBe(true)
})
