import type { AddressInfo } from 'node:net'
import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { seededChance } from '../postgres/seeded-chance.ts'
import { useWorld } from '../world.ts'

// Ids follow the clock of the test, as they do in a service.
const world = useWorld({
  dispatch: true,
  listen: true,
  chance: (now) => seededChance('twilio', now).core,
})

const TO = '+14155550100'
const FROM = '+14155550190'
const DAY_MS = 24 * 60 * 60_000

let owner: Account
let key: string
let client: ReturnType<typeof twilio>
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  client = clientOf(sidOf('account', owner.id), key)
})

function clientOf(user: string, password: string, options: twilio.ClientOpts = {}) {
  const made = twilio(user, password, options)
  made.api.baseUrl = `${world().url}/compat/twilio`
  return made
}

const refusedBy = async (work: Promise<unknown>) => {
  const error = (await work.then(
    () => null,
    (reason: unknown) => reason,
  )) as { status: number; code: number; message: string; moreInfo: string } | null
  if (error === null) throw new Error('the call was not refused')
  return error
}
const port = () => (world().app.server.address() as AddressInfo).port

describe('the official package', () => {
  it('sends a message and reads it', async () => {
    const made = await client.messages.create({ to: TO, from: FROM, body: 'Hello' })
    expect(made).toMatchObject({
      status: 'queued',
      to: TO,
      from: FROM,
      body: 'Hello',
      numSegments: '1',
      numMedia: '0',
      direction: 'outbound-api',
      accountSid: sidOf('account', owner.id),
      price: null,
      errorCode: null,
    })
    expect(made.sid).toMatch(/^SM[0-9a-f]{32}$/)
    expect(made.dateCreated).toEqual(world().now())
    await world().dispatcher.idle()
    const read = await client.messages(made.sid).fetch()
    expect(read).toMatchObject({ status: 'delivered', price: '-1', priceUnit: 'XXX' })
    expect(read.dateSent).toEqual(world().now())
  })

  it('sends to WhatsApp: a text, a file and a template', async () => {
    const to = `whatsapp:${TO}`
    const from = `whatsapp:${FROM}`
    const text = await client.messages.create({ to, from, body: 'Hi' })
    expect(text).toMatchObject({ to, from, body: 'Hi' })
    const mediaUrl = ['https://files.example.com/invoice.pdf']
    const file = await client.messages.create({ to, from, body: 'Your invoice', mediaUrl })
    expect(file).toMatchObject({ numMedia: '1', body: 'Your invoice' })
    const contentSid = `HX${'a'.repeat(32)}`
    const contentVariables = JSON.stringify({ 1: 'Asha' })
    const template = await client.messages.create({ to, from, contentSid, contentVariables })
    const message = await world().core.messages.get(owner.id, idOf(template.sid))
    expect(message.content).toEqual({ template: { id: contentSid, variables: { 1: 'Asha' } } })
  })

  it('sends from a stored template of the service by SMS and WhatsApp', async () => {
    const variants = (['sms', 'whatsapp'] as const).map((channel) => ({
      ...{ channel, locale: 'en', content: { text: 'Hi {{1}}, order {{order|none}}' } },
    }))
    const { templates, messages } = world().core
    await templates.create(owner.id, { name: 'order-ready', variants } as never)
    await templates.publish(owner.id, 'order-ready')
    const contentVariables = JSON.stringify({ 1: 'Asha' })
    const sms = { to: TO, from: FROM, contentSid: 'order-ready', contentVariables }
    const made = await client.messages.create(sms)
    expect(made).toMatchObject({ body: 'Hi Asha, order none', numSegments: '1' })
    expect(await messages.get(owner.id, idOf(made.sid))).toMatchObject({
      content: { text: 'Hi Asha, order none' },
      template: { name: 'order-ready', version: 1, locale: 'en' },
    })
    const whatsapp = {
      ...{ to: `whatsapp:${TO}`, from: `whatsapp:${FROM}` },
      ...{ contentSid: 'svc:order-ready', contentVariables },
    }
    expect((await client.messages.create(whatsapp)).body).toBe('Hi Asha, order none')

    const lacking = await refusedBy(client.messages.create({ ...sms, contentVariables: '{}' }))
    expect(lacking).toMatchObject({ status: 400, code: 21656, message: 'No value for {{1}}' })
    const unknown = await refusedBy(client.messages.create({ ...sms, contentSid: 'other' }))
    expect(unknown.message).toBe('No template has the name other')
    const odd = await refusedBy(client.messages.create({ ...sms, contentVariables: '[' }))
    expect(odd).toMatchObject({ status: 400, code: 21656 })
    const alone = await refusedBy(
      client.messages.create({ to: TO, from: FROM, body: 'Hi', contentVariables }),
    )
    expect(alone.message).toContain("needs 'ContentSid'")
  })

  it('sends from a stored template in the language of the request', async () => {
    const { templates, messages } = world().core
    const words = { en: 'ready', de: 'bereit' }
    const variants = (['sms', 'whatsapp'] as const).flatMap((channel) =>
      Object.entries(words).map(([locale, text]) => ({ channel, locale, content: { text } })),
    )
    const stored = { name: 'in-languages', default_locale: 'en', variants }
    await templates.create(owner.id, stored as never)
    await templates.publish(owner.id, 'in-languages')
    const usedBy = async (contentSid: string, channel = '') => {
      const [to, from] = [`${channel}${TO}`, `${channel}${FROM}`]
      const { sid, body } = await client.messages.create({ to, from, contentSid })
      return [body, (await messages.get(owner.id, idOf(sid))).template?.locale]
    }
    expect(await usedBy('in-languages')).toEqual(['ready', 'en'])
    expect(await usedBy('in-languages:de')).toEqual(['bereit', 'de'])
    // As in the API, a language without a variant falls back.
    expect(await usedBy('in-languages:de-AT')).toEqual(['bereit', 'de'])
    expect(await usedBy('in-languages:sw')).toEqual(['ready', 'en'])
    expect(await usedBy('svc:in-languages:de', 'whatsapp:')).toEqual(['bereit', 'de'])
    for (const contentSid of ['in-languages:', 'in-languages:d', 'in-languages:de:at']) {
      const wrong = client.messages.create({ to: TO, from: FROM, contentSid })
      expect(await refusedBy(wrong)).toMatchObject({
        ...{ status: 400, message: 'A locale must be a language tag such as en or de-AT' },
      })
    }
  })

  it('schedules a message of a messaging service, and cancels it', async () => {
    const sendAt = new Date(world().now().getTime() + DAY_MS)
    const messagingServiceSid = `MG${'0'.repeat(32)}`
    const schedule = { messagingServiceSid, scheduleType: 'fixed', sendAt } as const
    const made = await client.messages.create({ to: TO, body: 'Later', ...schedule })
    expect(made).toMatchObject({ status: 'scheduled', from: null, messagingServiceSid: null })
    expect(await client.messages(made.sid).update({ status: 'canceled' })).toMatchObject({
      status: 'canceled',
      errorCode: null,
    })
    const again = await refusedBy(client.messages(made.sid).update({ status: 'canceled' }))
    expect(again).toMatchObject({ status: 409, code: 30409 })
    const past = { ...schedule, sendAt: new Date(world().now().getTime() - DAY_MS) }
    expect((await client.messages.create({ to: TO, body: 'Now', ...past })).status).toBe('queued')
  })

  it('takes numbers with spaces, hyphens, dots and parentheses, as Twilio does', async () => {
    const from = '+1 415-555-0190'
    for (const to of ['+1 415 555 0100', ' +1 (415) 555-0100 ', '+1.415.555.0100']) {
      const made = await client.messages.create({ to, from, body: 'Hello' })
      expect(made).toMatchObject({ to: TO, from: FROM })
    }
    const [to, sender] = ['whatsapp:+1 415 555 0100', `whatsapp:${from}`]
    const made = await client.messages.create({ to, from: sender, body: 'Hello' })
    expect(made).toMatchObject({ to: `whatsapp:${TO}`, from: `whatsapp:${FROM}` })
    const found = await client.messages.list({ to: '+1 415 555 0100', limit: 1 })
    expect(found).toMatchObject([{ to: TO }])
  })

  it('keeps the blank in the name of a sender', async () => {
    const made = await client.messages.create({ to: TO, from: 'My Shop 24', body: 'Hello' })
    expect(made.from).toBe('My Shop 24')
  })

  it('takes the number of an attempt, and a highest price in credits', async () => {
    const before = Number((await client.balance.fetch()).balance)
    const hello = { to: TO, from: FROM, body: 'Hello' }
    await client.messages.create({ ...hello, attempt: 2, maxPrice: 1 })
    const test = (await world().key(owner, { mode: 'test' })).key
    await clientOf(sidOf('account', owner.id), test).messages.create({ ...hello, maxPrice: 0 })
    const refused = await refusedBy(client.messages.create({ ...hello, maxPrice: 0.5 }))
    expect(refused.message).toBe(
      'The message costs 1 credit, more than the highest price of 0.5 credits',
    )
    expect(Number((await client.balance.fetch()).balance)).toBe(before - 1)
  })

  it('names the alternatives to a file in an SMS', async () => {
    const mediaUrl = ['https://files.example.com/a.png']
    const error = await refusedBy(client.messages.create({ to: TO, from: FROM, mediaUrl }))
    expect(error.message).toContain("write the link to the file into 'Body'")
    expect(error.message).toContain('whatsapp:')
  })

  it('lets a message expire', async () => {
    const made = await client.messages.create({
      to: TO,
      from: FROM,
      body: 'Soon',
      validityPeriod: 60,
    })
    const { expires_at } = await world().core.messages.get(owner.id, idOf(made.sid))
    expect(expires_at?.getTime()).toBe(world().now().getTime() + 60_000)
  })

  it('removes the text, and then the message', async () => {
    const { sid } = await client.messages.create({ to: TO, from: FROM, body: 'Secret' })
    await world().dispatcher.idle()
    expect(await client.messages(sid).update({ body: '' })).toMatchObject({ body: '', to: TO })
    expect(await client.messages(sid).remove()).toBe(true)
    for (const call of [client.messages(sid).fetch(), client.messages(sid).remove()]) {
      expect(await refusedBy(call)).toMatchObject({ status: 404, code: 20404 })
    }
  })

  it('does not remove a message that is not sent yet', async () => {
    const sendAt = new Date(world().now().getTime() + DAY_MS)
    const made = await client.messages.create({
      to: TO,
      from: FROM,
      body: 'Later',
      scheduleType: 'fixed',
      sendAt,
    })
    for (const call of [
      client.messages(made.sid).remove(),
      client.messages(made.sid).update({ body: '' }),
    ]) {
      expect(await refusedBy(call)).toMatchObject({ status: 409, code: 20009 })
    }
  })

  it('reads the balance and the account', async () => {
    const { balance, currency } = await client.balance.fetch()
    expect([Number(balance), currency]).toEqual([await world().balance(owner), 'XXX'])
    const account = await client.api.v2010.accounts(sidOf('account', owner.id)).fetch()
    expect(account).toMatchObject({
      status: 'active',
      type: 'Full',
      sid: sidOf('account', owner.id),
    })
  })

  it('shows why a message failed, with a number of Twilio', async () => {
    const sent = ['+15005550001', '+15005550007'].map((to) =>
      client.messages.create({ to, from: FROM, body: 'Hello' }),
    )
    const sids = (await Promise.all(sent)).map(({ sid }) => sid)
    await world().advance(1_000)
    const read = await Promise.all(sids.map((sid) => client.messages(sid).fetch()))
    expect(read).toMatchObject([
      { status: 'failed', errorCode: 21211, price: '0' },
      { status: 'undelivered', errorCode: 30003, price: '-1' },
    ])
  })

  it('removes the text of a received message, and then the message', async () => {
    const author = '+15005550008'
    await client.messages.create({ to: author, from: FROM, body: 'Hello' })
    await world().advance(1_000)
    const [{ sid } = { sid: '' }] = await client.messages.list({ from: author, limit: 1 })
    const canceled = await refusedBy(client.messages(sid).update({ status: 'canceled' }))
    expect(canceled).toMatchObject({ status: 409, code: 30409 })
    expect(await client.messages(sid).update({ body: '' })).toMatchObject({
      status: 'received',
      body: '',
    })
    expect(await client.messages(sid).remove()).toBe(true)
    expect(await refusedBy(client.messages(sid).fetch())).toMatchObject({ code: 20404 })
  })

  it('lists no files of a message', async () => {
    const { sid } = await client.messages.create({ to: TO, from: FROM, body: 'Hello' })
    expect(await client.messages(sid).media.list()).toEqual([])
  })

  it('takes the SID of the key as its user', async () => {
    const { key: other, id } = await world().key(owner)
    const sid = sidOf('api_key', id)
    const accountSid = sidOf('account', owner.id)
    const made = await clientOf(sid, other, { accountSid }).messages.create({
      to: TO,
      from: FROM,
      body: 'Hello',
    })
    expect(made.accountSid).toBe(accountSid)
  })
})

