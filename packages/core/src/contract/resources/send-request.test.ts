import { describe, expect, test } from 'vitest'
import { decode } from '../endpoints/decode.ts'
import { sendRequest } from './send-request.ts'

const request = sendRequest({ voice: true })
const phone = '+14155552671'
const sms = (text: string) => ({ to: phone, channel: 'sms', content: { text } })
const whatsapp = (content: unknown) => ({ to: phone, channel: 'whatsapp', content })
const mail = (content: object) => ({
  to: 'asha@example.com',
  channel: 'email',
  content: { subject: 'Hi', text: 'x', ...content },
})
const voice = (content: unknown) => ({ to: phone, channel: 'voice', content })
const image = { type: 'image', url: 'https://example.com/a.png' }

function refusalOf(value: unknown): string | undefined {
  try {
    decode(request, value)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

describe('accepted unchanged', () => {
  test.each<[string, unknown]>([
    ['a text message', sms('Hi')],
    ['1600 code units', sms('x'.repeat(1600))],
    ['800 emoji, which are 1600 code units', sms('😀'.repeat(800))],
    ['white space', sms(' ')],
    ['a sender on any channel', { ...sms('Hi'), from: 'SVC' }],
    ['everything that is common', { ...sms('Hi'), metadata: { a: 1 }, expires_in: 60 }],
    ['an e-mail with a text alone', mail({})],
    ['an e-mail with html alone', mail({ text: undefined, html: '<p>x</p>' })],
    ['an empty html next to a text', mail({ html: '' })],
    ['a display name', { ...mail({}), from: 'Example Ltd' }],
    ['a reply address', mail({ reply_to: 'help@example.com' })],
    [
      'an allowed header, in any case',
      mail({ headers: { 'list-unsubscribe': '<https://x.test>' } }),
    ],
    ['a WhatsApp text', whatsapp({ text: 'Hi', preview_url: true })],
    ['a WhatsApp medium', whatsapp({ media: { ...image, caption: 'A' } })],
    [
      'a template by name',
      whatsapp({ template: { name: 'a', language: 'en', variables: { 1: 'x' } } }),
    ],
    ['a template by id', whatsapp({ template: { id: 'HX1' } })],
    ['a call that reads', voice({ text: 'Hello', language: 'en-GB', voice: 'amy' })],
    ['a call that plays', voice({ audio_url: 'https://example.com/a.mp3' })],
  ])('%s', (_, value) => {
    expect(decode(request, value)).toEqual(value)
  })
})

describe('refused', () => {
  const neither = 'Missing required field: content.html or content.text'
  const big = 'content.html and content.text must be at most 2097152 bytes together'
  const senderText = 'Sender name must be one line without "<", ">", "@" or direction marks'
  const whatsappText = 'content must have exactly one of: text, media, template'
  const voiceText = 'content must have exactly one of: text, audio_url'
  test.each<[string, unknown]>([
    ['content.text must be at most 1600 characters', sms('😀'.repeat(801))],
    ['Phone number must be in E.164 format', { ...sms('Hi'), to: 'asha@example.com' }],
    ['Unknown field: content.subject', { ...sms('Hi'), content: { text: 'Hi', subject: 'x' } }],
    ['Invalid date format. Use ISO 8601 format.', { ...sms('Hi'), scheduled_at: '2026-02-30' }],
    ['expires_in must be at most 3024000', { ...sms('Hi'), expires_in: 3_024_001 }],
    ['expires_in must be an integer', { ...sms('Hi'), expires_in: 1.5 }],
    ['Invalid email address format', { ...mail({}), to: 'Asha <asha@example.com>' }],
    [neither, mail({ text: undefined })],
    [neither, mail({ text: '', html: '' })],
    ['Subject must not contain line breaks', mail({ subject: 'a\r\nBcc: b@c.co' })],
    ['content.subject must be at most 998 characters', mail({ subject: 'x'.repeat(999) })],
    [big, mail({ html: 'x'.repeat(2 * 1024 * 1024) })],
    [big, mail({ text: 'ü'.repeat(1024 * 1024 + 1) })],
    ['Invalid email address format', mail({ reply_to: 'a@b' })],
    [senderText, { ...mail({}), from: 'Bank <ceo@bank.test>' }],
    [
      'Header Bcc is not allowed. Must be one of: List-Unsubscribe, List-Unsubscribe-Post, List-Id, Auto-Submitted, Precedence, In-Reply-To, References, Importance, X-Entity-Ref-ID, or another X-… header that is not reserved',
      mail({ headers: { Bcc: 'a@b.co' } }),
    ],
    [
      'Header values must be 1 to 998 printable ASCII characters',
      mail({ headers: { 'List-Id': 'a\r\nBcc: b@c.co' } }),
    ],
    ['List-Id must be a string', mail({ headers: { 'List-Id': 5 } })],
    ['content.headers must be an object', mail({ headers: [] })],
    [whatsappText, whatsapp({})],
    [whatsappText, whatsapp({ text: 'Hi', media: image })],
    ['content.preview_url needs content.text', whatsapp({ media: image, preview_url: true })],
    [
      'content.media.type must be one of: image, video, audio, document, sticker',
      whatsapp({ media: { ...image, type: 'gif' } }),
    ],
    [
      'URL must be http or https, without user name, password or fragment',
      whatsapp({ media: { ...image, url: 'file:///etc/passwd' } }),
    ],
    [
      'content.template must have exactly one of: name, id',
      whatsapp({ template: { name: 'a', id: 'b', language: 'en' } }),
    ],
    ['Missing required field: content.template.language', whatsapp({ template: { name: 'a' } })],
    ['1 must be a string', whatsapp({ template: { id: 'a', variables: { 1: 2 } } })],
    [voiceText, voice({})],
    [voiceText, voice({ text: 'a', audio_url: 'https://example.com/a.mp3' })],
    [
      'content.language and content.voice need content.text',
      voice({ audio_url: 'https://example.com/a.mp3', language: 'en' }),
    ],
  ])('%s', (message, value) => {
    expect(refusalOf(value)).toBe(message)
  })
})

describe('voice', () => {
  test('is refused and not named without a voice provider', () => {
    const closed = sendRequest({ voice: false })
    expect(() => decode(closed, voice({ text: 'Hello' }))).toThrow(
      'Invalid channel. Must be one of: sms, whatsapp, email',
    )
  })

  test('is named with a voice provider', () => {
    expect(refusalOf({ ...sms('Hi'), channel: 'fax' })).toBe(
      'Invalid channel. Must be one of: sms, whatsapp, email, voice',
    )
  })
})

test('__proto__ in the content of a body sets no prototype', () => {
  const body = JSON.parse(
    '{"to":"+14155552671","channel":"sms","content":{"text":"Hi","__proto__":{"x":1}}}',
  )
  expect(refusalOf(body)).toBe('Unknown field: content.__proto__')
})
