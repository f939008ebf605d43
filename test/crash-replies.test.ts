import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { verifyLedger } from '@svc/core/operate'
import { afterEach, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../packages/core/test/postgres-database.ts'
import { openReceiver } from '../packages/server/test/receiver.ts'
import { openVictims } from '../proof/crash/victim.ts'
import { signUp } from '../proof/stage/accounts.ts'
import { SIGNUP_CREDITS } from '../proof/stage/settings.ts'
import { ensureBuilt } from './built.ts'
import { bundledVictim } from './bundled.ts'

ensureBuilt()

const TEST_MAX_MS = 240_000

/** A recipient of the sandbox that answers each message. */
const TALKATIVE = '+15005550008'
/** The recipient of the replies, which does not answer. */
const SILENT = '+15005550006'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function openOwner(baseUrl: string) {
  const { owner, token } = await signUp(baseUrl, 'asha')
  const key = await owner.apiKeys.create({ name: 'signs', signs: true })
  return { owner, token, key }
}

/**
 * Ends the leases of a killed server, for which another one waits a minute: a short lease would also end in a slow process
 * that lives. On SQLite, a start ends them.
 */
async function endLeases(database: TestDatabase): Promise<void> {
  const client = await database.connect()
  const end = (queue: string) =>
    client.query(`update ${queue} set due_at = now() - interval '1 s' where token is not null`)
  await end('message_queue')
  expect((await end('delivery_queue')).rowCount).toBe(1)
  await client.query('update receiver_hosts set held_until = null')
}

describe.each(['SQLite', 'PostgreSQL'])(
  'a service with %s that sends replies in TwiML',
  (engine) => {
    it(
      'sends each reply once when it is killed before and after the commit of the first one',
      async () => {
        const folder = mkdtempSync(join(tmpdir(), 'svc-crash-replies-'))
        closers.push(async () => rmSync(folder, { recursive: true }))
        const database = engine === 'PostgreSQL' ? await createDatabase() : null
        if (database) closers.push(database.drop)
        const database_url = database?.url ?? `file:${join(folder, 'svc.db')}`
        // Each answer has other texts, to show from which one a reply is.
        const message = (text: string) => `<Message to="${SILENT}">${text}</Message>`
        const receiver = await openReceiver({
          type: 'text/xml',
          text() {
            const n = receiver.arrivals.length
            return `<Response>${message(`First of ${n}`)}${message(`Second of ${n}`)}</Response>`
          },
        })
        closers.push(receiver.close)
        const victims = openVictims({
          folder,
          entry: await bundledVictim(),
          node_args: [],
          env: { SVC_DATABASE_URL: database_url },
        })
        let victim = await victims.start()
        closers.push(() => victim.kill())
        const { owner, token, key } = await openOwner(victim.url)
        const { webhook } = await owner.webhooks.create({
          url: receiver.url,
          format: 'twilio',
          api_key_id: key.id,
          events: ['message.received'],
        })

        for (const [round, when] of (['before', 'after'] as const).entries()) {
          const { url } = victim
          // The client package would give this message a key, so that its commit would be the first one with a key.
          const provoke = () =>
            fetch(`${url}/api/v1/messages/send`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-api-key': key.key },
              body: JSON.stringify({ to: TALKATIVE, channel: 'sms', content: { text: 'Hi' } }),
            })
          const how = { provoke, within_ms: 30_000 }
          expect(await victim.killAtCommit({ commit: 'keyed', when }, how)).toBe(true)
          expect(receiver.arrivals).toHaveLength(2 * round + 1)
          if (database) await endLeases(database)
          victim = await victims.start()
          const client = new Svc({ baseUrl: victim.url, token })
          await expect
            .poll(async () => {
              const { deliveries } = await client.webhooks.deliveries(webhook.id)
              return deliveries.map(({ status }) => status)
            })
            .toEqual(Array.from({ length: round + 1 }, () => 'delivered'))
          expect(receiver.arrivals).toHaveLength(2 * round + 2)
        }

        const reader = new Svc({ baseUrl: victim.url, apiKey: key.key })
        const replies = async () => (await reader.messages.list({ recipient: SILENT })).messages
        await expect
          .poll(async () => (await replies()).map(({ status }) => status))
          .toEqual(Array.from({ length: 4 }, () => 'delivered'))
        // The first answer was lost with its process; of the third one, the first reply was stored.
        expect(
          (await replies()).map(({ content }) => (content as { text: string }).text).sort(),
        ).toEqual(['First of 2', 'First of 3', 'Second of 2', 'Second of 4'])
        const account = await new Svc({ baseUrl: victim.url, token }).workspaces.account()
        expect(account.credits_balance).toBe(SIGNUP_CREDITS - 2 - 4)
        expect(await verifyLedger(database_url)).toMatchObject({ ok: true, differences: [] })
      },
      TEST_MAX_MS,
    )
  },
)
