import { describe, expect, test } from 'vitest'
import { decode } from '../endpoints/decode.ts'
import { LargeFile } from '../fields/large-file.ts'
import { LIMITS } from '../limits.ts'
import { bulkRequest } from './bulk-request.ts'
import { sendRequest } from './send-request.ts'

const request = sendRequest({ voice: false })

const mail = (attachments: unknown) => ({
  to: 'asha@example.com',
  channel: 'email',
  content: { subject: 'Hi', text: 'x', attachments },
})

const file = (fields: object = {}) => ({ filename: 'a.txt', content: 'SGVsbG8=', ...fields })
const ofBytes = (bytes: number) => file({ content: LargeFile.ofBytes(new Uint8Array(bytes)) })
const MAX = LIMITS.email_attachments_bytes_max

function refusalOf(value: unknown): string | undefined {
  try {
    decode(request, value)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

describe('attachments are accepted unchanged', () => {
  test.each<[string, unknown[]]>([
    ['one', [file()]],
    ['none', []],
    ['with a type', [file({ content_type: 'application/vnd.ms-excel' })]],
    ...[
      'text/calendar; method=REQUEST; charset=utf-8',
      'text/calendar;charset="utf-8";method=REPLY \t;\tcomponent=VEVENT',
      'text/plain; format=flowed; delsp=yes',
      'application/x; note="a; b=\\"c\\" \\\\ (d)"',
      `a/b; ${'x'.repeat(248)}=1`,
      `a/b${Array.from({ length: 10 }, (_, i) => `; p${i}=v`).join('')}`,
    ].map((type): [string, unknown[]] => [type, [file({ content_type: type })]]),
    ['a name in any script, with spaces and dots', [file({ filename: 'счёт №1 .final.pdf' })]],
    ['bytes that need no padding', [file({ content: 'AAAA' })]],
    ['bytes that need two', [file({ content: 'AA==' })]],
    ['ten', Array.from({ length: 10 }, () => file())],
    ['as many bytes as there may be, in one', [ofBytes(MAX)]],
    ['as many bytes as there may be, in two', [ofBytes(MAX - 1), ofBytes(1)]],
    ['braces, which are not a placeholder', [file({ filename: '{{name}}.txt' })]],
  ])('%s', (_, attachments) => {
    expect(decode(request, mail(attachments))).toEqual(mail(attachments))
  })
})

describe('attachments are refused', () => {
  const name = 'File names must have no path, line breaks, control characters or direction marks'
  const base64 = 'Attachments must be base64 with its padding, without line breaks'
  const type =
    'content_type must be a type and a subtype such as application/pdf, not multipart or message; parameters follow as in "text/calendar; method=REQUEST"'
  const once = 'content_type must have at most 10 parameters, each once'
  const sum = 'Attachments must be at most 41943040 bytes together, decoded'
  test.each<[string, unknown]>([
    ['content.attachments must have at most 10 items', Array.from({ length: 11 }, () => file())],
    ['content.attachments must be an array', file()],
    ['Missing required field: content.attachments.0.content', [{ filename: 'a' }]],
    ['Missing required field: content.attachments.0.filename', [{ content: 'AAAA' }]],
    ['Missing required field: content.attachments.0.content', [file({ content: '' })]],
    ['Unknown field: content.attachments.0.path', [file({ path: '/etc/passwd' })]],
    [name, [file({ filename: '../a.txt' })]],
    [name, [file({ filename: 'c:\\a.txt' })]],
    [name, [file({ filename: '..' })]],
    [name, [file({ filename: 'a\r\nBcc: b@c.co' })]],
    [name, [file({ filename: 'gpj.\u202eexe' })]],
    [base64, [file({ content: 'SGVsbG8' })]],
    [base64, [file({ content: 'SGVs\r\nbG8=' })]],
    [base64, [file({ content: 'SGVsbG8-' })]],
    [base64, [file({ content: '====' })]],
    [base64, [file({ content: 'A=AA' })]],
    [type, [file({ content_type: 'text' })]],
    ...[
      'text/plain; charset',
      'text/plain; charset=',
      'text/plain; charset=utf-8;',
      'text/plain; charset = utf-8',
      'text/plain; charset="utf-8',
      'text/plain; charset="a"b',
      'text/plain; charset=a b',
      'text/plain; charset=ü',
      'text/plain; charset="ü"',
      'text/plain; charset=utf-8 (comment)',
      'text/plain; a="b\r\nBcc: b@c.co"',
      'text/plain; a="b\\\r\nBcc: b@c.co"',
      'text/plain;\r\n charset=utf-8',
      'text/plain; charset=utf-8\n',
      'text/plain; charset=utf-8\0',
      'text/plain; charset="\t"',
      'text/plain; charset=utf-8\u2028',
      "text/plain; name*=utf-8''a.txt",
      'text/plain, text/html',
      'multipart/mixed; boundary=a',
    ].map((text): [string, unknown] => [type, [file({ content_type: text })]]),
    [once, [file({ content_type: 'text/plain; charset=utf-8; Charset=latin1' })]],
    [
      once,
      [file({ content_type: `a/b${Array.from({ length: 11 }, (_, i) => `; p${i}=v`).join('')}` })],
    ],
    [
      'content.attachments.0.content_type must be at most 255 characters',
      [file({ content_type: `a/b; ${'x'.repeat(249)}=1` })],
    ],
    [type, [file({ content_type: 'text/plain\r\nBcc: b@c.co' })]],
    [type, [file({ content_type: 'message/rfc822' })]],
    [type, [file({ content_type: 'Multipart/mixed' })]],
    [sum, [ofBytes(MAX + 1)]],
    [sum, [ofBytes(MAX), ofBytes(1)]],
  ])('%s', (message, attachments) => {
    expect(refusalOf(mail(attachments))).toBe(message)
  })
})

test('a bulk has no attachments: each of its messages would have a copy', () => {
  const { content } = mail([file()])
  const bulk = { channel: 'email', content, recipients: ['asha@example.com'] }
  expect(() => decode(bulkRequest({ voice: false }), bulk)).toThrow(
    'Unknown field: content.attachments',
  )
})
