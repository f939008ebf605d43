import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { KeyIdentity } from '../src/api-keys/api-keys.ts'
import type { Receipt, Report } from '../src/contract/outside/provider.ts'
import { type Core, createCore } from '../src/core.ts'
import type { Dispatcher } from '../src/dispatch/dispatcher.ts'
import { defineProvider } from '../src/provider.ts'
import { exported, rowsOf } from './archive/move.ts'
import { testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'
import { createDatabase, type TestDatabase } from './postgres-database.ts'

/** Ten digits, so that no id or time has them by chance. */
const LENGTH = 10

describe.each(['SQLite', 'PostgreSQL'])('on %s', (engine) => {
  let database: TestDatabase | null = null
  let folder: string
  let url: string
  let core: Core
  let dispatcher: Dispatcher
  let workspaceId: string
  let live: KeyIdentity
  let clock: ReturnType<typeof testRuntime>
  let logged: string[]
  let events: string[]
  /** The texts that the provider got, by message. */
  let sent: Map<string, string>
  let receive: (reports: readonly Report[]) => Promise<void>

  beforeAll(async () => {
    if (engine === 'PostgreSQL') database = await createDatabase()
  })
  afterAll(() => database?.drop())

  beforeEach(async () => {
    await database?.clear()
    folder = await migratedFolder('svc-code-leaks-')
    url = database?.url ?? `file:${join(folder, 'svc.db')}`
    clock = testRuntime('leaks')
    logged = []
    events = []
    sent = new Map()
    const note = (fields: object, text: string) => void logged.push(JSON.stringify([fields, text]))
    const provider = defineProvider({
      name: 'carrier',
      traits: { channels: ['sms', 'voice'] },
      async send(jobs) {
        return jobs.map(({ message_id, recipient, content }) => {
          const { text = '' } = content as { text?: string }
          sent.set(message_id, text)
          const quoted = { error_code: 'spam', error_message: `refused: "${text}"` }
          if (recipient.endsWith('1')) return { type: 'rejected', ...quoted } as const
          const lookup_after_ms = recipient.endsWith('2') ? 1_000 : null
          return { type: 'accepted', provider_message_id: message_id, lookup_after_ms } as const
        })
      },
      async lookup(jobs) {
        return jobs.map(({ message_id }) => ({
          type: 'found' as const,
          receipts: [failureOf(message_id)],
          replies: [],
          lookup_after_ms: null,
        }))
      },
      listen(sink) {
        receive = (reports) => sink.receive(reports)
        return { states: () => [], async close() {} }
      },
    })
    core = await createCore({
      database_url: url,
      signup_credits: '1000',
      runtime: { ...clock, log: { debug: note, info: note, warn: note, error: note } },
      threads: 0,
      require_secrets_keys: false,
      providers: [provider],
    })
    dispatcher = await core.startDispatch()
    for (const name of ['message.sent', 'message.failed', 'verification.approved'] as const) {
      core.on(name, (event) => void events.push(JSON.stringify(event)))
    }
    workspaceId = (
      await core.workspaces.signup({
        email: 'ops@fixture-mail.dev',
        password: 'correct horse battery',
        company_name: 'Acme',
      })
    ).id
    const scopes = ['send_messages', 'read_messages'] as const
    const { key } = await core.apiKeys.create(workspaceId, {
      ...{ name: 'live', mode: 'live', scopes: [...scopes] },
    })
    live = await core.apiKeys.authenticate(key, '127.0.0.1')
  })
  afterEach(async () => {
    await core.close()
    rmSync(folder, { recursive: true })
  })

  /** A receipt that quotes the message, as some carriers write it. */
  function failureOf(message_id: string): Receipt {
    return {
      ...{ status: 'failed', provider_message_id: message_id, error_code: 'undelivered' },
      error_message: `text:${sent.get(message_id)}`,
    }
  }

  async function start(to: string, channel: 'sms' | 'voice' = 'sms') {
    const { data } = await core.verifications.start(live, { to, channel, code_length: LENGTH })
    await dispatcher.idle()
    const digits = sent.get(data.message_id)?.replace(/(?<=\d), (?=\d)/g, '') ?? ''
    return { ...data, code: /\d{10}/.exec(digits)?.[0] ?? '' }
  }

  test('a code is nowhere but in the message that the provider gets', async () => {
    const rejected = await start('+255712345671')
    const lookedUp = await start('+255712345672')
    const reported = await start('+255712345673')
    const called = await start('+255712345674', 'voice')
    const approved = await start('+255712345675')
    const all = [rejected, lookedUp, reported, called, approved]
    for (const { code } of all) expect(code).toMatch(/^\d{10}$/)
    clock.advance(2_000)
    await vi.waitFor(async () => {
      dispatcher.wake()
      await dispatcher.idle()
      const { status } = await core.messages.get(workspaceId, lookedUp.message_id)
      expect(status).toBe('failed')
    }, 20_000)
    const receipts = [reported, called].map(({ message_id }): Report => {
      const about = { workspace_id: workspaceId, message_id }
      const receipt = failureOf(message_id)
      return { type: 'receipt', about, provider_message_id: message_id, receipt }
    })
    await receive(receipts)
    // These wait until their message is known, without what may be a code.
    const early = [reported, called].map(({ message_id }): Report => {
      const receipt = failureOf(message_id)
      return { type: 'receipt', about: null, provider_message_id: 'not-known-yet', receipt }
    })
    await receive(early)
    const of = { code: approved.code }
    expect(await core.verifications.check(live, approved.verification_id, of)).toMatchObject({
      status: 'approved',
    })
    await dispatcher.idle()

    const shown: unknown[] = [
      await core.messages.list(workspaceId, {}),
      await core.verifications.list(workspaceId, {}),
      await core.verifications.stats(workspaceId, {}),
      await core.messages.list(workspaceId, { search: approved.code } as never),
    ]
    for (const { message_id, verification_id } of all) {
      shown.push(await core.messages.get(workspaceId, message_id))
      shown.push(await core.messages.timeline(workspaceId, message_id))
      shown.push(await core.verifications.get(workspaceId, verification_id))
    }
    const failed = [rejected, lookedUp, reported].map(({ message_id }) => message_id)
    for (const id of failed) {
      const { status, error_message } = await core.messages.get(workspaceId, id)
      expect([status, error_message]).toEqual(['failed', expect.stringContaining('••••••••••')])
    }
    const stored = await rowsOf(url)
    expect(JSON.stringify(stored.parked_receipts)).toContain('text:')
    const places = {
      rows: JSON.stringify(stored),
      archive: gunzipSync((await exported(url, { snapshot: true })).bytes).toString(),
      log: logged.join('\n'),
      events: events.join('\n'),
      answers: JSON.stringify(shown),
    }
    for (const [place, text] of Object.entries(places)) {
      expect(text, place).toContain(place === 'log' ? 'message.attempted' : '+255712345671')
      for (const { code } of all) {
        expect(text.includes(code), `${code} in ${place}`).toBe(false)
        expect(text.includes([...code].join(', ')), `${code} in ${place}, as it is read`).toBe(
          false,
        )
      }
    }
  })
})
