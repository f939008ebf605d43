import { readMailReport } from '../../packages/core/src/providers/smtp/bounce-report.ts'
import { createMailReader } from '../../packages/server/src/compat/smtp/mail-reader.ts'

/** A mail that could delay the event loop of the SMTP inlet, or of the server that takes bounces. */
export interface SlowMail {
  /** Its unusual part. */
  name: string
  raw: Buffer
}

/** The longest turn of the event loop that one mail caused. */
export interface SlowRead {
  name: string
  reader: 'SMTP inlet' | 'bounces'
  delay_ms: number
}

const TRIES = 4
/** The SMTP inlet reads longer mails in a thread. */
const LENGTH = 62_000
/** The bytes of a mail that the reader of bounces reads. */
const BOUNCE_LENGTH = 256 * 1024

const ADDRESS_HEADERS = ['To', 'From', 'Cc', 'Bcc', 'Reply-To', 'Sender', 'Return-Path']
const OTHER_HEADERS = ['Subject', 'Message-ID', 'References', 'Date', 'X-Failed-Recipients']
const TYPED_HEADERS = [
  'Content-Type: text/plain',
  'Content-Type: multipart/mixed; boundary=b',
  'Content-Disposition: attachment',
  'Content-ID: a',
]

/** The parts of address lists (RFC 5322, section 3.4), encoded words (RFC 2047) and parameters (RFC 2231). */
const UNITS: [name: string, unit: string][] = [
  ['groups of named addresses', '"a" <b@c.com>:'],
  ['groups', 'g:'],
  ['groups with a member', 'g:a@b;'],
  ['empty groups', 'g:;'],
  ['semicolons', ';'],
  ['addresses', 'a@b.c,'],
  ['words and addresses', 'a b@c d, '],
  ['at signs', 'a@'],
  ['comments', '(a)'],
  ['open comments', '('],
  ['nested comments', '((a) '],
  ['quotes', '"a" '],
  ['quotes inside quotes', '"a \\"b\\" "'],
  ['open quotes', '"'],
  ['backslashes', '\\"'],
  ['brackets', '<a>'],
  ['open brackets', '<'],
  ['encoded words', '=?utf-8?q?=41?= '],
  ['encoded words in base64', '=?utf-8?b?QQ==?= '],
  ['encoded words of several charsets', '=?iso-2022-jp?b?GyRC?= =?x?q?a?= '],
  ['encoded addresses', '=?utf-8?q?a=2C?= <b@c>, '],
  ['open encoded words', '=?utf-8?q?'],
  ['parameters', '; a="b'],
  ['continued parameters', "; a*0*=utf-8''%41"],
  ['spaces', ' '],
  ['letters', 'a'],
]

const BODY_UNITS: [name: string, unit: string][] = [
  ['empty lines', '\r\n'],
  ['short lines', 'a\r\n'],
  ['parts', '--b\r\n\r\n'],
  ['parts with a header', '--b\r\nContent-Type: text/html\r\n\r\nx\r\n'],
  ['reports', '--b\r\nContent-Type: message/delivery-status\r\n\r\nStatus: 5.1.1\r\n\r\n'],
  ['recipients', 'Final-Recipient: rfc822;a@b.c\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n'],
  ['statuses', '550 5.1.1 (#5.1.1) '],
  ['addresses', '<a@b.c>:\r\n'],
  ['quoted lines', '> > '],
  ['tags', '<a '],
  ['entities', '&lt;'],
  ['words of servers', 'could not be delivered '],
  ['headers of returned mails', 'Message-ID:\r\n>'],
]

const BODIES: [name: string, head: string][] = [
  ['a text', '\r\n'],
  ['HTML', 'Content-Type: text/html\r\n\r\n'],
  ['a report', 'Content-Type: multipart/report; boundary=b\r\n\r\n'],
  [
    'a delivery status',
    'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n',
  ],
]

/** A mail of letters, of the same length as the others. */
export const PLAIN: SlowMail = {
  name: 'letters',
  raw: Buffer.from(`To: a@b.example\r\n\r\n${filled('a', LENGTH)}`),
}

