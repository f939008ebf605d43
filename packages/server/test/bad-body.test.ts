import { describe, expect, it } from 'vitest'
import { sms } from './accounts.ts'
import { BODIES, SEND, usePoster } from './bodies.ts'
import { useWorld } from './world.ts'

const KB = 1024
const MB = 1024 * KB

const { post, get, expectRefused } = usePoster(useWorld())

describe.each(BODIES)('POST %s', (path, body) => {
  const NOT_JSON = 'Request body must be valid JSON: it could not be parsed'
  it.each([
    '{',
    '{"a":1,}',
    "{'a':1}",
    '{"a":01}',
    '{"a":NaN}',
    '{"a":undefined}',
    'to=%2B1415&channel=sms',
    '\ufeff\ufeff{}',
    '{}\ufeff',
    '{} {}',
    '{"a":"\n"}',
    '\0',
    '{"a":"\\x41"}',
    '\u2028',
  ])('refuses %j, which is not JSON', async (raw) => {
    await expectRefused(path, { raw }, NOT_JSON, '')
  })

  it.each(['[]', '"text"', '7', 'true', 'null', '[{}]'])(
    'refuses %s, which is not an object',
    async (raw) => {
      await expectRefused(path, { raw }, 'Request body must be a JSON object', '')
    },
  )

  it.each([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]])(
    'refuses bytes %j, which are not UTF-8',
    async (...bytes) => {
      const raw = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])
      await expectRefused(path, { raw }, 'Request body must be valid JSON: it is not UTF-8', '')
    },
  )

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/vnd.api+json',
    'application/xml',
    'json',
    '*/*',
    '',
    ';',
  ])('refuses the content type %j', async (type) => {
    const options = { raw: JSON.stringify(body), headers: { 'content-type': type } }
    await expectRefused(path, options, 'Content-Type must be application/json', '')
  })

  it('accepts JSON with a character set', async () => {
    const raw = JSON.stringify({ ...body, unknown_field: true })
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
    const { status, body: answer } = await post(path, { raw, headers })
    expect([200, 201, 400, 401]).toContain(status)
    expect(answer.message).not.toBe('Content-Type must be application/json')
  })

  it('reads a missing body as an empty one', async () => {
    const { status, body: answer } = await post(path, {})
    expect(status).toBe(400)
    expect(answer.message).toMatch(/^Missing required field: /)
  })

  it('accepts 16 levels and refuses 17', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    const sixteen = await post(path, { raw: nested(16) })
    expect(sixteen.body.message).not.toContain('levels')
    const text = 'JSON must be at most 16 levels deep'
    await expectRefused(path, { raw: nested(17) }, text, '')
    await expectRefused(path, { raw: nested(40_000) }, text, '')
    await expectRefused(path, { raw: '['.repeat(250_000) }, text, '')
    await expectRefused(
      path,
      { raw: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}` },
      text,
      '',
    )
  })

  it('ignores brackets inside texts', async () => {
    const raw = JSON.stringify({ ...body, x: `${'['.repeat(100)}\\"${'{'.repeat(100)}` })
    expect((await post(path, { raw })).body.message).not.toBe('JSON must be at most 16 levels deep')
  })

  const NUL = 'Text must not contain the character U+0000'
  const SURROGATE = 'Text must not contain unpaired surrogates'
  it.each([
    ['\\u0000', NUL],
    ['a\\u0000b', NUL],
    ['\\ud800', SURROGATE],
    ['\\udc00', SURROGATE],
    ['\\ud83dx', SURROGATE],
    ['\\udE00\\uD83D', SURROGATE],
  ])('refuses the text %s in a value, a key, or at a deep level', async (text, message) => {
    const open = JSON.stringify(body).slice(0, -1)
    for (const extra of [
      `"x":"${text}"`,
      `"${text}":1`,
      `"metadata":{"a":[{"b":"${text}"}]}`,
      `"metadata":{"a":{"${text}":null}}`,
    ]) {
      await expectRefused(path, { raw: `${open},${extra}}` }, message)
    }
  })
})