describe('parameters without an effect', () => {
  const base = { to: TO, from: FROM, body: 'Hello' }

  it('are accepted', async () => {
    const made = await client.messages.create({
      ...base,
      smartEncoded: true,
      provideFeedback: true,
      riskCheck: 'disable',
      messageIntent: 'otp',
      forceDelivery: false,
      contentRetention: 'retain',
      addressRetention: 'retain',
      shortenUrls: false,
      sendAsMms: false,
      trafficType: 'free',
    } as never)
    expect(made.status).toBe('queued')
  })

  it.each([
    { forceDelivery: true },
    { contentRetention: 'discard' },
    { addressRetention: 'obfuscate' },
    { shortenUrls: true },
    { sendAsMms: true },
    { trafficType: 'premium' },
  ])('are refused as %j', async (more) => {
    const error = await refusedBy(client.messages.create({ ...base, ...more } as never))
    expect(error).toMatchObject({ status: 400, code: 20001 })
  })
})

describe('lists of the official package', () => {
  it('has sent and received messages together, newest first, in pages', async () => {
    const account = await world().signup({ credits: 100 })
    const { key } = await world().key(account)
    const own = clientOf(sidOf('account', account.id), key)
    for (let n = 0; n < 5; n++) {
      await own.messages.create({ to: '+15005550008', from: FROM, body: `Message ${n}` })
      await world().advance(1_000)
    }
    const all = await own.messages.list({ pageSize: 3 })
    const dates = all.map(({ dateCreated }) => dateCreated.getTime())
    expect(dates).toEqual([...dates].sort((a, b) => b - a))
    expect(new Set(all.map(({ sid }) => sid)).size).toBe(10)
    expect(all.filter(({ direction }) => direction === 'inbound')).toHaveLength(5)
    const [inbound] = all.filter(({ direction }) => direction === 'inbound')
    expect(await own.messages(inbound?.sid ?? '').fetch()).toMatchObject({ status: 'received' })
    const filtered = await own.messages.list({ from: '+15005550008' })
    expect(filtered.map(({ direction }) => direction)).toEqual(Array(5).fill('inbound'))
    const sent = await own.messages.list({ to: '+15005550008', from: FROM })
    expect(sent.map(({ body }) => body)).toEqual([4, 3, 2, 1, 0].map((n) => `Message ${n}`))
    expect(await own.messages.list({ to: `whatsapp:${TO}` })).toEqual([])
    expect(await own.messages.list({ limit: 4 })).toHaveLength(4)
  })

  it('filters by date', async () => {
    const account = await world().signup({ credits: 100 })
    const { key } = await world().key(account)
    const own = clientOf(sidOf('account', account.id), key)
    const first = world().now()
    await own.messages.create({ to: TO, from: FROM, body: 'today' })
    await world().advance(DAY_MS)
    await own.messages.create({ to: TO, from: FROM, body: 'tomorrow' })
    const bodies = async (filter: object) =>
      (await own.messages.list(filter)).map(({ body }) => body)
    expect(await bodies({ dateSent: first })).toEqual(['today'])
    expect(await bodies({ dateSentBefore: first })).toEqual(['today'])
    expect(await bodies({ dateSentAfter: world().now() })).toEqual(['tomorrow'])
    expect(await bodies({ dateSentAfter: first })).toEqual(['tomorrow', 'today'])
  })
})

