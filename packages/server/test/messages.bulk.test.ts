import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import type { Answer } from './every-answer.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const tooLarge = (millions: number) =>
  `The messages of a bulk may have at most ${millions} million characters together, metadata included: send to fewer recipients at a time`

const BULK = '/api/v1/messages/bulk'
const E164 = 'Phone number must be in E.164 format'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10_000 })
  key = (await world().key(owner)).key
})

const phone = (n: number) => `+2557000${String(10_000 + n)}`
const bulk = (body: object, headers: Record<string, string> = {}, as = key): Promise<Answer> =>
  world().call('POST', BULK, {
    key: as,
    json: { channel: 'sms', content: { text: 'Hi {{name}}' }, ...body },
    headers,
  })
const listed = async (bulkId: string) =>
  (await world().call('GET', `/api/v1/messages?bulk_id=${bulkId}&limit=100`, { key })).body.data
    .messages
/** The text that each recipient gets, by address. */
const contents = async (answer: Answer): Promise<Record<string, unknown>> => {
  expect(answer.status, answer.text).toBe(201)
  const messages = await listed(answer.body.data.bulk_id)
  return Object.fromEntries(
    messages.map((message: { recipient: string; content: unknown }) => [
      message.recipient,
      message.content,
    ]),
  )
}
const textsOf = async (answer: Answer) =>
  Object.fromEntries(
    Object.entries(await contents(answer)).map(([to, content]) => [
      to,
      (content as { text: string }).text,
    ]),
  )

describe('201', () => {
  it('answers in the shape of the contract', async () => {
    const before = await world().balance(owner)
    const { status, body } = await bulk({
      content: { text: 'Hi {{name}}, order {{order_id}} is ready' },
      recipients: [
        phone(1),
        { to: phone(2), name: 'Asha', variables: { order_id: 'A1' }, metadata: { row: 2 } },
      ],
      defaults: { name: 'there', order_id: '?' },
      metadata: { campaign: 'may' },
      validation: 'strict',
    })
    expect(status).toBe(201)
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
    const message = { message_id: id, status: 'queued', credits_used: 1, segments: 1 }
    expect(body).toStrictEqual({
      success: true,
      data: {
        bulk_id: id,
        status: 'queued',
        total: 2,
        accepted: 2,
        rejected: 0,
        duplicates: 0,
        credits_used: 2,
        created_at: '2026-05-04T09:00:00.000Z',
        messages: [
          { index: 0, to: phone(1), ...message },
          { index: 1, to: phone(2), ...message },
        ],
        errors: [],
      },
    })
    expect(await world().balance(owner)).toBe(before - 2)
    const messages = await listed(body.data.bulk_id)
    expect(messages).toMatchObject([
      {
        id: body.data.messages[1].message_id,
        bulk_id: body.data.bulk_id,
        content: { text: 'Hi Asha, order A1 is ready' },
        metadata: { campaign: 'may', row: 2 },
      },
      { content: { text: 'Hi there, order ? is ready' }, metadata: { campaign: 'may' } },
    ])
  })

  it('accepts the smallest body: addresses only, no placeholder', async () => {
    const answer = await bulk({ content: { text: 'Hello' }, recipients: [phone(1), phone(2)] })
    expect(await textsOf(answer)).toStrictEqual({ [phone(1)]: 'Hello', [phone(2)]: 'Hello' })
  })

  it('writes one entry in the ledger, for any number of messages', async () => {
    const before = await world().written(owner)
    const answer = await bulk({
      content: { text: 'a'.repeat(161) },
      recipients: [1, 2, 3].map(phone),
    })
    expect(answer.body.data.credits_used).toBe(6)
    const after = await world().written(owner)
    expect(after).toStrictEqual({ messages: before.messages + 3, entries: before.entries + 1 })
    const [entry] = await world().core.credits.entries(owner.id, { limit: 1, offset: 0 })
    expect(entry).toMatchObject({
      kind: 'send',
      amount: -6_000_000,
      ref_type: 'bulk',
      ref_id: answer.body.data.bulk_id,
      quantity: 6,
    })
  })

  it('accepts 1,000 recipients with different texts', async () => {
    const recipients = Array.from({ length: 1_000 }, (_, n) => ({ to: phone(n), name: `N${n}` }))
    const { status, body } = await bulk({ recipients })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({ total: 1_000, accepted: 1_000, credits_used: 1_000 })
    const last = body.data.messages[999]
    const { data } = (await world().call('GET', `/api/v1/messages/${last.message_id}`, { key }))
      .body
    expect(data.message).toMatchObject({ recipient: phone(999), content: { text: 'Hi N999' } })
  })

  it('prices each rendered text separately', async () => {
    const { body } = await bulk({
      recipients: [
        { to: phone(1), name: 'a'.repeat(157) },
        { to: phone(2), name: 'a'.repeat(158) },
        { to: phone(3), name: '😀' },
        { to: phone(4), name: '😀'.repeat(34) },
      ],
    })
    expect(body.data.messages.map(({ segments }: { segments: number }) => segments)).toEqual([
      1, 2, 1, 2,
    ])
    expect(body.data.credits_used).toBe(6)
  })

  it('charges no credits to a test key', async () => {
    const test = await world().key(owner, { mode: 'test' })
    const before = await world().written(owner)
    const { body } = await bulk({ content: { text: 'x' }, recipients: [phone(1)] }, {}, test.key)
    expect(body.data).toMatchObject({ accepted: 1, credits_used: 0 })
    expect((await world().written(owner)).entries).toBe(before.entries)
    expect((await listed(body.data.bulk_id))[0].livemode).toBe(false)
  })

  it('passes on scheduled_at, expires_in and from', async () => {
    const { body } = await bulk({
      content: { text: 'x' },
      recipients: [phone(1)],
      scheduled_at: '2026-05-05T09:00:00Z',
      expires_in: 60,
      from: 'SVC',
    })
    expect((await listed(body.data.bulk_id))[0]).toMatchObject({
      scheduled_at: '2026-05-05T09:00:00.000Z',
      expires_at: '2026-05-05T09:01:00.000Z',
    })
  })
})