describe('sizes', () => {
  /** A body of exactly this number of bytes. */
  const ofBytes = (bytes: number) => `{"x":"${'a'.repeat(bytes - 8)}"}`

  it.each([
    ['/api/v1/auth/signup', 256 * KB],
    ['/api/v1/api-keys', 256 * KB],
    ['/api/v1/webhooks', 256 * KB],
    [SEND, 4 * MB],
  ])('POST %s accepts %d bytes and refuses one more', async (path, max) => {
    const most = await post(path, { raw: ofBytes(max) })
    expect(most.status).toBe(400)
    expect(most.body.message).not.toBe('Request body is too large')
    await expectRefused(path, { raw: ofBytes(max + 1) }, 'Request body is too large', '')
  })

  const VALUES =
    'JSON must have at most 10000 values, not counting the items of its longest list, and in each of them'

  it('an object of 200,000 members is refused before parsing', async () => {
    const members = Array.from({ length: 200_000 }, (_, i) => `"k${i}":1`).join(',')
    for (const raw of [
      `{${members}}`,
      `{"metadata":{${members}}}`,
      `{"recipients":["a",{"variables":{${members}}}]}`,
      `{"a":[1,2,3],"b":{"c":[${'0,'.repeat(20_000)}0]}}`,
    ]) {
      await expectRefused('/api/v1/messages/bulk', { raw }, VALUES, '')
    }
  })

  it.each([
    [100_000, 'JSON must have at most 50000 items in a list'],
    [700_000, 'JSON must have at most 700000 values'],
  ])('a list of %d items is refused before parsing', async (items, text) => {
    const raw = `{"recipients":[${'{},'.repeat(items)}{}]}`
    await expectRefused('/api/v1/messages/bulk', { raw }, text, '')
  })

  it('a list longer than one part is read completely, and its faults have their positions', async () => {
    const items = (last: string) => `${'{"to":"+25570000001"},'.repeat(4_000)}${last}`
    const send = (raw: string) => post('/api/v1/messages/bulk', { raw })
    const longest = await send(
      `{"channel":"sms","content":{"text":"Hi"},"recipients":[${items('{"to":"x"}')}]}`,
    )
    expect(longest.body.details).toContainEqual({
      path: 'recipients',
      message: 'recipients must have at most 1000 items',
    })
    const nul = await send(`{"recipients":[${items('{"to":"\\u0000"}')}]}`)
    expect(nul.body.details).toEqual([
      { path: 'recipients.4000.to', message: 'Text must not contain the character U+0000' },
    ])
    const twice = await send(`{"recipients":[${items('{}')}],"recipients":["a"]}`)
    const around = await send(`["recipients",[${items('{}')}]]`)
    for (const { body } of [twice, around]) {
      expect(body.message).toBe('Request body must be valid JSON: it could not be parsed')
    }
    for (const bad of ['', '{"to"}', '{}]']) {
      const { body } = await send(`{"recipients":[${items(bad)}]}`)
      expect(body.message).toBe('Request body must be valid JSON: it could not be parsed')
    }
  })

  it('an e-mail of 2 MB is accepted, one byte more is refused', async () => {
    const email = (bytes: number) => ({
      to: 'asha@example.com',
      channel: 'email',
      content: { subject: 'Big', html: 'é'.repeat((bytes - 2) / 2), text: 'ab' },
    })
    const sent = await post(SEND, { json: email(2 * MB) })
    expect(sent.status).toBe(201)
    const { id } = (await get(`/api/v1/messages/${sent.body.data.message_id}`)).body.data.message
    expect(id).toBe(sent.body.data.message_id)
    await expectRefused(
      SEND,
      { json: { ...email(2 * MB), content: { ...email(2 * MB).content, text: 'abc' } } },
      `content.html and content.text must be at most ${2 * MB} bytes together`,
    )
  })

  it('a wrong Content-Length is refused', async () => {
    const raw = JSON.stringify(sms)
    const headers = { 'content-length': String(raw.length + 5) }
    await expectRefused(
      SEND,
      { raw, headers },
      'Content-Length does not match the request body',
      '',
    )
  })
})
