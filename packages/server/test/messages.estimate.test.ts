import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import { type Account, sms } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld, type World } from './world.ts'

const world = useWorld()

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 5 })
  key = (await world().key(owner)).key
})

const estimate = (json: object, as = key) =>
  world().call('POST', '/api/v1/messages/estimate', { key: as, json })
const NO_SMS = {
  encoding: null,
  characters: null,
  units: null,
  segments: null,
  non_gsm_characters: [],
  gsm7_suggestion: null,
}

describe('of a send', () => {
  it('answers in the shape of the contract', async () => {
    const { status, body } = await estimate({ ...sms, content: { text: 'It’s [5]' } })
    expect(status).toBe(200)
    expect(body.data).toStrictEqual({
      can_send: true,
      block_reason: null,
      recipients: 1,
      sendable: 1,
      blocked: 0,
      credits_needed: 1,
      credits_balance: 5,
      messages: [
        {
          index: 0,
          to: sms.to,
          encoding: 'UCS-2',
          characters: 8,
          units: 8,
          segments: 1,
          credits: 1,
          non_gsm_characters: [{ char: '’', index: 2 }],
          gsm7_suggestion: { text: "It's [5]", segments: 1 },
          block_reason: null,
        },
      ],
    })
  })

  it.each([
    ['a'.repeat(160), { encoding: 'GSM-7', units: 160, segments: 1, credits: 1 }],
    ['a'.repeat(320), { encoding: 'GSM-7', units: 320, segments: 3, credits: 3 }],
    ['[]', { encoding: 'GSM-7', characters: 2, units: 4, segments: 1, credits: 1 }],
    ['😀', { encoding: 'UCS-2', characters: 1, units: 2, segments: 1, gsm7_suggestion: null }],
  ])('counts %s', async (text, expected) => {
    const { body } = await estimate({ ...sms, content: { text } })
    expect(body.data.messages[0]).toMatchObject(expected)
  })

  it('lists at most 100 of the characters that force UCS-2', async () => {
    const { body } = await estimate({ ...sms, content: { text: 'ш'.repeat(1_600) } })
    expect(body.data.messages[0].non_gsm_characters).toHaveLength(100)
    expect(body.data).toMatchObject({
      credits_needed: 24,
      can_send: false,
      block_reason: 'insufficient_credits',
    })
  })

  it.each([
    ['email', 'asha@example.com', { subject: 'S', text: '’' }, 0.1],
    ['whatsapp', '+255700000001', { text: '’' }, 0.5],
  ])('has no segments for %s', async (channel, to, content, credits) => {
    const { body } = await estimate({ channel, to, content })
    expect(body.data).toMatchObject({ credits_needed: credits, can_send: true })
    expect(body.data.messages).toStrictEqual([
      { ...NO_SMS, index: 0, to, credits, block_reason: null },
    ])
  })

  it('costs no credits with a test key', async () => {
    const test = await world().key(owner, { mode: 'test' })
    const { body } = await estimate(sms, test.key)
    expect(body.data).toMatchObject({ credits_needed: 0, can_send: true })
  })
})

describe('of a bulk', () => {
  it('lists the recipients without a message, with the reason', async () => {
    await world().call('POST', '/api/v1/contacts/suppressions', {
      token: owner.token,
      json: { channel: 'sms', address: '+2557003', reason: 'manual' },
    })
    const body = {
      channel: 'sms',
      content: { text: '{{x}}' },
      recipients: [
        { to: '+2557001', variables: { x: 'a'.repeat(161) } },
        { to: '+2557001', variables: { x: 'a' } },
        { to: '+2557002' },
        { to: '+2557003', variables: { x: 'a' } },
        'unknown',
        { contact_id: 'none' },
      ],
    }
    const strict = await estimate(body)
    expect(strict.status).toBe(200)
    expect(strict.body.data).toMatchObject({
      can_send: false,
      // The texts contain the reason.
      block_reason: null,
      recipients: 6,
      sendable: 1,
      blocked: 5,
      credits_needed: 2,
      credits_balance: 5,
      messages: [
        { index: 0, segments: 2, credits: 2, block_reason: null },
        { ...NO_SMS, index: 1, to: '+2557001', credits: 0, block_reason: 'duplicate' },
        { index: 2, to: '+2557002', credits: 0, block_reason: 'missing_variable' },
        { index: 3, to: '+2557003', block_reason: 'suppressed' },
        { index: 4, to: 'unknown', block_reason: 'invalid_recipient' },
        { index: 5, to: null, block_reason: 'contact_not_found' },
      ],
    })
    const permissive = await estimate({ ...body, validation: 'permissive' })
    expect(permissive.body.data).toMatchObject({ can_send: true, sendable: 1 })
  })

  it('shows that the credits do not pay for all', async () => {
    const recipients = Array.from({ length: 6 }, (_, n) => `+25571${n}`)
    const body = { channel: 'sms', content: { text: 'x' } }
    expect((await estimate({ ...body, recipients })).body.data.can_send).toBe(false)
    expect((await estimate({ ...body, recipients: recipients.slice(1) })).body.data.can_send).toBe(
      true,
    )
  })
})