describe('a repeated address', () => {
  it('gets one message, and is counted', async () => {
    const { body } = await bulk({
      content: { text: 'x' },
      recipients: [phone(1), phone(2), { to: phone(1), name: 'again' }, phone(1)],
    })
    expect(body.data).toMatchObject({ total: 4, accepted: 2, rejected: 0, duplicates: 2 })
    expect(body.data.credits_used).toBe(2)
  })

  it('is recognized in upper and lower case, for e-mail', async () => {
    const { body } = await bulk({
      channel: 'email',
      content: { subject: 'S', text: 'x' },
      recipients: ['asha@example.com', 'Asha@Example.com'],
    })
    expect(body.data).toMatchObject({ accepted: 1, duplicates: 1, credits_used: 0.1 })
  })

  it('gets a message if the earlier occurrence was rejected', async () => {
    const { body } = await bulk({
      validation: 'permissive',
      recipients: [phone(1), { to: phone(1), name: 'Asha' }],
    })
    expect(body.data).toMatchObject({ total: 2, accepted: 1, rejected: 1, duplicates: 0 })
  })
})

describe('placeholders', () => {
  const to = phone(1)
  const render = async (text: string, recipient: object = {}, more: object = {}) =>
    (await textsOf(await bulk({ content: { text }, recipients: [{ to, ...recipient }], ...more })))[
      to
    ]

  it.each([
    ['{{name}}', { name: 'Asha' }, 'Asha'],
    ['{{ name }}', { name: 'Asha' }, 'Asha'],
    ['{{name|there}}', {}, 'there'],
    ['{{ name | dear friend }}', {}, 'dear friend'],
    ['[{{name|}}]', {}, '[]'],
    ['{{name|there}}', { name: 'Asha' }, 'Asha'],
    ['{{a}}{{b}}{{a}}', { variables: { a: 1, b: true } }, '1true1'],
    ['{{name}}', { name: 'Asha', variables: { name: 'A.' } }, 'A.'],
    ['{{1}} {{imię}} {{a.b-c}}', { variables: { '1': 'x', imię: 'y', 'a.b-c': 'z' } }, 'x y z'],
    ['{{x}}', { variables: { x: '{{name}}' } }, '{{name}}'],
    ['{{x}}', { variables: { x: '$& <b>' } }, '$& <b>'],
    ['{{x|-}}', { variables: { x: null } }, '-'],
    ['[{{x|-}}]', { variables: { x: '' } }, '[]'],
    ['{{toString|no}} {{constructor|no}} {{__proto__|no}}', {}, 'no no no'],
    ['{name} }} {', {}, '{name} }} {'],
  ])('%s with %j', async (text, recipient, rendered) => {
    expect(await render(text, recipient)).toBe(rendered)
  })

  it('take values from the variables, the name, the contact and the defaults, in this order', async () => {
    const { id } = (
      await world().call('POST', '/api/v1/contacts', {
        token: owner.token,
        json: {
          name: 'Contact',
          phone: '+255711000001',
          email: 'contact@example.com',
          external_id: 'crm-1',
          attributes: { city: 'Dar', b: 'contact', name: 'attribute' },
        },
      })
    ).body.data.contact
    const answer = await bulk({
      content: {
        text: '{{a}} {{b}} {{name}} {{phone}} {{email}} {{external_id}} {{city}} {{attributes.city}} {{d}}',
      },
      recipients: [
        { contact_id: id, variables: { a: 'variable' } },
        { to: phone(2), name: 'Asha', variables: { phone: '-', email: '-', city: '-' } },
      ],
      defaults: {
        external_id: '?',
        a: 'default',
        b: 'default',
        d: 'default',
        'attributes.city': 'default',
      },
    })
    expect(await textsOf(answer)).toStrictEqual({
      '+255711000001':
        'variable contact Contact +255711000001 contact@example.com crm-1 Dar Dar default',
      [phone(2)]: 'default default Asha - - ? - default default',
    })
  })

  it('find a contact by its id in upper case', async () => {
    const { id } = await world().contact(owner, { phone: '+255711000003', name: 'Asha' })
    const { status, body } = await bulk({
      recipients: [{ contact_id: id.toUpperCase() }, { contact_id: id }],
    })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({ accepted: 1, duplicates: 1 })
    expect(await listed(body.data.bulk_id)).toMatchObject([{ content: { text: 'Hi Asha' } }])
  })

  it('are filled in every text, and HTML-escaped only in html', async () => {
    const answer = await bulk({
      channel: 'email',
      content: {
        subject: 'Hi {{name}}',
        html: '<p>{{name}} {{x|<b>you</b>}}</p>',
        text: 'Hi {{name}}',
        headers: { 'List-Id': '<{{name}}>' },
      },
      recipients: [{ to: 'asha@example.com', name: `<A> & "B" 'C'` }],
    })
    expect((await contents(answer))['asha@example.com']).toStrictEqual({
      subject: `Hi <A> & "B" 'C'`,
      html: '<p>&lt;A&gt; &amp; &quot;B&quot; &#39;C&#39; <b>you</b></p>',
      text: `Hi <A> & "B" 'C'`,
      headers: { 'List-Id': '<{{name}}>' },
    })
  })

  it.each([
    [{ text: 'Hi {{name}}' }, { text: 'Hi Asha' }],
    [
      { template: { name: 't', language: 'en', variables: { 1: '{{name}}', 2: 'x' } } },
      { template: { name: 't', language: 'en', variables: { 1: 'Asha', 2: 'x' } } },
    ],
    [
      { media: { type: 'image', url: 'https://x.example/a.png', caption: 'For {{name}}' } },
      { media: { type: 'image', url: 'https://x.example/a.png', caption: 'For Asha' } },
    ],
  ])('are filled in WhatsApp content: %j', async (content, filled) => {
    const answer = await bulk({
      channel: 'whatsapp',
      content,
      recipients: [{ to, name: 'Asha' }],
    })
    expect(answer.body.data.credits_used).toBe(0.5)
    expect((await contents(answer))[to]).toStrictEqual(filled)
  })

  it.each([
    ['{{}}', '{{}} is not a placeholder such as {{name}} or {{name|fallback}}'],
    ['{{first name}}', '{{first name}} is not a placeholder such as {{name}} or {{name|fallback}}'],
    ['{{#if x}}', '{{#if x}} is not a placeholder such as {{name}} or {{name|fallback}}'],
    ['{{name', '"{{" must begin a placeholder such as {{name}}'],
    ['{{name}', '"{{" must begin a placeholder such as {{name}}'],
  ])('refuse any other text in braces: %s', async (text, why) => {
    const { status, body } = await bulk({
      content: { text },
      recipients: [to],
      validation: 'permissive',
    })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', `content.text: ${why}`, 'content.text'))
  })
})

