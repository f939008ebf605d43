import { randomUUID } from 'node:crypto'
import { defineProvider } from '@svc/core'
import { Webhook } from 'svix'
import { beforeAll, expect, it } from 'vitest'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import type { Account } from '../accounts.ts'
import { openWorld, useWorld, type World } from '../world.ts'

/** The texts that the provider got, by number. */
const texts = new Map<string, string[]>()

/** A number for which the provider quotes the text in its error. */
const QUOTED = '+14155559999'

const carrier = defineProvider({
  name: 'carrier',
  traits: { channels: ['sms'] },
  async send(jobs) {
    return jobs.map(({ recipient, content, message_id }) => {
      const { text } = content as { text: string }
      if (recipient === QUOTED) {
        return { type: 'rejected', error_code: 'refused', error_message: `not sent: ${text}` }
      }
      texts.set(recipient, [...(texts.get(recipient) ?? []), text])
      return {
        type: 'accepted',
        provider_message_id: message_id,
        lookup_after_ms: null,
        status: 'sent',
      }
    })
  },
})

const options = { listen: true, dispatch: true, providers: [carrier] }
const world = useWorld(options)
const SETTINGS = '/compat/supabase/send-sms'

let next = 0
/** A number that no other test uses, as Supabase stores it. */
const number = () => `1415555${String(2_000 + next++)}`

let owner: Account
let key: string
let hook: Hook
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  hook = await hookOf(world(), key)
})

interface Hook {
  uri: string
  secrets: string
}

async function hookOf({ url }: Pick<World, 'url'>, key: string): Promise<Hook> {
  const answer = await fetch(url + SETTINGS, { headers: { 'X-API-Key': key } })
  const { enabled, uri, secrets } = (await answer.json()) as Hook & { enabled: boolean }
  expect(enabled).toBe(true)
  return { uri: url + new URL(uri).pathname, secrets }
}

const bodyOf = (phone: string, otp: unknown) => JSON.stringify({ user: { phone }, sms: { otp } })

/** Posts as Supabase does. */
async function post(
  { uri, secrets }: Hook,
  body: string,
  { at = world().now(), signed = body, more = '' } = {},
): Promise<{ status: number; answer: unknown; text: string }> {
  const id = randomUUID()
  const signature = new Webhook(secrets.replace('v1,', '')).sign(id, at, signed)
  const answer = await fetch(uri, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': more + signature,
    },
    body,
  })
  const text = await answer.text()
  return { status: answer.status, answer: JSON.parse(text), text }
}

it('sends the code of the hook, charged once, and shows it nowhere', async () => {
  const to = number()
  const before = await world().balance(owner)
  expect(await post(hook, bodyOf(to, '918273'))).toMatchObject({ status: 200, answer: {} })
  await world().dispatcher.idle()
  expect(texts.get(`+${to}`)).toEqual([expect.stringContaining('918273')])
  expect(texts.get(`+${to}`)?.[0]).not.toMatch(/minute/)
  expect(before - (await world().balance(owner))).toBe(1)
  const { call } = world()
  const { body: listed } = await call('GET', '/api/v1/messages', { key })
  const { body: codes } = await call('GET', `/api/v1/verifications?to=%2B${to}`, { key })
  expect(codes.data.verifications).toMatchObject([{ status: 'external', to: `+${to}` }])
  for (const shown of [listed, codes]) expect(JSON.stringify(shown)).not.toContain('918273')
  expect(JSON.stringify(listed)).toContain('••••••')
  // A retry of Supabase has the same code and another id: nothing is sent or charged again.
  expect(await post(hook, bodyOf(to, '918273'))).toMatchObject({ status: 200, answer: {} })
  await world().dispatcher.idle()
  expect(texts.get(`+${to}`)).toHaveLength(1)
  const json = { to: `+${to}`, code: '918273' }
  const checked = await call('POST', '/api/v1/verifications/check', { key, json })
  expect(checked.status).toBe(404)
})

it.each(['+14155550001', '', null])(
  'sends to the number of the hook: a new one, or that of a second factor (user: %j)',
  async (phone) => {
    const to = number()
    const body = JSON.stringify({ user: { phone }, sms: { otp: '918274', phone: to } })
    expect(await post(hook, body)).toMatchObject({ status: 200, answer: {} })
    await world().dispatcher.idle()
    expect(texts.get(`+${to}`)).toEqual([expect.stringContaining('918274')])
    expect(texts.get('+14155550001')).toBeUndefined()
    const none = JSON.stringify({ user: { phone: '' }, sms: { otp: '918274', phone: '' } })
    expect((await post(hook, none)).answer).toMatchObject({ error: { http_code: 400 } })
  },
)