describe('with a daily limit of the key', () => {
  const recipients = (n: number) => ({
    channel: 'sms',
    content: { text: 'x' },
    recipients: Array.from({ length: n }, (_, i) => `+25571${i}`),
  })
  let rich: Account
  beforeAll(async () => {
    rich = await world().signup({ credits: 100 })
  })

  it('shows whether the request would exceed it, as a send does', async () => {
    const limited = (await world().key(rich, { daily_credit_limit: 3 })).key
    const estimateOf = async (json: object) => (await estimate(json, limited)).body.data
    const passed = { can_send: false, block_reason: 'daily_limit' }
    const fits = { can_send: true, block_reason: null }
    expect(await estimateOf(recipients(3))).toMatchObject(fits)
    expect(await estimateOf(recipients(4))).toMatchObject({
      ...passed,
      credits_needed: 4,
      credits_balance: 100,
      messages: Array(4).fill({ block_reason: null }),
    })
    expect((await world().send(limited)).status).toBe(201)
    expect(await estimateOf(recipients(2))).toMatchObject(fits)
    expect(await estimateOf(recipients(3))).toMatchObject(passed)
    for (const _ of [2, 3]) expect((await world().send(limited)).status).toBe(201)
    expect(await estimateOf(sms)).toMatchObject(passed)
    expect((await world().send(limited)).status).toBe(402)
    const other = (await world().key(rich)).key
    expect((await estimate(sms, other)).body.data).toMatchObject(fits)
    await world().advance(24 * 60 * 60_000)
    expect(await estimateOf(recipients(3))).toMatchObject(fits)
  })

  it('omits the limit when the credits do not suffice either, or the request costs nothing', async () => {
    const poor = await world().signup({ credits: 1 })
    const limited = (await world().key(poor, { daily_credit_limit: 1 })).key
    expect((await estimate(recipients(2), limited)).body.data).toMatchObject({
      can_send: false,
      block_reason: 'insufficient_credits',
    })
    const free = (await world().key(poor, { mode: 'test', daily_credit_limit: 1 })).key
    expect((await estimate(recipients(2), free)).body.data).toMatchObject({
      can_send: true,
      block_reason: null,
    })
  })
})

