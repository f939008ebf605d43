import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const TZ = '+255700000001'
const KE = '+254712345678'
const US = '+14155552671'
const SATELLITE = '+8816123456789'
const WHATSAPP = { channel: 'whatsapp' }
const NOT_US = 'Messages to United States (US) are not allowed'
const NOT_KE = 'Messages to Kenya (KE) are not allowed'
const FROZEN = refusal('forbidden', 'This workspace is frozen. Please contact support.')

describe('countries', () => {
  const world = useWorld({ spend: { countries: { allowed: ['TZ', 'KE'], denied: ['KE'] } } })
  let owner: Account
  let key: string
  beforeAll(async () => {
    owner = await world().signup({ credits: 100 })
    key = (await world().key(owner)).key
  })

  it.each([
    [US, {}, NOT_US],
    [KE, {}, NOT_KE],
    [US, WHATSAPP, NOT_US],
    [SATELLITE, {}, 'Messages to numbers of no known country are not allowed'],
  ])('refuse a send before any write: %s', async (to, body, message) => {
    const before = await world().written(owner)
    const answer = await world().send(key, { to, ...body })
    expect(answer.status).toBe(400)
    expect(answer.body).toStrictEqual(refusal('validation_error', message, 'to'))
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('refuse a test key too, as a suppression does', async () => {
    const test = await world().key(owner, { mode: 'test' })
    expect((await world().send(test.key, { to: US })).status).toBe(400)
    expect((await world().send(test.key, { to: TZ })).status).toBe(201)
  })

  it('allow listed countries, and e-mail', async () => {
    expect((await world().send(key, { to: TZ })).status).toBe(201)
    const mail = { channel: 'email', to: 'a@example.com', content: { subject: 'x', text: 'x' } }
    expect((await world().send(key, mail)).status).toBe(201)
  })

  it('are a fault of single recipients of a bulk', async () => {
    const { status, body } = await world().bulk(key, {
      recipients: [US, TZ, { to: KE }],
      validation: 'permissive',
    })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      total: 3,
      accepted: 1,
      rejected: 2,
      credits_used: 1,
      messages: [{ index: 1, to: TZ }],
      errors: [
        { index: 0, to: US, error: 'country_not_allowed', message: NOT_US },
        { index: 2, to: KE, error: 'country_not_allowed', message: NOT_KE },
      ],
    })
  })

  it('refuse a strict bulk as a whole', async () => {
    const before = await world().written(owner)
    const { status, body } = await world().bulk(key, {
      recipients: [TZ, US],
      validation: 'strict',
    })
    expect(status).toBe(400)
    const message = `recipients.1: ${NOT_US}`
    expect(body).toStrictEqual(refusal('validation_error', message, 'recipients.1'))
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('appear in an estimate as in a send', async () => {
    const estimate = async (json: object) =>
      (await world().call('POST', '/api/v1/messages/estimate', { key, json })).body.data
    const content = { text: 'x' }
    expect(await estimate({ channel: 'sms', to: US, content })).toMatchObject({
      can_send: false,
      sendable: 0,
      credits_needed: 0,
      messages: [{ index: 0, to: US, credits: 0, block_reason: 'country_not_allowed' }],
    })
    const request = { channel: 'sms', recipients: [TZ, US], content }
    expect(await estimate({ ...request, validation: 'permissive' })).toMatchObject({
      can_send: true,
      sendable: 1,
      credits_needed: 1,
      messages: [{ block_reason: null }, { block_reason: 'country_not_allowed' }],
    })
    expect(await estimate({ ...request, validation: 'strict' })).toMatchObject({ can_send: false })
  })
})

it('a rule that is added later applies to a retry, and leaves stored answers unchanged', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-countries-'))
  const database_url = `file:${join(folder, 'svc.db')}`
  const INVALID = '+15005550001'
  const again = { 'idempotency-key': 'k1' }
  const before = await openWorld({ database_url, dispatch: true })
  const owner = await before.signup({ credits: 10 })
  const { key } = await before.key(owner)
  const sent = await before.send(key, { to: US }, again)
  const bulk = await before.bulk(key, { recipients: [INVALID, TZ] })
  await before.advance(1_000)
  await before.close()
  const after = await openWorld({
    database_url,
    spend: { countries: { allowed: null, denied: ['US'] } },
  })
  try {
    const replayed = await after.send(key, { to: US }, again)
    expect([replayed.status, replayed.body]).toStrictEqual([sent.status, sent.body])
    expect((await after.send(key, { to: US })).body.message).toBe(NOT_US)
    expect((await after.send(key, { to: SATELLITE })).status).toBe(201)
    const path = `/api/v1/messages/bulk/${bulk.body.data.bulk_id}/retry`
    const retried = await after.call('POST', path, { key })
    expect(retried.status).toBe(400)
    expect(retried.body.message).toBe(`recipients.0: ${NOT_US}`)
  } finally {
    await after.close()
    rmSync(folder, { recursive: true })
  }
})

describe('prices', () => {
  const sms = { default: '1', '+255': '0.8', '+8816': '25' }
  const world = useWorld({ spend: { prices: { sms, whatsapp: '0.75' } } })
  let owner: Account
  let key: string
  beforeAll(async () => {
    owner = await world().signup({ credits: 1_000 })
    key = (await world().key(owner)).key
  })
  const newest = async () => (await world().core.credits.entries(owner.id, ONE))[0]
  const ONE = { limit: 1, offset: 0 }

  it.each([
    [TZ, {}, 0.8],
    [SATELLITE, {}, 25],
    [US, {}, 1],
    [US, WHATSAPP, 0.75],
  ])('follow from the number and the channel: %s', async (to, body, price) => {
    const { data } = (await world().send(key, { to, ...body })).body
    expect(data.credits_used).toBe(price)
    expect(await newest()).toMatchObject({ quantity: 1, unit_price: price * 1_000_000 })
  })

  it('of a bulk are separate for each recipient, with a unit price only if all agree', async () => {
    const mixed = await world().bulk(key, { recipients: [TZ, SATELLITE, US] })
    expect(mixed.body.data.credits_used).toBe(26.8)
    expect(
      mixed.body.data.messages.map(({ credits_used }: { credits_used: number }) => credits_used),
    ).toStrictEqual([0.8, 25, 1])
    expect(await newest()).toMatchObject({ amount: -26_800_000, quantity: 3, unit_price: null })
    const text = 'x'.repeat(161)
    await world().bulk(key, { recipients: [TZ, '+255700000002'], content: { text } })
    expect(await newest()).toMatchObject({ amount: -3_200_000, quantity: 4, unit_price: 800_000 })
  })

  it('are those in an estimate', async () => {
    const json = { channel: 'sms', content: { text: 'Hi {{name|you}}' }, recipients: [TZ, US] }
    const { body } = await world().call('POST', '/api/v1/messages/estimate', { key, json })
    expect(body.data).toMatchObject({
      credits_needed: 1.8,
      messages: [{ credits: 0.8 }, { credits: 1 }],
    })
  })
})

describe('numbers in sequence', () => {
  const world = useWorld({
    spend: { sequence_limit: { max: 10, window_s: 60 } },
    log_level: 'warn',
  })
  /** In a number range of a satellite network. */
  const numberAt = (n: number) => `+8816${String(300_000_000 + n)}`
  const range = (count: number) => Array.from({ length: count }, (_, n) => numberAt(n))

  async function sender(mode: 'live' | 'test' = 'live', { verified = false } = {}) {
    const owner = await world().signup({ credits: 10_000 })
    if (verified) await world().verify(owner)
    return { owner, key: (await world().key(owner, { mode })).key }
  }

  it('freeze the workspace long before an attack of 5,000 messages ends', async () => {
    const { owner, key } = await sender()
    const numbers = range(5_000)
    const statuses = new Map<number, number>()
    const attack = async () => {
      for (let to = numbers.shift(); to; to = numbers.shift()) {
        const { status } = await world().send(key, { to })
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: 16 }, attack))
    expect([...statuses.keys()].toSorted()).toStrictEqual([201, 403])
    expect(statuses.get(201)).toBeLessThan(50)
    expect(10_000 - (await world().balance(owner))).toBeLessThan(50)
    expect((await world().send(key)).body).toStrictEqual(FROZEN)
  }, 60_000)

  it('in one bulk are refused before any of them is accepted', async () => {
    const { owner, key } = await sender()
    const before = await world().written(owner)
    const { status, body } = await world().bulk(key, { recipients: range(1_000) })
    expect(status).toBe(403)
    expect(body).toStrictEqual(FROZEN)
    expect(await world().written(owner)).toStrictEqual(before)
    expect(await world().balance(owner)).toBe(10_000)
  })

  it('in a bulk with faults freeze no workspace', async () => {
    const { key } = await sender()
    const request = { recipients: [...range(20), 'unknown'], validation: 'strict' }
    expect((await world().bulk(key, request)).status).toBe(400)
    expect((await world().send(key)).status).toBe(201)
  })

  it('notify operator and owner once, without a number in the log', async () => {
    const { owner, key } = await sender('live', { verified: true })
    world().lines.length = 0
    await world().bulk(key, { recipients: range(20) })
    await world().bulk(key, { recipients: range(20) })
    expect(world().lines).toMatchObject([
      {
        msg: 'workspace frozen: it sent to numbers in sequence',
        workspace_id: owner.id,
        numbers: 11,
        prefix_length: 11,
        window_s: 60,
      },
    ])
    expect(JSON.stringify(world().lines)).not.toMatch(/8816300/)
    expect(await world().core.credits.account(owner.id)).toMatchObject({
      status: 'frozen',
      frozen_reason: 'messages to 11 numbers in sequence within 60 s',
    })
    await world().core.mails.idle()
    const mails = world()
      .core.mails.list()
      .filter(({ to, kind }) => to === owner.email && kind === 'account_frozen')
    expect(mails).toHaveLength(1)
    for (const text of [mails[0]?.text, mails[0]?.html]) {
      expect(text).toContain('within 60 seconds it tried to send messages to 11 numbers')
      expect(text).toContain('revoke the API key')
    }
    world().lines.length = 0
  })

  it('keep the reason of an earlier freeze', async () => {
    const { owner, key } = await sender()
    const terms = { status: 'frozen', reason: 'unpaid' } as const
    await world().core.credits.setTerms(owner.id, terms)
    world().lines.length = 0
    expect((await world().bulk(key, { recipients: range(20) })).status).toBe(403)
    expect((await world().core.credits.account(owner.id)).frozen_reason).toBe('unpaid')
    expect(world().lines).toStrictEqual([])
  })

  it('are counted again after the freeze was lifted', async () => {
    const { owner, key } = await sender()
    await world().bulk(key, { recipients: range(20) })
    await world().core.credits.setTerms(owner.id, { status: 'active' })
    for (const to of range(10)) expect((await world().send(key, { to })).status).toBe(201)
    expect((await world().send(key, { to: numberAt(10) })).status).toBe(403)
  })

  it('count once for repeated requests', async () => {
    const { key } = await sender()
    const again = () =>
      Promise.all(
        range(10).map((to, n) => world().send(key, { to }, { 'Idempotency-Key': `key-${n}` })),
      )
    const sent = await again()
    await world().advance(60_000)
    const repeated = await again()
    const idsOf = (answers: typeof sent) => answers.map(({ body }) => body.data.message_id)
    expect(idsOf(repeated)).toStrictEqual(idsOf(sent))
    expect((await world().send(key, { to: numberAt(10) })).status).toBe(201)
  })

  it('do not count with test keys, in estimates, or slower than the limit', async () => {
    const test = await sender('test')
    expect((await world().bulk(test.key, { recipients: range(20) })).status).toBe(201)
    const { key } = await sender()
    const json = { channel: 'sms', content: { text: 'x' }, recipients: range(20) }
    const estimated = await world().call('POST', '/api/v1/messages/estimate', { key, json })
    expect(estimated.body.data.can_send).toBe(true)
    expect((await world().bulk(key, { recipients: range(20).slice(0, 10) })).status).toBe(201)
    await world().advance(60_000)
    expect((await world().bulk(key, { recipients: range(20).slice(10) })).status).toBe(201)
  })
})