describe('errors of the official package', () => {
  const base = { to: TO, from: FROM, body: 'Hello' }
  it.each([
    ['a wrong recipient', { ...base, to: '12' }, 400, 21211],
    ['no recipient', { ...base, to: '' }, 400, 21604],
    ['no sender', { to: TO, body: 'Hello' }, 400, 21603],
    ['no text', { to: TO, from: FROM }, 400, 21602],
    ['a long text', { ...base, body: 'a'.repeat(1601) }, 400, 21617],
    [
      'a long text for WhatsApp',
      { to: `whatsapp:${TO}`, from: `whatsapp:${FROM}`, body: 'a'.repeat(4097) },
      400,
      21617,
    ],
    ['no validity', { ...base, validityPeriod: 0 }, 400, 20001],
    ['a long validity', { ...base, validityPeriod: 36_001 }, 400, 20001],
    ['a file in an SMS', { ...base, mediaUrl: ['https://files.example.com/a.png'] }, 400, 21620],
    ['two channels', { ...base, to: `whatsapp:${TO}` }, 400, 21606],
    [
      'two files',
      {
        ...base,
        to: `whatsapp:${TO}`,
        from: `whatsapp:${FROM}`,
        mediaUrl: ['https://a.example/1', 'https://a.example/2'],
      },
      400,
      21623,
    ],
    ['a price above the highest price', { ...base, maxPrice: 0.9 }, 400, 30010],
    [
      'a price of two segments above the highest price',
      { ...base, body: 'a'.repeat(161), maxPrice: 1.5 },
      400,
      30010,
    ],
    ['a highest price that is no price', { ...base, maxPrice: -1 }, 400, 20001],
    ['an attempt that is no number', { ...base, attempt: 0 }, 400, 20001],
    ['an application without a callback', { ...base, applicationSid: 'AP1' }, 400, 20001],
    ['letters in a number', { ...base, to: '+1 415 CALL NOW' }, 400, 21211],
    ['spaces without a plus', { ...base, to: '415 555 0100' }, 400, 21211],
    ['a time without a type', { ...base, sendAt: new Date() }, 400, 35114],
    [
      'a time that is too far ahead',
      { ...base, scheduleType: 'fixed', sendAt: new Date('2027-05-04T09:00:00Z') },
      400,
      35114,
    ],
    [
      'wrong variables',
      { to: `whatsapp:${TO}`, from: `whatsapp:${FROM}`, contentSid: 'HX1', contentVariables: '{' },
      400,
      21656,
    ],
  ])('refuses %s', async (_, request, status, code) => {
    const error = await refusedBy(client.messages.create(request as never))
    expect(error).toMatchObject({
      status,
      code,
      moreInfo: `https://www.twilio.com/docs/errors/${code}`,
    })
  })

  it('refuses a suppressed recipient', async () => {
    const to = '+14155550101'
    const json = { channel: 'sms', address: to }
    await world().call('POST', '/api/v1/contacts/suppressions', { token: owner.token, json })
    expect(await refusedBy(client.messages.create({ ...base, to }))).toMatchObject({ code: 21610 })
  })

  it('refuses a wrong key, a key of another account, and a SID of another account', async () => {
    const sid = sidOf('account', owner.id)
    const other = await world().key(await world().signup())
    for (const password of ['wrong', other.key]) {
      const error = await refusedBy(clientOf(sid, password).messages.create(base))
      expect(error).toMatchObject({ status: 401, code: 20003 })
    }
    const stranger = clientOf(sid, key, {
      accountSid: sidOf('account', '019df237-3e80-7000-a094-1f5a798dd1fb'),
    })
    expect(await refusedBy(stranger.messages.list())).toMatchObject({ status: 404, code: 20404 })
  })

  it('refuses a key without the scope or from another address, and an account that is frozen or without credits', async () => {
    const poor = await world().signup()
    const { key: reader } = await world().key(poor, { scopes: ['read_messages'] })
    const { key: sender } = await world().key(poor)
    const sid = sidOf('account', poor.id)
    const scope = await refusedBy(clientOf(sid, reader).messages.create(base))
    expect(scope).toMatchObject({ status: 403, code: 20003 })
    const credits = await refusedBy(clientOf(sid, sender).messages.create(base))
    expect(credits).toMatchObject({ status: 403, code: 20005 })
    const { key: bound } = await world().key(poor, { allowed_ips: ['192.0.2.1'] })
    const address = await refusedBy(clientOf(sid, bound).messages.create(base))
    expect(address).toMatchObject({ status: 403, code: 20003 })
    await world().core.credits.setTerms(poor.id, { status: 'frozen', reason: 'unpaid' })
    const frozen = await refusedBy(clientOf(sid, sender).messages.create(base))
    expect(frozen).toMatchObject({ status: 403, code: 20003 })
  })

  it('finds no message of another account, sent, scheduled or received', async () => {
    const sendAt = new Date(world().now().getTime() + DAY_MS)
    const schedule = { scheduleType: 'fixed', sendAt } as const
    const sent = await client.messages.create({ ...base, to: '+15005550008' })
    await world().advance(1_000)
    const [received] = await client.messages.list({ from: '+15005550008', limit: 1 })
    const scheduled = await client.messages.create({ ...base, ...schedule })
    const sids = [sent.sid, received?.sid ?? '', scheduled.sid]
    const other = await world().signup()
    const { key: foreign } = await world().key(other)
    const stranger = clientOf(sidOf('account', other.id), foreign)
    for (const work of sids.flatMap((sid) => [
      () => stranger.messages(sid).fetch(),
      () => stranger.messages(sid).update({ body: '' }),
      () => stranger.messages(sid).update({ status: 'canceled' }),
      () => stranger.messages(sid).media.list(),
      () => stranger.messages(sid).remove(),
    ])) {
      expect(await refusedBy(work())).toMatchObject({ status: 404, code: 20404 })
    }
    const left = await Promise.all(sids.map((sid) => client.messages(sid).fetch()))
    expect(left.map(({ status }) => status)).toEqual(['delivered', 'received', 'scheduled'])
    expect(left.map(({ body }) => body)).toEqual(['Hello', 'Thank you!', 'Hello'])
  })
})