describe('400', () => {
  it.each([
    [{}, 'Missing required field: channel', 'channel'],
    [{ ...sms, to: '0700' }, 'Phone number must be in E.164 format', 'to'],
    [{ ...sms, content: {} }, 'Missing required field: content.text', 'content.text'],
    [{ ...sms, schedule_at: 'x' }, 'Unknown field: schedule_at. Did you mean scheduled_at?', ''],
    [{ ...sms, recipients: ['+2557001'] }, 'Unknown field: to', ''],
    [
      { channel: 'sms', content: { text: 'x' }, recipients: [] },
      'recipients must have at least 1 item',
      'recipients',
    ],
    [
      { channel: 'voice', content: { text: 'x' }, recipients: ['+2557001'] },
      'Invalid channel. Must be one of: sms, whatsapp, email',
      'channel',
    ],
    [
      { ...sms, scheduled_at: '2026-07-01' },
      'scheduled_at must be at most 35 days ahead',
      'scheduled_at',
    ],
  ])('refuses %j as a send does', async (body, message, path) => {
    const answer = await estimate(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toStrictEqual(refusal('validation_error', message, path))
  })
})

it('writes nothing to the database', async () => {
  const before = await world().written(owner)
  await estimate(sms)
  await estimate({ channel: 'sms', content: { text: 'x' }, recipients: ['+2557001'] })
  expect(await world().written(owner)).toStrictEqual(before)
})

describe('of a bulk', () => {
  const to = (n: number) => Array.from({ length: n }, (_, i) => `+25570000${1000 + i}`)

  it('limits placeholders, and placeholders times recipients', async () => {
    const of = (placeholders: number, recipients: number) =>
      estimate({
        channel: 'email',
        content: { subject: 'Hi', text: '{{a|}}'.repeat(placeholders) },
        recipients: to(recipients).map((name) => `${name.slice(1)}@example.com`),
      })
    expect((await of(1000, 200)).status).toBe(200)
    const { body: many } = await of(1001, 1)
    expect(many.message).toBe('content.text: it must have at most 1000 placeholders')
    const { body: product } = await of(1000, 201)
    expect(product.message).toBe(
      'The messages are too large together: send to fewer recipients at a time',
    )
  })

  it('limits rendered text for refused messages too', async () => {
    const { status, body } = await estimate({
      channel: 'email',
      content: { subject: 'Hi', html: '{{a}}'.repeat(100) },
      defaults: { a: '<'.repeat(10_000) },
      recipients: to(40).map((name) => `${name.slice(1)}@example.com`),
    })
    expect(status).toBe(400)
    expect(body.message).toMatch(/^The messages of a bulk may have at most 64 million characters/)
  })

  it('lists 5,000 characters of all messages together', async () => {
    const { body } = await estimate({
      channel: 'sms',
      content: { text: 'ж'.repeat(100) },
      recipients: to(60),
    })
    const listed = body.data.messages.map(
      (message: { non_gsm_characters: unknown[] }) => message.non_gsm_characters.length,
    )
    expect(listed).toEqual([...Array(50).fill(100), ...Array(10).fill(0)])
  })
})

describe.each(['sqlite', 'postgres'])('of a template on %s', (engine) => {
  let database: TestDatabase | null = null
  let own: World
  let sender: Account
  let senderKey: string
  beforeAll(async () => {
    if (engine === 'postgres') database = await createDatabase()
    own = await openWorld({ ...(database && { database_url: database.url }) })
    sender = await own.signup({ credits: 100 })
    senderKey = (await own.key(sender)).key
    const text = (content: string) => ({ channel: 'sms', content: { text: content } })
    const made = [
      await own.call('PUT', '/api/v1/account', {
        token: sender.token,
        json: { sms_opt_out_text: 'STOP' },
      }),
      await post('templates', {
        name: 'offer',
        category: 'marketing',
        default_locale: 'en',
        variables: [{ name: 'shop', type: 'text', fallback: 'us' }],
        variants: [
          { locale: 'en', ...text('Hi {{name}}') },
          // With values of two characters it fills one segment, and with the opt-out text it needs a second one.
          { locale: 'de', ...text(`${'a'.repeat(154)} {{name}}{{shop}}`) },
        ],
      }),
      await post('templates/offer/publish'),
    ]
    expect(made.map(({ status }) => status)).toEqual([200, 201, 201])
  })
  afterAll(async () => {
    await own.close()
    await database?.drop()
  })

  const post = (path: string, json?: object) =>
    own.call('POST', `/api/v1/${path}`, { key: senderKey, ...(json && { json }) })
  const balance = async () =>
    (await own.call('GET', '/api/v1/account', { token: sender.token })).body.data.credits_balance

  it.each([
    ['de-AT', 'de', { name: 'A', shop: 'B' }, { encoding: 'GSM-7', segments: 2 }],
    ['de-AT', 'de', { name: 'ж' }, { encoding: 'UCS-2', segments: 3 }],
    ['fr', 'en', { name: 'A' }, { encoding: 'GSM-7', segments: 1 }],
  ])('in %s is what a send in %s with %j charges', async (locale, used, variables, expected) => {
    const send = { to: sms.to, channel: 'sms', template: { name: 'offer', locale, variables } }
    const estimated = (await post('messages/estimate', send)).body.data
    const template = { name: 'offer', version: 1, locale: used }
    const before = await balance()
    expect(estimated).toMatchObject({
      ...{ template, can_send: true, credits_needed: expected.segments, credits_balance: before },
      messages: [{ ...expected, to: sms.to, credits: expected.segments }],
    })
    const sent = await post('messages/send', send)
    expect(sent.body.data).toMatchObject({ template, credits_used: estimated.credits_needed })
    expect(before - (await balance())).toBe(estimated.credits_needed)
  })

  it('of a bulk is the sum of its recipients, each with its own values', async () => {
    const bulk = {
      channel: 'sms',
      template: { name: 'offer', locale: 'de-CH', variables: { shop: 'B' } },
      recipients: [
        { to: '+2557001', name: 'A' },
        { to: '+2557002', name: 'ж' },
      ],
    }
    const estimated = (await post('messages/estimate', bulk)).body.data
    expect(estimated).toMatchObject({ template: { locale: 'de' }, credits_needed: 5 })
    const before = await balance()
    const sent = await post('messages/bulk', bulk)
    expect(sent.body.data).toMatchObject({ accepted: 2, credits_used: 5 })
    expect(before - (await balance())).toBe(5)
  })
})