it('another code waits for the cooldown, and an address gets 5 in an hour', async () => {
  const to = number()
  const send = (otp: string) => post(hook, bodyOf(to, otp))
  expect(await send('100000')).toMatchObject({ status: 200, answer: {} })
  const limited = { status: 200, answer: { error: { http_code: 429 } } }
  expect(await send('100001')).toMatchObject(limited)
  for (const otp of ['100002', '100003', '100004', '100005']) {
    await world().advance(31_000)
    expect(await send(otp)).toMatchObject({ status: 200, answer: {} })
  }
  await world().advance(31_000)
  expect(await send('100006')).toMatchObject(limited)
})

it('refuses forged, changed, old and foreign requests with 401', async () => {
  const body = bodyOf(number(), '111222')
  const forged = { ...hook, secrets: `v1,whsec_${Buffer.alloc(32).toString('base64')}` }
  expect(await post(forged, body)).toMatchObject({ status: 401 })
  expect(await post(hook, body, { signed: bodyOf(number(), '111222') })).toMatchObject({
    status: 401,
  })
  for (const ms of [-400_000, 400_000]) {
    const at = new Date(world().now().getTime() + ms)
    expect(await post(hook, body, { at })).toMatchObject({ status: 401 })
  }
  const { key: other } = await world().key(owner)
  const { secrets } = await hookOf(world(), other)
  expect(await post({ ...hook, secrets }, body)).toMatchObject({ status: 401 })
  const unsigned = await fetch(hook.uri, { method: 'POST', body })
  expect(unsigned.status).toBe(401)
  expect((await fetch(world().url + SETTINGS)).status).toBe(401)
  // Supabase lists a signature for each of its secrets.
  expect(await post(hook, body, { more: `v1,${'A'.repeat(43)}=, ` })).toMatchObject({
    status: 200,
    answer: {},
  })
})

it('ends with its key', async () => {
  const made = await world().key(owner)
  const own = await hookOf(world(), made.key)
  await world().call('DELETE', `/api/v1/api-keys/${made.id}`, { token: owner.token })
  expect(await post(own, bodyOf(number(), '111222'))).toMatchObject({ status: 401 })
})

it('refusals reach the application with the status 200, and quote no code', async () => {
  for (const body of [
    bodyOf(number(), 'abc-4711'),
    bodyOf('x12', '471100'),
    bodyOf('', '471100'),
    bodyOf(number(), 471100),
    '{"sms":{"otp":"471100"}',
    'null',
  ]) {
    const { status, answer, text } = await post(hook, body)
    expect(status).toBe(200)
    expect(answer).toMatchObject({ error: { http_code: 400 } })
    expect(text).not.toContain('4711')
  }
  const poor = await world().signup()
  const { key } = await world().key(poor)
  const broke = await post(await hookOf(world(), key), bodyOf(number(), '471100'))
  expect(broke).toMatchObject({ status: 200, answer: { error: { http_code: 402 } } })
  const { key: reader } = await world().key(owner, { scopes: ['read_messages'] })
  const settings = await fetch(world().url + SETTINGS, { headers: { 'X-API-Key': reader } })
  expect(settings.status).toBe(403)
})

it('an error of the provider that quotes the text is stored without the code', async () => {
  await post(hook, bodyOf(QUOTED, '765432'))
  await world().dispatcher.idle()
  const { body } = await world().call('GET', '/api/v1/messages?status=failed', { key })
  const [{ id }] = body.data.messages
  for (const path of [`/api/v1/messages/${id}`, `/api/v1/messages/${id}/timeline`]) {
    const { status, text } = await world().call('GET', path, { key })
    expect(status).toBe(200)
    expect(text).toContain('••••••')
    expect(text).not.toContain('765432')
  }
  expect(JSON.stringify(world().lines)).not.toContain('765432')
})

it('does the same with PostgreSQL', async () => {
  const database = await createDatabase()
  const world = await openWorld({ ...options, database_url: database.url })
  try {
    const owner = await world.signup({ credits: 10 })
    const { key } = await world.key(owner)
    const hook = await hookOf(world, key)
    const to = number()
    const at = world.now()
    expect(await post(hook, bodyOf(to, '00471199'), { at })).toMatchObject({
      status: 200,
      answer: {},
    })
    expect(await post(hook, bodyOf(to, '00471198'), { at })).toMatchObject({
      answer: { error: { http_code: 429 } },
    })
    await world.dispatcher.idle()
    expect(texts.get(`+${to}`)).toEqual([expect.stringContaining('00471199')])
  } finally {
    await world.close()
    await database.drop()
  }
})