describe('requests of other programs', () => {
  const path = () => `/compat/twilio/2010-04-01/Accounts/${sidOf('account', owner.id)}`
  const authorization = () =>
    `Basic ${Buffer.from(`${sidOf('account', owner.id)}:${key}`).toString('base64')}`
  const request = (url: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port()}${url}`, {
      ...init,
      headers: { authorization: authorization(), ...init.headers },
    })
  const form = (body: string, place = '/Messages.json') =>
    request(`${path()}${place}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })

  it('names an unknown parameter', async () => {
    const answer = await form('To=%2B14155550100&From=%2B14155550190&Body=Hi&Bdy=x')
    expect(answer.status).toBe(400)
    expect(await answer.json()).toStrictEqual({
      code: 20001,
      message: "The parameter 'Bdy' is not supported. See docs/compat/twilio.md",
      more_info: 'https://www.twilio.com/docs/errors/20001',
      status: 400,
    })
  })

  it.each([
    ['a broken escape', 'To=%zz'],
    ['bytes that are not UTF-8', 'To=%ff'],
    ['too many parameters', 'a=1&'.repeat(101)],
    ['a repeated parameter', 'To=%2B14155550100&To=%2B14155550101&From=%2B14155550190&Body=Hi'],
    ['a text with U+0000', 'To=%2B14155550100&From=%2B14155550190&Body=a%00b'],
    ['a body that is too large', `Body=${'a'.repeat(300_000)}`],
    ['a name of every object', '__proto__=1&To=%2B14155550100&From=%2B14155550190&Body=Hi'],
    ['a byte that is 0', 'To=%2B14155550100&From=%2B14155550190&Body=a\0b'],
    ['a name with U+0000', 'To=%2B14155550100&From=%2B14155550190&Body=a&B%00=b'],
    ['an overlong encoding', 'To=%2B14155550100&From=%2B14155550190&Body=%c0%80'],
    ['half of a pair', 'To=%2B14155550100&From=%2B14155550190&Body=%ed%a0%80'],
    ['a long name', `To=%2B14155550100&From=%2B14155550190&Body=a&${'n'.repeat(100_000)}=b`],
    ['only separators', '&'.repeat(200_000)],
    ['many escapes', `Body=${'%41'.repeat(80_000)}`],
    ['many files', 'MediaUrl=https%3A%2F%2Fa.example%2F1&'.repeat(90)],
    [
      'a repeated callback',
      `${'StatusCallback=https%3A%2F%2Fa.example&'.repeat(2)}To=%2B14155550100`,
    ],
    ['nothing', ''],
  ])('refuses %s, and stores nothing', async (_, body) => {
    const before = await world().written(owner)
    const { sid } = await client.messages.create({ to: TO, from: FROM, body: 'Hi' })
    for (const place of ['/Messages.json', `/Messages/${sid}.json`, '/Calls.json']) {
      const answer = await form(body, place)
      expect([place, answer.status]).toEqual([place, 400])
      expect(await answer.json()).toMatchObject({ status: 400, code: expect.any(Number) })
    }
    const after = await world().written(owner)
    expect(after.messages).toBe(before.messages + 1)
  })

  it('takes forms only', async () => {
    const answer = await request(`${path()}/Messages.json`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect(await answer.json()).toMatchObject({
      status: 400,
      message: 'Content-Type must be application/x-www-form-urlencoded',
    })
  })

  it('answers an unknown path, and a request without credentials, in the shape of Twilio', async () => {
    const unknown = await request('/compat/twilio/2010-04-01/Accounts/x/Faxes.json')
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 20404 }])
    const anonymous = await fetch(`http://127.0.0.1:${port()}${path()}/Messages.json`)
    expect([anonymous.status, await anonymous.json()]).toMatchObject([401, { code: 20003 }])
    expect(anonymous.headers.get('www-authenticate')).toBe('Basic realm="Twilio API"')
  })

  it('repeats the answer for the same idempotency key', async () => {
    const send = () =>
      request(`${path()}/Messages.json`, {
        method: 'POST',
        body: new URLSearchParams({ To: TO, From: FROM, Body: 'Once' }),
        headers: { 'idempotency-key': 'order-1' },
      })
    const first = (await (await send()).json()) as { sid: string }
    const second = await send()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await second.json()).toMatchObject({ sid: first.sid })
  })

  it.each(['PageSize=0', 'PageSize=1001', 'Page=1', 'PageToken=x', 'DateSent=x', 'Colour=red'])(
    'refuses the query %s',
    async (query) => {
      const answer = await request(`${path()}/Messages.json?${query}`)
      expect([answer.status, await answer.json()]).toMatchObject([400, { code: 20001 }])
    },
  )

  it('reads an unescaped plus in a filter', async () => {
    const answer = await request(`${path()}/Messages.json?To=+14155550100&PageSize=1`)
    const body = (await answer.json()) as { messages: { to: string }[] }
    expect(body.messages[0]?.to).toBe(TO)
  })
})

function idOf(sid: string): string {
  return sid.slice(2).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
