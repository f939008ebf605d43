import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decode } from '../../src/contract/endpoints/decode.ts'
import { messages } from '../../src/contract/resources/messages.ts'
import { createCore } from '../../src/core.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { connect } from '../../src/storage/sqlite/engine/connection.ts'
import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'
import { exported, imported } from './move.ts'

let folder: string
let database: TestDatabase
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-archive-'))
  database = await createEmptyDatabase()
})
afterEach(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const password = 'correct horse battery 1'

/** Opens the service, lets it work, closes it. */
async function at<T>(
  database_url: string,
  work: (core: Awaited<ReturnType<typeof createCore>>) => Promise<T>,
): Promise<T> {
  const core = await createCore({ database_url, threads: 0, signup_credits: '10' })
  try {
    return await work(core)
  } finally {
    await core.close()
  }
}

/** A mail to three recipients: one gets it, one bounces later, and one is rejected, which returns its share. */
const EMAILS = {
  emails: [
    {
      to: 'asha@example.com',
      channel: 'email' as const,
      content: {
        subject: 'Moving',
        text: 'Soon',
        cc: ['bounced@sandbox.svc'],
        bcc: ['invalid@sandbox.svc'],
      },
    },
  ],
}

describe('a service moved in the middle of its life', () => {
  it('goes on where it was: keys, balances, queue, idempotency and an append-only ledger', async () => {
    const sqlite = `file:${join(folder, 'svc.db')}`
    const request = decode(messages.send.body, {
      channel: 'sms',
      to: '+15005550006',
      content: { text: 'Moving' },
    })
    const before = await at(sqlite, async (core) => {
      const { id: workspace_id } = await core.workspaces.signup({
        email: 'ops@example.com',
        password,
        company_name: 'Example',
      })
      const { key } = await core.apiKeys.create(workspace_id, {
        name: 'main',
        mode: 'live',
        scopes: ['send_messages'],
      })
      const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
      const sent = await core.messages.send(identity, request, { idempotency_key: 'once' })
      const options = { idempotency_key: 'mails' }
      const mails = await core.messages.bulks.sendEmails(identity, EMAILS, options)
      const account = await core.workspaces.account(workspace_id)
      return { workspace_id, key, sent, mails, account }
    })

    const { bytes } = await exported(sqlite)
    await imported(database.url, bytes)
    await at(database.url, async (core) => {
      const { workspace_id, key, sent, mails, account } = before
      expect(await core.workspaces.account(workspace_id)).toEqual(account)
      await core.workspaces.login({ email: 'ops@example.com', password })
      const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
      const again = await core.messages.send(identity, request, { idempotency_key: 'once' })
      expect(again).toEqual({ data: sent.data, replayed: true })
      const options = { idempotency_key: 'mails' }
      expect(await core.messages.bulks.sendEmails(identity, EMAILS, options)).toEqual({
        data: mails.data,
        replayed: true,
      })

      const { message_id } = sent.data
      expect(await core.messages.get(workspace_id, message_id)).toMatchObject({ status: 'queued' })
      await core.startDispatch()
      const status = async () => (await core.messages.get(workspace_id, message_id)).status
      await expect.poll(status, { timeout: 20_000 }).toBe('delivered')
      const mail_id = mails.data.messages[0]?.message_id ?? ''
      const mail = () => core.messages.get(workspace_id, mail_id)
      await expect.poll(async () => (await mail()).status, { timeout: 20_000 }).toBe('delivered')
      expect((await mail()).recipients).toMatchObject([
        { address: 'asha@example.com', role: 'to', status: 'delivered' },
        { address: 'bounced@sandbox.svc', role: 'cc', status: 'failed', error_code: 'bounced' },
        { address: 'invalid@sandbox.svc', role: 'bcc', status: 'failed' },
      ])
      // The share of the rejected recipient.
      const after = await core.workspaces.account(workspace_id)
      expect(after.credits_balance - account.credits_balance).toBe(100_000)
    })
    expect(await verifyLedger(database.url)).toMatchObject({ ok: true })

    const client = await database.connect()
    await expect(client.query('update ledger_entries set amount = 5')).rejects.toThrow(
      'append-only',
    )

    await imported(`file:${join(folder, 'back.db')}`, (await exported(database.url)).bytes)
    const back = connect(join(folder, 'back.db'))
    expect(() => back.exec('delete from ledger_entries')).toThrow('append-only')
    const statuses = back.prepare('select status from messages').pluck().all()
    expect(statuses).toEqual(['delivered', 'delivered'])
    const recipients = back.prepare('select recipients from messages order by id').pluck().all()
    expect(recipients.map((text) => JSON.parse(`${text}`)?.length)).toEqual([undefined, 3])
    back.close()
    expect(await verifyLedger(`file:${join(folder, 'back.db')}`)).toMatchObject({ ok: true })
  })
})