/** Every fault of one recipient: the request, then field, address, code and text of the fault. */
const FAULTS: [string, object, unknown, string, string | null, string, string][] = [
  ['a bad phone number', {}, '0700', '', '0700', 'invalid_recipient', E164],
  ['an empty address', {}, { to: '' }, '.to', '', 'invalid_recipient', E164],
  [
    'a bad e-mail address',
    { channel: 'email', content: { subject: 'x', text: 'x' } },
    { to: 'asha' },
    '.to',
    'asha',
    'invalid_recipient',
    'Invalid email address format',
  ],
  [
    'a missing variable',
    { content: { text: '{{a}} {{b|}} {{c}}' } },
    { to: phone(9) },
    '',
    phone(9),
    'missing_variable',
    'No value for {{a}}, {{c}}',
  ],
  [
    'a text that becomes too long',
    { content: { text: '{{a}}{{a}}' } },
    { to: phone(9), variables: { a: 'x'.repeat(801) } },
    '',
    phone(9),
    'invalid_content',
    'content.text must be at most 1600 characters',
  ],
  [
    'a text that becomes empty',
    { content: { text: '{{a}}' } },
    { to: phone(9), variables: { a: '' } },
    '',
    phone(9),
    'invalid_content',
    'Missing required field: content.text',
  ],
  [
    'a subject that gets a line break',
    { channel: 'email', content: { subject: '{{a}}', text: 'x' } },
    { to: 'asha@example.com', variables: { a: 'x\r\nBcc: b@example.com' } },
    '',
    'asha@example.com',
    'invalid_content',
    'Subject must not contain line breaks',
  ],
  [
    'an unknown contact',
    {},
    { contact_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01' },
    '.contact_id',
    null,
    'contact_not_found',
    'Contact not found',
  ],
  [
    'metadata too large together with those of the request',
    { metadata: { a: 'x'.repeat(5_000) } },
    { to: phone(9), name: 'x', metadata: { b: 'x'.repeat(5_000) } },
    '',
    phone(9),
    'invalid_metadata',
    "The recipient's metadata and that of the request have more than 50 keys or 8192 bytes together",
  ],
]

describe.each(FAULTS)('%s', (_, request, faulty, field, to, error, message) => {
  const good = () =>
    'channel' in request
      ? { to: 'good@example.com', name: 'x', variables: { a: 'x', c: 'x' } }
      : { to: phone(1), name: 'x', variables: { a: 'x', c: 'x' } }

  it('causes a refusal of the complete bulk in strict validation, with its index', async () => {
    const before = await world().written(owner)
    const answer = await bulk({ ...request, recipients: [good(), faulty] })
    expect(answer.status).toBe(400)
    const isSpecified = error === 'invalid_recipient'
    expect(answer.body).toStrictEqual(
      refusal(
        'validation_error',
        isSpecified ? message : `recipients.1: ${message}`,
        `recipients.1${field}`,
      ),
    )
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('is left out and not charged in permissive validation', async () => {
    const answer = await bulk({
      ...request,
      recipients: [faulty, good()],
      validation: 'permissive',
    })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toMatchObject({
      total: 2,
      accepted: 1,
      rejected: 1,
      duplicates: 0,
      messages: [{ index: 1 }],
      errors: [{ index: 0, to, error, message }],
    })
    expect(await listed(answer.body.data.bulk_id)).toHaveLength(1)
  })

  it('causes a refusal of the request when no recipient remains', async () => {
    const before = await world().written(owner)
    const answer = await bulk({ ...request, recipients: [faulty], validation: 'permissive' })
    expect(answer.status).toBe(400)
    expect(answer.body.details).toHaveLength(1)
    expect(await world().written(owner)).toStrictEqual(before)
  })
})

const CONTACT = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const ONE_OF = 'recipients.# must have exactly one of: to, contact_id'
const NO_VARIABLE = 'Variable a must be a string, a number or a boolean'
const to = phone(9)

/** Recipients that cannot be read: path and text of the fault (`#` for the index), then address and code. */
const UNREADABLE: [unknown, string, string, string | null, string][] = [
  [5, '', 'recipients.# must be an object', null, 'invalid_recipient'],
  [null, '', 'recipients.# must be an object', null, 'invalid_recipient'],
  [[to], '', 'recipients.# must be an object', null, 'invalid_recipient'],
  [{}, '', ONE_OF, null, 'invalid_recipient'],
  [{ to, contact_id: CONTACT }, '', ONE_OF, to, 'invalid_recipient'],
  [{ to: null }, '.to', 'recipients.#.to must be a string', null, 'invalid_recipient'],
  [
    { contact_id: null },
    '.contact_id',
    'recipients.#.contact_id must be a string',
    null,
    'invalid_recipient',
  ],
  [
    { to, vraiables: {} },
    '',
    'Unknown field: recipients.#.vraiables. Did you mean recipients.#.variables?',
    to,
    'invalid_recipient',
  ],
  [{ to, name: '' }, '.name', 'recipients.#.name must not be empty', to, 'invalid_variable'],
  [{ to, name: null }, '.name', 'recipients.#.name must be a string', to, 'invalid_variable'],
  [{ to, name: 5 }, '.name', 'recipients.#.name must be a string', to, 'invalid_variable'],
  [
    { to, name: 'x'.repeat(201) },
    '.name',
    'recipients.#.name must be at most 200 characters',
    to,
    'invalid_variable',
  ],
  [
    { to, variables: [] },
    '.variables',
    'recipients.#.variables must be an object',
    to,
    'invalid_variable',
  ],
  [{ to, variables: { a: {} } }, '.variables.a', NO_VARIABLE, to, 'invalid_variable'],
  [
    { to, metadata: 'x' },
    '.metadata',
    'recipients.#.metadata must be an object',
    to,
    'invalid_metadata',
  ],
  [
    { to, metadata: { a: 'x'.repeat(8_192) } },
    '.metadata',
    'Metadata must be at most 8192 bytes of JSON',
    to,
    'invalid_metadata',
  ],
]

describe.each(UNREADABLE)('a recipient such as %j', (faulty, path, text, address, error) => {
  const content = { text: 'x' }
  const at = (index: number) => text.replaceAll('#', String(index))

  it('causes a refusal of the complete bulk in strict validation, with its path', async () => {
    const before = await world().written(owner)
    const { status, body } = await bulk({ content, recipients: [phone(1), faulty, phone(2)] })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', at(1), `recipients.1${path}`))
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('is left out and not charged in permissive validation', async () => {
    const before = await world().balance(owner)
    const recipients = [phone(1), phone(2), phone(1), faulty]
    const { status, body } = await bulk({ content, recipients, validation: 'permissive' })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      total: 4,
      accepted: 2,
      rejected: 1,
      duplicates: 1,
      credits_used: 2,
      messages: [{ index: 0 }, { index: 1 }],
    })
    expect(body.data.errors).toStrictEqual([{ index: 3, to: address, error, message: at(3) }])
    expect(await listed(body.data.bulk_id)).toHaveLength(2)
    expect(await world().balance(owner)).toBe(before - 2)
  })

  it('causes a refusal of the request when no recipient remains', async () => {
    const { status, body } = await bulk({
      content,
      recipients: [faulty],
      validation: 'permissive',
    })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', at(0), `recipients.0${path}`))
  })

  it('appears in the estimate', async () => {
    const { status, body } = await world().call('POST', '/api/v1/messages/estimate', {
      key,
      json: { channel: 'sms', content, recipients: [phone(1), faulty], validation: 'permissive' },
    })
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      can_send: true,
      credits_needed: 1,
      messages: [{ block_reason: null }, { index: 1, to: address, block_reason: error }],
    })
  })
})

describe('a suppressed recipient', () => {
  const gone = '+255722000001'
  const stillHere = '+255722000002'
  beforeAll(async () => {
    const { status } = await world().call('POST', '/api/v1/contacts/suppressions', {
      token: owner.token,
      json: { channel: 'sms', address: gone, reason: 'opt_out' },
    })
    expect(status).toBe(201)
  })
  const TEXT = 'The recipient is suppressed on this channel'

  it("causes a refusal of a send before any charge, with the field's name", async () => {
    const before = await world().written(owner)
    const { status, body } = await world().send(key, { to: gone })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', TEXT, 'to'))
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('causes a refusal of a strict bulk, with its index', async () => {
    const before = await world().written(owner)
    const { status, body } = await bulk({
      content: { text: 'x' },
      recipients: [stillHere, gone],
    })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', `recipients.1: ${TEXT}`, 'recipients.1'))
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('is left out of a permissive bulk and not charged', async () => {
    const before = await world().balance(owner)
    const { body } = await bulk({
      content: { text: 'x' },
      recipients: [gone, 'unknown', stillHere, gone],
      validation: 'permissive',
    })
    expect(body.data).toMatchObject({
      total: 4,
      accepted: 1,
      rejected: 2,
      duplicates: 1,
      messages: [{ index: 2, to: stillHere }],
      errors: [
        { index: 0, to: gone, error: 'suppressed', message: TEXT },
        { index: 1, to: 'unknown', error: 'invalid_recipient' },
      ],
    })
    expect(await world().balance(owner)).toBe(before - 1)
  })

  it('causes a refusal of a permissive bulk when no recipient remains', async () => {
    const { status } = await bulk({
      content: { text: 'x' },
      recipients: [gone],
      validation: 'permissive',
    })
    expect(status).toBe(400)
  })

  it('is not suppressed on another channel', async () => {
    const { status } = await bulk({
      channel: 'whatsapp',
      content: { text: 'x' },
      recipients: [gone],
    })
    expect(status).toBe(201)
  })
})

describe('400', () => {
  it.each([
    ['recipients', undefined, 'Missing required field: recipients', 'recipients'],
    ['recipients', [], 'recipients must have at least 1 item', 'recipients'],
    ['recipients', phone(1), 'recipients must be an array', 'recipients'],
    ['recipients', [5], 'recipients.0 must be an object', 'recipients.0'],
    ['recipients', [{}], 'recipients.0 must have exactly one of: to, contact_id', 'recipients.0'],
    [
      'recipients',
      [{ to: phone(1), contact_id: 'x' }],
      'recipients.0 must have exactly one of: to, contact_id',
      'recipients.0',
    ],
    [
      'recipients',
      [{ to: phone(1), vraiables: {} }],
      'Unknown field: recipients.0.vraiables. Did you mean recipients.0.variables?',
      'recipients.0',
    ],
    [
      'recipients',
      [{ to: phone(1), variables: { a: {} } }],
      'Variable a must be a string, a number or a boolean',
      'recipients.0.variables.a',
    ],
    [
      'recipients',
      [{ to: phone(1), variables: [] }],
      'recipients.0.variables must be an object',
      'recipients.0.variables',
    ],
    [
      'recipients',
      Array.from({ length: 1_001 }, (_, n) => phone(n)),
      'recipients must have at most 1000 items',
      'recipients',
    ],
    [
      'recipients',
      Array(10_001).fill(0),
      'Too many recipients: send to some of them at a time',
      'recipients',
    ],
    ['channel', 'voice', 'Invalid channel. Must be one of: sms, whatsapp, email', 'channel'],
    ['channel', undefined, 'Missing required field: channel', 'channel'],
    ['content', { text: '' }, 'Missing required field: content.text', 'content.text'],
    [
      'content',
      { text: 'x'.repeat(1_601) },
      'content.text must be at most 1600 characters',
      'content.text',
    ],
    ['validation', 'lax', 'validation must be one of: strict, permissive', 'validation'],
    ['to', phone(1), 'Unknown field: to', ''],
    ['schedule_at', 'x', 'Unknown field: schedule_at. Did you mean scheduled_at?', ''],
    [
      'scheduled_at',
      '2026-06-08T09:00:00.001Z',
      'scheduled_at must be at most 35 days ahead',
      'scheduled_at',
    ],
    ['defaults', { a: [] }, 'Variable a must be a string, a number or a boolean', 'defaults.a'],
  ])('refuses %s %j', async (field, value, message, path) => {
    const before = await world().written(owner)
    const { status, body } = await bulk({
      content: { text: 'x' },
      recipients: [phone(1)],
      validation: 'permissive',
      [field]: value,
    })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('names every faulty recipient', async () => {
    const { body } = await bulk({
      content: { text: '{{a}}' },
      recipients: ['x', { to: phone(1) }, { to: phone(2), variables: { a: 1 } }],
    })
    expect(body.details).toStrictEqual([
      { path: 'recipients.0', message: E164 },
      { path: 'recipients.1', message: 'recipients.1: No value for {{a}}' },
    ])
  })

  it('names each fault of an unreadable recipient between the other faults', async () => {
    const { body } = await bulk({
      content: { text: '{{a}}' },
      recipients: [{ to: phone(1) }, { to: 5, name: '', metadata: [] }, 'x'],
    })
    expect(body.message).toBe('recipients.0: No value for {{a}}')
    expect(body.details).toStrictEqual([
      { path: 'recipients.0', message: 'recipients.0: No value for {{a}}' },
      { path: 'recipients.1.to', message: 'recipients.1.to must be a string' },
      { path: 'recipients.1.name', message: 'recipients.1.name must not be empty' },
      { path: 'recipients.1.metadata', message: 'recipients.1.metadata must be an object' },
      { path: 'recipients.2', message: E164 },
    ])
  })

  it('names 20 missing variables of a recipient, and counts the rest', async () => {
    const text = Array.from({ length: 25 }, (_, i) => `{{v${i}}}`).join('')
    const { body } = await bulk({ content: { text }, recipients: ['+255700000001'] })
    expect(body.details?.[0]?.message).toMatch(
      /^recipients.0: No value for \{\{v0\}\}, .*\{\{v19\}\} and 5 more$/,
    )
  })

  it('refuses messages that are too large together', async () => {
    const html = 'x'.repeat(1_000_000)
    const recipients = Array.from({ length: 70 }, (_, n) => ({ to: `a${n}@b.example`, name: 'x' }))
    const { status, body } = await bulk({
      channel: 'email',
      content: { subject: 'x', html: `{{name}}${html}` },
      recipients,
    })
    expect(status).toBe(400)
    expect(body.message).toBe(tooLarge(64))
  })

  it.each([
    ['text', { subject: 'x', html: `{{name}}${'x'.repeat(20_000)}` }, {}],
    [
      'metadata',
      { subject: 'x', text: 'x'.repeat(10_000) },
      { metadata: { note: 'x'.repeat(8_000) } },
    ],
  ])(
    'limits the stored text of a test key to 16 million characters: %s',
    async (_, content, more) => {
      const { key: test } = await world().key(owner, { mode: 'test' })
      const recipients = Array.from({ length: 999 }, (_, n) => ({
        to: `a${n}@b.example`,
        name: 'x',
      }))
      const large = { channel: 'email', content, recipients, ...more }
      const { status, body } = await bulk(large, {}, test)
      expect(status).toBe(400)
      expect(body.message).toBe(tooLarge(16))
    },
  )

  it('stores the longest texts with the largest metadata for 1,000 recipients', async () => {
    const { status, body } = await bulk({
      channel: 'whatsapp',
      content: { text: 'ж'.repeat(4_096) },
      metadata: { note: 'x'.repeat(8_100) },
      recipients: Array.from({ length: 1_000 }, (_, n) => `+25570${1_000_000 + n}`),
    })
    expect(status).toBe(201)
    expect(body.data.accepted).toBe(1_000)
  })

  it('refuses a body over 4 MB, and accepts one just below', async () => {
    const body = (length: number) => ({
      channel: 'email',
      content: { subject: 'x', text: 'x' },
      recipients: Array.from({ length: 900 }, (_, n) => ({
        to: `a${n}@b.example`,
        variables: { filler: 'x'.repeat(length) },
      })),
    })
    expect((await bulk(body(4_400))).status).toBe(201)
    expect((await bulk(body(4_700))).status).toBe(400)
  })
})

describe('402', () => {
  it('sends no message when the credits do not pay for all', async () => {
    const poor = await world().signup({ credits: 2.5 })
    const { key: own } = await world().key(poor)
    const before = await world().written(poor)
    const answer = await bulk({ content: { text: 'x' }, recipients: [1, 2, 3].map(phone) }, {}, own)
    expect(answer.status).toBe(402)
    expect(answer.body).toStrictEqual(
      refusal('insufficient_credits', 'Not enough credits. You need 3 credits but have 2.5.'),
    )
    expect(await world().written(poor)).toStrictEqual(before)
  })

  it('sends no message over the daily limit of the key, until the next day', async () => {
    const account = await world().signup({ credits: 100 })
    const limited = await world().key(account, { daily_credit_limit: 3 })
    const send = (n: number) =>
      bulk(
        { content: { text: 'x' }, recipients: Array.from({ length: n }, (_, i) => phone(i)) },
        {},
        limited.key,
      )
    expect((await send(4)).body).toStrictEqual(
      refusal(
        'insufficient_credits',
        'Not enough credits. You need 4 credits but have 3 left today with this API key.',
      ),
    )
    expect((await send(2)).status).toBe(201)
    expect((await world().send(limited.key)).status).toBe(201)
    const single = await world().send(limited.key)
    expect(single.status).toBe(402)
    expect(single.body.error).toBe('insufficient_credits')
    await world().advance(24 * 60 * 60_000)
    expect((await send(3)).status).toBe(201)
  })
})

describe('Idempotency-Key', () => {
  it('sends once, and returns the same answer again', async () => {
    const before = await world().written(owner)
    const body = { content: { text: 'x' }, recipients: [phone(1), phone(2)] }
    const first = await bulk(body, { 'idempotency-key': 'bulk' })
    const second = await bulk(body, { 'idempotency-key': 'bulk' })
    expect(second.text).toBe(first.text)
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(await world().written(owner)).toStrictEqual({
      messages: before.messages + 2,
      entries: before.entries + 1,
    })
    const other = await bulk({ ...body, recipients: [phone(1)] }, { 'idempotency-key': 'bulk' })
    expect(other.status).toBe(400)
    expect(other.body.message).toBe('This Idempotency-Key was used with another request body')
  })

  it('returns the stored answer although the contact is deleted and the credits are spent', async () => {
    const poor = await world().signup({ credits: 1 })
    const { key: own } = await world().key(poor)
    const { id } = await world().contact(poor, { phone: '+255733000001' })
    const body = { content: { text: 'x' }, recipients: [{ contact_id: id }] }
    const first = await bulk(body, { 'idempotency-key': 'k' }, own)
    expect(first.status).toBe(201)
    await world().call('DELETE', `/api/v1/contacts/${id}`, { token: poor.token })
    const second = await bulk(body, { 'idempotency-key': 'k' }, own)
    expect(second.text).toBe(first.text)
  })
})
