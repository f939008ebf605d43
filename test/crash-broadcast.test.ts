import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Svc } from '@svc/client'
import { verifyLedger } from '@svc/core/operate'
import { afterEach, describe, expect, it } from 'vitest'
import { createDatabase } from '../packages/core/test/postgres-database.ts'
import { openVictims } from '../proof/crash/victim.ts'
import { signUp } from '../proof/stage/accounts.ts'
import { SIGNUP_CREDITS } from '../proof/stage/settings.ts'
import { ensureBuilt } from './built.ts'
import { bundledVictim } from './bundled.ts'

ensureBuilt()

const TEST_MAX_MS = 240_000

const CONTACTS = 80
/** A step has 8 MB of contents: so it has some twenty contacts, and a round has several steps. */
const TEXT = 'Hi {{name}} '.padEnd(400_000, '.')

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

describe.each(['SQLite', 'PostgreSQL'])('a broadcast of a service with %s', (engine) => {
  it(
    'sends each contact one message when the service is killed again and again',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-crash-broadcast-'))
      closers.push(async () => rmSync(folder, { recursive: true }))
      const database = engine === 'PostgreSQL' ? await createDatabase() : null
      if (database) closers.push(database.drop)
      const database_url = database?.url ?? `file:${join(folder, 'svc.db')}`
      const victims = openVictims({
        folder,
        entry: await bundledVictim(),
        node_args: [],
        env: { SVC_DATABASE_URL: database_url },
      })
      let victim = await victims.start()
      closers.push(() => victim.kill())
      const { owner, token } = await signUp(victim.url, 'asha')
      const { key: apiKey } = await owner.apiKeys.create({ name: 'live' })
      const client = () => new Svc({ baseUrl: victim.url, apiKey, token })
      const first = client()
      await first.templates.create({
        name: 'news',
        variants: [{ channel: 'email', locale: 'en', content: { subject: 'News', text: TEXT } }],
      })
      await first.templates.publish('news', {})
      const emails = Array.from({ length: CONTACTS }, (_, i) => `n${i}@example.com`)
      for (const [i, email] of emails.entries()) {
        await first.contacts.create({ name: `N${i}`, email, tags: ['all'] })
      }
      const { broadcast } = await first.broadcasts.create({
        ...{ channel: 'email', template: { name: 'news' }, audience: { tags: ['all'] } },
        draft: true,
      })
      const { id } = broadcast
      const shown = async () => (await client().broadcasts.get(id)).broadcast

      const commit = 'broadcast_step'
      const within_ms = 60_000
      const begin = () => new Svc({ baseUrl: victim.url, apiKey }).broadcasts.resume(id)
      const first_death = { commit, when: 'before' } as const
      expect(await victim.killAtCommit(first_death, { provoke: begin, within_ms })).toBe(true)
      // The others are armed before they start: a service that is armed later may have finished the broadcast by then.
      for (const when of ['after', 'before', 'after'] as const) {
        expect(await victims.startUntilCommit({ commit, when }, within_ms)).toBe(true)
      }
      // At any moment of the next steps: a service looks for them a second after its start.
      victim = await victims.start()
      await pause(1_100)
      await victim.kill()
      victim = await victims.start()
      await expect
        .poll(async () => (await shown()).status, { timeout: 90_000, interval: 200 })
        .toBe('finished')
      expect((await shown()).counts).toMatchObject({ contacts: CONTACTS, accepted: CONTACTS })

      const recipients: string[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<Svc['messages']['list']>> = await client().messages.list({
          limit: 20,
          ...(cursor !== null && { cursor }),
        })
        recipients.push(...page.messages.map(({ recipient }) => recipient))
        cursor = page.next_cursor
      } while (cursor !== null)
      expect(recipients.toSorted()).toEqual(emails.toSorted())
      const { credits_balance } = await client().workspaces.account()
      expect(SIGNUP_CREDITS - credits_balance).toBeCloseTo(CONTACTS * 0.1, 6)
      expect(await verifyLedger(database_url)).toMatchObject({ ok: true, differences: [] })
    },
    TEST_MAX_MS,
  )
})
