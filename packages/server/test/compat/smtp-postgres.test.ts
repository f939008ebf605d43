import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../core/test/postgres-database.ts'
import type { Account } from '../accounts.ts'
import { openInletStage } from './inlet-stage.ts'
import { plainLogin, speak } from './smtp-client.ts'

type Stage = Awaited<ReturnType<typeof openInletStage>>

it('stores mails with PostgreSQL, once for an idempotency key, and refuses an ended key', async () => {
  const database = await createDatabase()
  const stage = await openInletStage({ database_url: database.url })
  try {
    const account = await stage.world.signup({ credits: 10 })
    const { id, key } = await stage.world.key(account)
    const mail = {
      from: 'shop@svc.example',
      to: 'asha@example.com',
      subject: 'Hi',
      text: 'Hello',
      headers: { 'X-Svc-Idempotency-Key': 'order-1' },
    }
    const sent = await Promise.all([1, 2, 3].map(() => stage.mailer(key).sendMail(mail)))
    expect(new Set(sent.map(({ response }) => response)).size).toBe(1)
    expect(sent[0]?.response).toMatch(/^250 2\.6\.0 Queued as /)
    expect((await stage.world.written(account)).messages).toBe(1)
    await stage.world.call('DELETE', `/api/v1/api-keys/${id}`, { token: account.token })
    await expect(stage.mailer(key).sendMail(mail)).rejects.toThrow('535 5.7.8')
  } finally {
    await stage.close()
    await database.drop()
  }
})

describe('while the account is locked', () => {
  let database: TestDatabase
  let stage: Stage
  let account: Account
  let key: string
  beforeAll(async () => {
    database = await createDatabase()
    stage = await openInletStage({
      database_url: database.url,
      load: 'measured',
      overload: { requests: 2, delay_ms: 1_000_000 },
      limits: { repeatable_ms: 2_000 },
    })
    account = await stage.world.signup({ credits: 10 })
    key = (await stage.world.key(account)).key
  })
  afterAll(async () => {
    await stage?.close()
    await database?.drop()
  })

  const mail = (...headers: string[]) =>
    ['From: shop@svc.example', 'Subject: Hi', ...headers, '', 'Hello', '.', ''].join('\r\n')

  async function visit() {
    const client = await speak(stage.port)
    await client.say('EHLO app.example\r\n')
    expect(await client.say(plainLogin(key))).toMatch(/^235 /)
    async function toData(): Promise<void> {
      expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(/^250 /)
      await client.say('RCPT TO:<asha@example.com>\r\n')
      expect(await client.say('DATA\r\n')).toMatch(/^354 /)
    }
    return { ...client, toData }
  }

  /** Locks the account, so that each debit waits; returns the function that unlocks it. */
  async function lockAccount(): Promise<() => Promise<void>> {
    const lock = await database.connect()
    await lock.query('begin')
    const statement = 'select 1 from credit_accounts where workspace_id = $1 for update'
    await lock.query(statement, [account.id])
    return async () => void (await lock.query('rollback'))
  }

  it('mails beyond the limit of sends in flight are deferred: 451 4.7.1, and taken again later', async () => {
    const before = await stage.world.balance(account)
    const waiting = await Promise.all([visit(), visit(), visit()])
    const late = await visit()
    await Promise.all(waiting.map(({ toData }) => toData()))
    const unlock = await lockAccount()
    const replies = waiting.map(({ say }) => say(mail()))
    await expect
      .poll(async () => {
        const reply = await late.say('MAIL FROM:<a@b.example>\r\n')
        await late.say('RSET\r\n')
        return reply
      })
      .toMatch(/^451 4\.7\.1 Too many requests\. Please try again later\./)
    expect((await stage.world.written(account)).messages).toBe(0)
    await unlock()
    for (const reply of await Promise.all(replies)) expect(reply).toMatch(/^250 2\.6\.0 /)
    await late.toData()
    expect(await late.say(mail())).toMatch(/^250 2\.6\.0 Queued as /)
    expect((await stage.world.written(account)).messages).toBe(4)
    expect(await stage.world.balance(account)).toBeCloseTo(before - 0.4, 9)
    for (const { socket } of [...waiting, late]) socket.destroy()
  })

  it('a mail with an idempotency key is deferred after a time: 451 4.4.5, and sent once', async () => {
    const { messages } = await stage.world.written(account)
    stage.outcomes.length = 0
    const client = await visit()
    await client.toData()
    const unlock = await lockAccount()
    const repeated = mail('X-Svc-Idempotency-Key: slow')
    expect(await client.say(repeated)).toMatch(/^451 4\.4\.5 The mail took too long/)
    await unlock()
    await client.toData()
    expect(await client.say(repeated)).toMatch(/^250 2\.6\.0 Queued as /)
    expect((await stage.world.written(account)).messages).toBe(messages + 1)
    expect(stage.outcomes).toStrictEqual(['deferred', 'accepted'])
    client.socket.destroy()
  })
})
