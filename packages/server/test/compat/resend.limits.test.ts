import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Resend } from 'resend'
import { expect, it } from 'vitest'
import { QUIET, useWorld } from '../world.ts'

let isBusy = false
let isBroken = false
const world = useWorld({
  listen: true,
  alter: (core) => ({
    ...core,
    contacts: {
      ...core.contacts,
      list: (...given) => {
        if (isBroken) throw new Error('a text about the database')
        return core.contacts.list(...given)
      },
    },
  }),
  rates: { general: { max: 3, window_s: 60 }, bulk: { max: 1, window_s: 300 } },
  load: () => (isBusy ? { requests: 100_000, delay_ms: 100_000 } : QUIET),
})

const MAIL = {
  from: 'Acme <shop@acme.example>',
  to: 'delivered@sandbox.svc',
  subject: 'Hello',
  html: '<p>It works</p>',
}

const clientOf = (key: string) => new Resend(key, { baseUrl: `${world().url}/compat/resend` })

async function testClient(): Promise<Resend> {
  return clientOf((await world().key(await world().signup(), { mode: 'test' })).key)
}

it('refuses requests beyond the rate limit of the key, with the headers of Resend', async () => {
  const client = await testClient()
  for (let n = 0; n < 3; n++) expect((await client.emails.send(MAIL)).error).toBeNull()
  const { error, headers } = await client.emails.send(MAIL)
  expect(error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' })
  expect(headers).toMatchObject({
    'retry-after': '60',
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '60',
  })
})

it('counts each further file that it fetches as a request', async () => {
  let fetched = 0
  const files = createServer((_, response) => {
    fetched += 1
    response.end('Hello')
  })
  await once(files.listen(0, '127.0.0.1'), 'listening')
  const path = `http://127.0.0.1:${(files.address() as AddressInfo).port}/a.txt`
  const mailOf = (count: number) => ({ ...MAIL, attachments: Array(count).fill({ path }) })
  const client = await testClient()
  expect((await client.emails.send(mailOf(2))).error).toBeNull()
  const { error } = await client.emails.send(mailOf(10))
  files.close()
  expect(error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' })
  expect(fetched).toBe(3)
})

it('counts batches as bulks', async () => {
  const client = await testClient()
  expect((await client.batch.send([MAIL])).error).toBeNull()
  const { error } = await client.batch.send([MAIL])
  expect(error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' })
})

it('refuses requests under overload', async () => {
  const client = await testClient()
  isBusy = true
  const { error } = await client.emails.send(MAIL)
  isBusy = false
  expect(error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' })
})

it('names a daily limit of the key', async () => {
  const owner = await world().signup({ credits: 10 })
  const { key } = await world().key(owner, { daily_credit_limit: 0.1 })
  expect((await clientOf(key).emails.send(MAIL)).error).toBeNull()
  const { error } = await clientOf(key).emails.send(MAIL)
  expect(error).toMatchObject({ statusCode: 429, name: 'daily_quota_exceeded' })
})

it('refuses a frozen workspace', async () => {
  const owner = await world().signup({ credits: 10 })
  const { key } = await world().key(owner)
  await world().core.credits.setTerms(owner.id, { status: 'frozen', reason: 'unpaid' })
  const { error } = await clientOf(key).emails.send(MAIL)
  expect(error).toMatchObject({ statusCode: 403, name: 'validation_error' })
})

it('refuses an idempotency key that is too long', async () => {
  const client = await testClient()
  const { error } = await client.emails.send(MAIL, { idempotencyKey: 'x'.repeat(300) })
  expect(error).toMatchObject({ statusCode: 400, name: 'invalid_idempotency_key' })
})

it('answers a fault of the service without its text, and logs it', async () => {
  const { key } = await world().key(await world().signup())
  isBroken = true
  const { error } = await clientOf(key).contacts.list()
  isBroken = false
  expect(error).toMatchObject({ statusCode: 500, name: 'internal_server_error' })
  expect(error?.message).not.toContain('database')
  expect(world().takeFaults()).toMatchObject([
    { msg: 'request failed' },
    { msg: 'request', status: 500 },
  ])
})