/**
 * All mails; `quick`: each unit in one header or body. `seed` chooses the mails that mix units.
 */
export function mails({ quick, seed }: { quick: boolean; seed: number }): SlowMail[] {
  const random = randomOf(seed)
  const mixed = Array.from({ length: quick ? 20 : 400 }, (_, i): [string, string] => {
    const units = Array.from({ length: 1 + random(6) }, () => UNITS[random(UNITS.length)]?.[1])
    return [`mixture ${i} of seed ${seed}`, units.join('')]
  })
  const units = [...UNITS, ...mixed]
  const heads = [...ADDRESS_HEADERS, ...OTHER_HEADERS].map((name) => `${name}: `)
  const headers = units.flatMap(([name, unit], i) => {
    const all = [...heads, ...TYPED_HEADERS]
    const tried = quick ? [heads[i % ADDRESS_HEADERS.length] as string] : all
    return tried.flatMap((head) => {
      const forms = formsOf(head, filled(unit, LENGTH))
      return (quick ? [forms[i % forms.length] as (typeof forms)[number]] : forms).map(
        ([form, text]) => mail(`${name} in ${head}${form}`, `${text}\r\n\r\nHello`),
      )
    })
  })
  const several = units.map(([name, unit]) =>
    mail(
      `${name} in several headers`,
      `${ADDRESS_HEADERS.map((head) => `${head}: ${filled(unit, LENGTH / 7)}\r\n`).join('')}\r\n`,
    ),
  )
  const server = 'From: mailer-daemon@b.example\r\nSubject: failure notice\r\n'
  const bodies = (quick ? BODIES.slice(2, 3) : BODIES).flatMap(([kind, head]) =>
    BODY_UNITS.map(([name, unit]) =>
      mail(`${name} in ${kind}`, `${server}${head}${filled(unit, BOUNCE_LENGTH)}`),
    ),
  )
  return [...headers, ...several, ...bodies]
}

/** Reads a mail with each reader, repeatedly if it is slow, and returns the shortest delays. */
export async function readSlowly({ name, raw }: SlowMail, suspect_ms: number): Promise<SlowRead[]> {
  const inlet = createMailReader()
  const readers = [
    // The inlet takes the memory of a mail.
    ['SMTP inlet', () => inlet.read(new Uint8Array(raw), { workspace_id: 'a', client: 'a' })],
    ['bounces', () => readMailReport(raw.subarray(0, BOUNCE_LENGTH))],
  ] as const
  const results: SlowRead[] = []
  for (const [reader, read] of readers) {
    let delay_ms = Number.POSITIVE_INFINITY
    for (let i = 0; i < TRIES && delay_ms > suspect_ms; i++) {
      delay_ms = Math.min(delay_ms, await turnOf(read))
    }
    results.push({ name, reader, delay_ms })
  }
  await inlet.close()
  return results
}

/** The first turn of a work: the minimum of its duration and of the processor time of the process in it. */
async function turnOf(work: () => Promise<unknown>): Promise<number> {
  const used = process.cpuUsage()
  const began_ms = performance.now()
  const done = work().catch(() => {})
  await new Promise(setImmediate)
  const duration_ms = performance.now() - began_ms
  const { user, system } = process.cpuUsage(used)
  await done
  return Math.min(duration_ms, (user + system) / 1_000)
}

/** The ways to write a header: names and values can be folded, and the first line of a mail may begin with a space. */
function formsOf(head: string, value: string): [form: string, text: string][] {
  const lines = value.match(/[\s\S]{1,60}/g) ?? []
  return [
    ['', `${head}${value}`],
    [', folded', `${head}${lines.join('\r\n ')}`],
    [', folded, ended by LF', `${head}${lines.join('\n\t')}`],
    [', name folded', `${head.replace(':', '\r\n :')}${value}`],
    [', after a space', ` ${head}${value}`],
  ]
}

function mail(name: string, text: string): SlowMail {
  return { name, raw: Buffer.from(text, 'latin1') }
}

function filled(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
}

/** Whole numbers below a maximum, the same for the same seed (a linear congruential generator). */
function randomOf(seed: number): (max: number) => number {
  let state = seed >>> 0
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * max)
  }
}
