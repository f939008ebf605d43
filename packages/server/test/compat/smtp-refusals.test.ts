import { defineProvider } from '@svc/core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTxtServer } from '../../../core/test/domains/txt-server.ts'
import type { Account } from '../accounts.ts'
import { openInletStage } from './inlet-stage.ts'
import { plainLogin, speak } from './smtp-client.ts'

/** A provider in place of the sandbox, so that e-mails would leave the service. */
const mailer = defineProvider({
  name: 'mailer',
  traits: { channels: ['email'] },
  send: async (jobs) =>
    jobs.map(() => ({ type: 'accepted', provider_message_id: null, lookup_after_ms: null })),
})

let dns: Awaited<ReturnType<typeof startTxtServer>>
let stage: Awaited<ReturnType<typeof openInletStage>>
let account: Account
let key: string

beforeAll(async () => {
  dns = await startTxtServer()
  stage = await openInletStage({ providers: [mailer], domains_dns: [dns.address] })
  account = await stage.world.signup({ credits: 10 })
  key = (await stage.world.key(account)).key
})
beforeEach(() => {
  stage.outcomes.length = 0
})
afterAll(async () => {
  await stage?.close()
  await dns?.close()
})

async function visit(secret = key) {
  const client = await speak(stage.port)
  await client.say('EHLO app.example\r\n')
  expect(await client.say(plainLogin(secret))).toMatch(/^235 /)
  /** Sends a mail, and returns the reply to its last line. */
  async function send(from: string): Promise<string> {
    expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(/^250 /)
    expect(await client.say('RCPT TO:<asha@example.com>\r\n')).toMatch(/^250 /)
    expect(await client.say('DATA\r\n')).toMatch(/^354 /)
    return client.say(`From: ${from}\r\nTo: asha@example.com\r\nSubject: Hi\r\n\r\nHello\r\n.\r\n`)
  }
  return { ...client, send }
}

const balance = () => stage.world.balance(account)
const written = () => stage.world.written(account)

describe('a mail from an address at a domain that is not verified', () => {
  const from = 'Acme <shop@acme.example>'

  it('is refused, stores nothing and costs nothing, and the connection takes the next mail', async () => {
    const [before, credits] = [await written(), await balance()]
    const client = await visit()
    expect(await client.send(from)).toBe(
      '550 5.7.1 The domain acme.example is not a verified sending domain of this workspace: add it with POST /api/v1/domains\r\n',
    )
    expect(await written()).toStrictEqual(before)
    expect(await balance()).toBe(credits)
    expect(stage.outcomes).toStrictEqual(['refused'])
    expect(await client.send('Acme <shop@svc.example>')).toMatch(/^250 2\.6\.0 Queued as /)
    expect(stage.outcomes).toStrictEqual(['refused', 'accepted'])
    client.socket.destroy()
  })

  it('is accepted with a test key', async () => {
    const credits = await balance()
    const test = await stage.world.key(account, { mode: 'test' })
    const client = await visit(test.key)
    expect(await client.send(from)).toMatch(/^250 2\.6\.0 Queued as /)
    expect(await balance()).toBe(credits)
    client.socket.destroy()
  })

  it('is accepted after the verification, only in the workspace of the domain', async () => {
    const { token } = account
    const { id, domain } = await stage.world.domain(account)
    const client = await visit()
    expect(await client.send(`shop@${domain}`)).toMatch(/^550 5\.7\.1 .*publish its DNS records/)
    const path = `/api/v1/domains/${id}`
    const { body } = await stage.world.call('GET', path, { token })
    for (const { name, value } of body.data.domain.records) dns.records.set(name, [value])
    await stage.world.call('POST', `${path}/verify`, { token })
    expect(await client.send(`shop@${domain}`)).toMatch(/^250 2\.6\.0 Queued as /)
    const stranger = await stage.world.signup({ credits: 10 })
    const other = await visit((await stage.world.key(stranger)).key)
    expect(await other.send(`shop@${domain}`)).toMatch(/^550 5\.7\.1 .*not a verified sending/)
    client.socket.destroy()
    other.socket.destroy()
  })
})

it('a frozen workspace sends no mail and pays nothing, until it is active again', async () => {
  const { credits } = stage.world.core
  const client = await visit()
  const [before, credits_before] = [await written(), await balance()]
  await credits.setTerms(account.id, { status: 'frozen', reason: 'unpaid' })
  expect(await client.send('shop@svc.example')).toBe(
    '550 5.7.1 This workspace is frozen. Please contact support.\r\n',
  )
  expect(await written()).toStrictEqual(before)
  expect(await balance()).toBe(credits_before)
  expect(stage.outcomes).toStrictEqual(['refused'])
  await credits.setTerms(account.id, { status: 'active' })
  expect(await client.send('shop@svc.example')).toMatch(/^250 2\.6\.0 Queued as /)
  expect(await balance()).toBeCloseTo(credits_before - 0.1, 9)
  client.socket.destroy()
})

it('VRFY confirms no address, and the tenth command without a login ends the connection', async () => {
  const client = await speak(stage.port)
  expect(await client.say('EHLO app.example\r\n')).toMatch(/^250[ -]/)
  for (let i = 0; i < 8; i++) {
    expect(await client.say('VRFY asha@example.com\r\n')).toMatch(/^252 /)
  }
  expect(await client.say('NOOP\r\n')).toMatch(/^421 /)
  await client.closed
  const known = await visit()
  for (let i = 0; i < 11; i++) {
    expect(await known.say('VRFY asha@example.com\r\n')).toMatch(/^252 /)
  }
  known.socket.destroy()
})
