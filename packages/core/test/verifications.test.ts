import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../src/api-keys/api-keys.ts'
import { LIMITS } from '../src/contract/limits.ts'
import { type Core, createCore } from '../src/core.ts'
import type { Dispatcher } from '../src/dispatch/dispatcher.ts'
import { defineProvider } from '../src/provider.ts'
import { codeOf } from '../src/secrets/codes.ts'
import { Sqlite } from '../src/storage/sqlite/engine/connection.ts'
import { countTelemetry } from './count-telemetry.ts'
import { testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'

const TO = '+255712345678'
const HOUR_MS = 3_600_000

describe('one-time codes', () => {
  let folder: string
  let core: Core
  let clock: ReturnType<typeof testRuntime>
  let counted: ReturnType<typeof countTelemetry>
  let dispatcher: Dispatcher
  /** What the provider got, as JSON. */
  let sent: { to: string; text: string }[]
  /** What the provider answers. */
  let outcome: 'accepted' | 'rejected'
  /** The provider answers after this. */
  let answering: Promise<void>
  let workspaceId: string
  let live: KeyIdentity
  let test: KeyIdentity

  beforeEach(async () => {
    folder = await migratedFolder('svc-verifications-')
    clock = testRuntime('verifications')
    counted = countTelemetry()
    sent = []
    outcome = 'accepted'
    answering = Promise.resolve()
    await open(['sms', 'voice', 'email'])
    workspaceId = (
      await core.workspaces.signup({
        email: 'ops@fixture-mail.dev',
        password: 'correct horse battery',
        company_name: 'Acme',
      })
    ).id
    live = await keyOf(workspaceId, 'live')
    test = await keyOf(workspaceId, 'test')
  })
  afterEach(async () => {
    await core.close()
    rmSync(folder, { recursive: true })
  })

  /** Starts the service with a provider for these channels. */
  async function open(channels: ('sms' | 'voice' | 'email')[]): Promise<void> {
    const provider = defineProvider({
      name: 'carrier',
      traits: { channels },
      async send(messages) {
        await answering
        return messages.map(({ recipient, content, message_id }) => {
          const { text = '' } = content as { text?: string }
          if (outcome === 'rejected') {
            return { type: 'rejected', error_code: '21610', error_message: 'unreachable' } as const
          }
          sent.push({ to: recipient, text })
          return {
            type: 'accepted',
            provider_message_id: message_id,
            lookup_after_ms: null,
          } as const
        })
      },
    })
    core = await createCore({
      database_url: `file:${join(folder, 'svc.db')}`,
      signup_credits: '1000',
      runtime: { ...clock, telemetry: counted.telemetry },
      threads: 0,
      require_secrets_keys: false,
      verification_retention_days: 2,
      providers: [provider],
    })
    dispatcher = await core.startDispatch()
  }

  async function keyOf(id: string, mode: 'live' | 'test'): Promise<KeyIdentity> {
    const scopes = ['send_messages', 'read_messages'] as const
    const { key } = await core.apiKeys.create(id, { name: mode, mode, scopes: [...scopes] })
    return core.apiKeys.authenticate(key, '127.0.0.1')
  }
  const start = async (identity: KeyIdentity, to = TO, more: object = {}) =>
    (await core.verifications.start(identity, { to, channel: 'sms', ...more })).data
  /** The digits of the last message that the provider got. */
  async function lastCode(): Promise<string> {
    await dispatcher.idle()
    return /\d{4,10}/.exec(sent.at(-1)?.text ?? '')?.[0] ?? ''
  }
  /** Runs a statement on the file of the service. */
  function editDatabase(sql: string): unknown[] {
    const database = new Sqlite(join(folder, 'svc.db'))
    try {
      const statement = database.prepare(sql)
      return statement.reader ? statement.all() : [statement.run()]
    } finally {
      database.close()
    }
  }
  const wrongFor = (code: string) =>
    code.replace(/\d/g, (digit) => String((Number(digit) + 1) % 10))

  it('sends a code, and approves it once', async () => {
    const begun = await start(live, TO, { metadata: { user: 'U7' } })
    expect(begun).toMatchObject({ status: 'pending', to: TO, channel: 'sms', attempts_left: 5 })
    expect(begun).not.toHaveProperty('test_code')
    const code = await lastCode()
    expect(code).toMatch(/^\d{6}$/)
    const message = await core.messages.get(workspaceId, begun.message_id)
    expect(message.status).toBe('sent')
    expect(JSON.stringify(message.content)).toContain('••••••')
    expect(Object.keys(message.content)).toEqual(['text'])
    const wrong = await core.verifications.check(live, begun.verification_id, {
      code: wrongFor(code),
    })
    expect(wrong).toEqual({
      verification_id: begun.verification_id,
      status: 'pending',
      attempts_left: 4,
    })
    const spaced = `${code.slice(0, 3)} ${code.slice(3)}`
    expect(await core.verifications.checkAddress(live, { to: TO, code: spaced })).toMatchObject({
      status: 'approved',
    })
    await expect(
      core.verifications.check(live, begun.verification_id, { code }),
    ).rejects.toMatchObject({ code: 'not_found', message: /approved before/ })
    expect(await core.verifications.get(workspaceId, begun.verification_id)).toMatchObject({
      status: 'approved',
      attempts: 1,
      metadata: { user: 'U7' },
    })
  })

  it('is approved without its code, once, with an event', async () => {
    const events: object[] = []
    core.on('verification.approved', ({ data }) => {
      events.push(data)
    })
    const { verification_id } = await start(live)
    const code = await lastCode()
    await expect(core.verifications.approve(test, verification_id)).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await core.verifications.approve(live, verification_id)).toMatchObject({
      status: 'approved',
      attempts_left: 0,
      ended_at: clock.now(),
    })
    const again = core.verifications.approve(live, verification_id)
    await expect(again).rejects.toMatchObject({ code: 'validation_error', message: /approved/ })
    await expect(core.verifications.check(live, verification_id, { code })).rejects.toMatchObject({
      code: 'not_found',
    })
    await expect
      .poll(() => events)
      .toEqual([expect.objectContaining({ verification_id, status: 'approved' })])
    const late = await start(live, '+255712345679')
    clock.step(600_000)
    const expired = core.verifications.approve(live, late.verification_id)
    await expect(expired).rejects.toMatchObject({ code: 'validation_error', message: /expired/ })
  })

  it('is in no file of the database', async () => {
    await start(live, TO, { code_length: 10 })
    const code = await lastCode()
    expect(code).toMatch(/^\d{10}$/)
    for (const file of readdirSync(folder)) {
      expect(readFileSync(join(folder, file)).includes(code)).toBe(false)
    }
    expect(readFileSync(join(folder, 'svc.db-wal')).includes(TO)).toBe(true)
  })

  it('approves no code of a discarded key, and sends codes with a new one', async () => {
    const { verification_id } = await start(live)
    const code = await lastCode()
    await core.verifications.check(live, verification_id, { code: wrongFor(code) })
    editDatabase("delete from secrets where name = 'codes'")
    clock.advance(1_000)
    expect(await core.verifications.check(live, verification_id, { code })).toMatchObject({
      status: 'pending',
    })
    const other = await start(live, '+255712345679')
    expect(
      await core.verifications.check(live, other.verification_id, { code: await lastCode() }),
    ).toMatchObject({ status: 'approved' })
  })

  it('approves nothing without a key, which a copy of the database could compute', async () => {
    const { verification_id } = await start(live)
    await dispatcher.idle()
    const [row] = editDatabase('select seed, code_length as length from verifications') as {
      seed: string
      length: number
    }[]
    editDatabase("delete from secrets where name = 'codes'")
    clock.advance(1_000)
    const code = codeOf('', row as { seed: string; length: number })
    expect(await core.verifications.check(live, verification_id, { code })).toMatchObject({
      status: 'pending',
    })
  })

  it('gives the same code by another channel, digit by digit in a call', async () => {
    const begun = await start(live)
    const code = await lastCode()
    clock.step(LIMITS.verification_cooldown_s * 1000)
    const { data: again } = await core.verifications.resend(live, begun.verification_id, {
      channel: 'voice',
    })
    expect(again).toMatchObject({ verification_id: begun.verification_id, channel: 'voice' })
    await dispatcher.idle()
    expect(sent.at(-1)?.text).toContain([...code].join(', '))
    expect(await core.verifications.get(workspaceId, begun.verification_id)).toMatchObject({
      messages_sent: 2,
      channel: 'voice',
    })
    await expect(
      core.verifications.resend(live, begun.verification_id, { channel: 'email' }),
    ).rejects.toMatchObject({ code: 'validation_error' })
  })

  describe('with further channels', () => {
    const EMAIL = 'Asha@example.com'
    const FALLBACK = [{ channel: 'voice' }, { channel: 'email', to: EMAIL }]
    const WAIT_MS = LIMITS.verification_fallback_s * 1000
    const shown = (id: string) => core.verifications.get(workspaceId, id)
    const addresses = () => sent.map(({ to }) => to)

    it('sends the same code by each when no receipt arrives, and each is paid', async () => {
      const { verification_id } = await start(live, TO, { fallback: FALLBACK })
      const code = await lastCode()
      expect(await shown(verification_id)).toMatchObject({
        fallback: [
          { channel: 'voice', to: TO },
          { channel: 'email', to: 'asha@example.com' },
        ],
        next_fallback_at: new Date(clock.now().getTime() + WAIT_MS),
      })
      clock.step(WAIT_MS - 1)
      await dispatcher.idle()
      expect(addresses()).toEqual([TO])
      clock.step(1)
      await dispatcher.idle()
      expect(addresses()).toEqual([TO, TO])
      expect(sent.at(-1)?.text).toContain([...code].join(', '))
      clock.step(WAIT_MS)
      await dispatcher.idle()
      expect(addresses()).toEqual([TO, TO, EMAIL])
      clock.step(WAIT_MS)
      await dispatcher.idle()
      const record = await shown(verification_id)
      expect(record).toMatchObject({
        channel: 'email',
        messages: [
          { channel: 'sms', to: TO },
          { channel: 'voice', to: TO },
          { channel: 'email', to: 'asha@example.com' },
        ],
        messages_sent: 3,
        fallback: [],
        next_fallback_at: null,
      })
      const used = await Promise.all(
        record.messages.map(async ({ message_id }) => {
          const { credits_used } = await core.messages.get(workspaceId, message_id)
          return credits_used
        }),
      )
      expect(record.credits_used).toBeCloseTo(used.reduce((a, b) => a + b, 0))
      expect(await core.verifications.check(live, verification_id, { code })).toMatchObject({
        status: 'approved',
      })
      expect(await core.verifications.stats(live, {})).toMatchObject({
        countries: [{ country: 'TZ', sent: 2, approved: 1 }],
      })
    })

    it('says for how long the code is still valid, in each message', async () => {
      const minutes = () => Number(/(\d+) minutes?\b/.exec(sent.at(-1)?.text ?? '')?.[1])
      const long = {
        expires_in: 3600,
        fallback_after: 600,
        fallback: [{ channel: 'email', to: EMAIL }],
      }
      const { verification_id: id, expires_at } = await start(live, TO, long)
      await dispatcher.idle()
      expect(minutes()).toBe(60)
      clock.step(600_000)
      await dispatcher.idle()
      expect([addresses().at(-1), minutes()]).toEqual([EMAIL, 50])
      clock.step(10 * 60_000 + 1_000)
      await core.verifications.resend(live, id, { channel: 'sms' })
      await dispatcher.idle()
      expect(minutes()).toBe(39)
      clock.step(39 * 60_000 - 30_000)
      const last = await core.verifications.resend(live, id, { channel: 'sms' })
      await dispatcher.idle()
      expect([minutes(), last.data.expires_at]).toEqual([1, expires_at])
      const other = [{ channel: 'email', to: 'juma@example.com' }]
      const short = { expires_in: 200, fallback: other }
      await start(live, '+255712345679', short)
      await dispatcher.idle()
      expect(minutes()).toBe(3)
      const end = clock.now().getTime() + 200_000
      clock.step(WAIT_MS)
      await dispatcher.idle()
      expect([addresses().at(-1), minutes()]).toEqual(['juma@example.com', 2])
      // A message is not sent after the end of its code.
      const rows = editDatabase(
        "select expires_at from messages where recipient in ('+255712345679', 'juma@example.com')",
      )
      expect(rows).toEqual([{ expires_at: end }, { expires_at: end }])
    })

    it('uses the requested language for each, and shows that of the last text', async () => {
      const asked = { channel: 'voice', locale: 'sw', fallback: [{ channel: 'sms' }] }
      const { verification_id: id } = await start(live, TO, asked)
      await dispatcher.idle()
      // No provider has a voice for Swahili.
      expect(sent.at(-1)?.text).toContain('code is')
      expect(await shown(id)).toMatchObject({ channel: 'voice', locale: 'en' })
      clock.step(WAIT_MS)
      await dispatcher.idle()
      expect(sent.at(-1)?.text).toContain('nambari')
      expect(await shown(id)).toMatchObject({ channel: 'sms', locale: 'sw' })
      clock.step(2 * WAIT_MS)
      await core.verifications.resend(live, id, { channel: 'voice' })
      expect(await shown(id)).toMatchObject({ channel: 'voice', locale: 'en' })
      clock.step(4 * WAIT_MS)
      await core.verifications.resend(live, id, { channel: 'sms' })
      expect(await shown(id)).toMatchObject({ channel: 'sms', locale: 'sw' })
    })

    it('continues at once when the message failed', async () => {
      outcome = 'rejected'
      const { verification_id } = await start(live, TO, { fallback: [{ channel: 'voice' }] })
      await dispatcher.idle()
      outcome = 'accepted'
      await dispatcher.idle()
      const { messages } = await shown(verification_id)
      expect(messages.map(({ channel }) => channel)).toEqual(['sms', 'voice'])
    })

    it.each(['approved', 'canceled', 'expired'])('stops when it is %s', async (end) => {
      const { verification_id: id } = await start(live, TO, {
        fallback: FALLBACK,
        expires_in: 61,
      })
      const code = await lastCode()
      if (end === 'approved') await core.verifications.check(live, id, { code })
      if (end === 'canceled') await core.verifications.cancel(live, id)
      clock.step(end === 'expired' ? 61_000 : WAIT_MS)
      await dispatcher.idle()
      expect(addresses()).toEqual([TO])
      expect(await shown(id)).toMatchObject({ status: end, next_fallback_at: null })
    })

    it('stops when the message is delivered', async () => {
      const { verification_id } = await start(test, '+15005550006', {
        fallback: [{ channel: 'voice' }],
      })
      await dispatcher.idle()
      const [first] = (await shown(verification_id)).messages
      await expect
        .poll(async () => {
          await dispatcher.idle()
          return (await core.messages.get(workspaceId, first?.message_id ?? '')).status
        })
        .toBe('delivered')
      clock.step(WAIT_MS)
      await dispatcher.idle()
      expect(await shown(verification_id)).toMatchObject({
        messages_sent: 1,
        next_fallback_at: null,
      })
    })

    it('skips a channel that is refused', async () => {
      await core.suppressions.add(workspaceId, { channel: 'voice', address: TO })
      const { verification_id } = await start(live, TO, { fallback: FALLBACK })
      clock.step(WAIT_MS)
      await dispatcher.idle()
      await dispatcher.idle()
      const { messages } = await shown(verification_id)
      expect(messages.map(({ channel }) => channel)).toEqual(['sms', 'email'])
    })

    it('skips a call while no provider makes calls', async () => {
      const { verification_id } = await start(live, TO, { fallback: FALLBACK })
      await dispatcher.idle()
      await core.close()
      await open(['sms', 'email'])
      clock.step(WAIT_MS)
      await dispatcher.idle()
      await dispatcher.idle()
      const { messages } = await shown(verification_id)
      expect(messages.map(({ channel }) => channel)).toEqual(['sms', 'email'])
      const fault = 'Invalid channel. Must be one of: sms, whatsapp, email'
      await expect(start(live, TO, { channel: 'voice' })).rejects.toThrow(fault)
      expect(await start(test, TO, { channel: 'voice' })).toMatchObject({ channel: 'voice' })
    })

    it('sends nothing more with a key that was deactivated', async () => {
      const { key, id } = await core.apiKeys.create(workspaceId, {
        name: 'short',
        mode: 'live',
        scopes: ['send_messages'],
      })
      const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
      const { verification_id } = await start(identity, TO, { fallback: FALLBACK })
      await core.apiKeys.deactivate(workspaceId, id)
      clock.step(WAIT_MS)
      await dispatcher.idle()
      expect(await shown(verification_id)).toMatchObject({ messages_sent: 1, fallback: [] })
    })

    it('holds the limits of the second address', async () => {
      const step = [{ channel: 'email', to: EMAIL }]
      for (let n = 0; n <= LIMITS.verification_sends_per_hour; n++) {
        await start(live, `+25571234500${n}`, { fallback: step })
        clock.step(WAIT_MS)
        await dispatcher.idle()
      }
      expect(addresses().filter((to) => to === EMAIL)).toHaveLength(
        LIMITS.verification_sends_per_hour,
      )
    })

    it('holds the limits of the second address for parallel resends', async () => {
      const victim = '+255712345999'
      const begun = []
      for (let n = 0; n < 12; n++) {
        const fallback = [{ channel: 'sms', to: victim }]
        const more = { channel: 'email', fallback, fallback_after: 300 }
        begun.push(await start(live, `asha${n}@example.com`, more))
      }
      clock.step(LIMITS.verification_cooldown_s * 1000)
      const results = await Promise.allSettled(
        begun.map(({ verification_id: id }) =>
          core.verifications.resend(live, id, { channel: 'sms' }),
        ),
      )
      const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
      expect(refused).toHaveLength(12 - LIMITS.verification_sends_per_hour)
      for (const one of refused) expect(one).toMatchObject({ reason: 'codes_of_address' })
      await dispatcher.idle()
      expect(addresses().filter((to) => to === victim)).toHaveLength(
        LIMITS.verification_sends_per_hour,
      )
    })

    it('begins anew for another second address', async () => {
      const step = (to: string) => ({ fallback: [{ channel: 'email', to }] })
      const first = await start(live, TO, step('asha@example.com'))
      clock.step(WAIT_MS)
      const second = await start(live, TO, step('other@example.com'))
      expect(second.verification_id).not.toBe(first.verification_id)
      expect(await shown(first.verification_id)).toMatchObject({ status: 'canceled' })
    })

    it.each([
      [{ fallback: [] }, 'fallback'],
      [{ fallback: [{ channel: 'email' }] }, 'fallback.0.to'],
      [{ fallback: [{ channel: 'email', to: TO }] }, 'fallback.0.to'],
      [{ fallback: [{ channel: 'voice', to: '+255712345679' }] }, 'fallback.0.to'],
      [
        {
          fallback: [
            { channel: 'email', to: 'a@example.com' },
            { channel: 'email', to: 'b@example.com' },
          ],
        },
        'fallback.1.to',
      ],
      [{ fallback: [{ channel: 'voice' }], fallback_after: 9 }, 'fallback_after'],
      [{ fallback: [{ channel: 'voice' }], fallback_after: 60, expires_in: 60 }, 'fallback_after'],
    ])('refuses %j', async (more, path) => {
      await expect(start(live, TO, more)).rejects.toMatchObject({
        code: 'validation_error',
        details: [{ path }],
      })
    })
  })

  it('has the sender of each start for its channel only', async () => {
    const senders = () =>
      editDatabase('select channel, sender from messages order by id').map((row) =>
        Object.values(row as object).join(' '),
      )
    const { verification_id: id } = await start(live, TO, { from: 'Acme' })
    clock.step(31_000)
    const again = { to: TO, channel: 'voice', from: '+255222000000' } as const
    expect((await core.verifications.start(live, again)).data.verification_id).toBe(id)
    clock.step(61_000)
    await core.verifications.resend(live, id, { channel: 'sms' })
    clock.step(121_000)
    await core.verifications.resend(live, id, { channel: 'voice' })
    expect(senders()).toEqual(['sms Acme', 'voice +255222000000', 'sms ', 'voice +255222000000'])
  })

  it('costs nothing and sends nothing while a code was just sent', async () => {
    const first = await start(live)
    const second = await start(live)
    expect(second).toEqual({ ...first, credits_used: 0 })
    expect(await core.messages.list(workspaceId, {})).toMatchObject({ total: 1 })
    expect(await core.billing.transactions(workspaceId, { limit: 10, offset: 0 })).toMatchObject({
      total: 2,
    })
  })

  it('repeats the answer for an Idempotency-Key, whatever happened since', async () => {
    const request = { to: TO, channel: 'sms' as const }
    const options = { idempotency_key: 'login-1' }
    const first = await core.verifications.start(live, request, options)
    clock.step(120_000)
    expect(await core.verifications.start(live, request, options)).toEqual({
      data: first.data,
      replayed: true,
    })
    await expect(
      core.verifications.start(live, { ...request, to: '+255712345679' }, options),
    ).rejects.toMatchObject({ code: 'validation_error' })
  })

  it('is sent again once for an Idempotency-Key, also at the same time', async () => {
    const { verification_id: id } = await start(live)
    clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = (request: { channel?: 'voice' } = {}) =>
      core.verifications.resend(live, id, request, { idempotency_key: 'again-1' })
    const answers = await Promise.all([again(), again(), again()])
    expect(answers.map(({ replayed }) => replayed).sort()).toEqual([false, true, true])
    const [{ data }] = answers
    expect(answers.map((one) => one.data)).toEqual([data, data, data])
    expect(data).toMatchObject({ verification_id: id, to: TO, credits_used: 1_000_000 })
    // The key repeats its answer also after the wait, and after the end; another request is refused.
    clock.step(10 * 60_000)
    expect(await again()).toEqual({ data, replayed: true })
    await expect(again({ channel: 'voice' })).rejects.toMatchObject({ code: 'validation_error' })
    const started = await core.verifications.start(
      live,
      { to: '+255712345679', channel: 'sms' },
      { idempotency_key: 'again-1' },
    )
    expect(started.replayed).toBe(false)
    expect(await core.verifications.get(live, id)).toMatchObject({ messages_sent: 2 })
    expect(await core.messages.list(workspaceId, {})).toMatchObject({ total: 3 })
    expect((await core.workspaces.account(workspaceId)).credits_balance).toBe(997_000_000)
  })

  it('is counted for metrics: starts, checks, approvals, refusals and paused countries', async () => {
    const ours = () =>
      Object.fromEntries(Object.entries(counted.counts).filter(([name]) => name.startsWith('code')))
    const { verification_id: id } = await start(live)
    const code = await lastCode()
    await core.verifications.check(live, id, { code: wrongFor(code) })
    await core.verifications.check(live, id, { code })
    await expect(core.verifications.check(live, id, { code })).rejects.toThrow()
    await expect(core.verifications.check(test, id, { code })).rejects.toThrow()
    const mail = await core.verifications.start(live, { to: 'a@example.com', channel: 'email' })
    await core.verifications.approve(live, mail.data.verification_id)
    const tried = await start(test)
    await core.verifications.approve(workspaceId, tried.verification_id)
    clock.step(LIMITS.verification_cooldown_s * 1000)
    await core.workspaces.update(workspaceId, { verification_countries: ['DE'] })
    await expect(start(live)).rejects.toThrow()
    expect(ours()).toEqual({
      'codeStarted sms live': 1,
      'codeStarted email live': 1,
      'codeStarted sms test': 1,
      'codeChecked pending live': 1,
      'codeChecked approved live': 1,
      'codeChecked used live': 1,
      'codeChecked not_found test': 1,
      'codeApproved sms live': 1,
      'codeApproved email live': 1,
      'codeApproved sms test': 1,
      'codeRefused codes_country live': 1,
    })
    const paused = async () => (await core.overviews.overview()).paused_countries
    await core.workspaces.update(workspaceId, { verification_countries: null })
    for (let n = 0; n < 60; n++) {
      await start(live, `+2557${String(n).padStart(8, '0')}`).catch(() => null)
    }
    expect(await paused()).toBe(1)
    expect(ours()['codeRefused codes_paused live']).toBeGreaterThan(0)
    await core.verifications.allow(workspaceId, 'TZ', 1)
    expect(await paused()).toBe(0)
  })

  it('cancels its queued message, which is refunded', async () => {
    await dispatcher.stop(0)
    const { verification_id, message_id } = await start(live)
    await core.verifications.cancel(live, verification_id)
    expect(await core.messages.get(workspaceId, message_id)).toMatchObject({
      status: 'failed',
      error_code: 'canceled',
      credits_refunded: 1_000_000,
    })
    expect((await core.workspaces.account(workspaceId)).credits_balance).toBe(1_000_000_000)
  })

  describe('with a message that waits', () => {
    const balance = async () => (await core.workspaces.account(workspaceId)).credits_balance
    /** A queued message of a code that ended: it failed, and its credit is there again. */
    const expectCanceled = async (...ids: string[]) => {
      for (const id of ids) {
        const message = await core.messages.get(workspaceId, id)
        expect(message).toMatchObject({ status: 'failed', error_code: 'canceled' })
        expect(message.credits_refunded).toBe(message.credits_used)
      }
    }
    beforeEach(() => dispatcher.stop(0))

    it('cancels it when a start with another length begins another code', async () => {
      const first = await start(live)
      clock.step(LIMITS.verification_cooldown_s * 1000)
      const second = await start(live, TO, { code_length: 8 })
      expect(second.verification_id).not.toBe(first.verification_id)
      await expectCanceled(first.message_id)
      expect(await core.messages.get(workspaceId, second.message_id)).toMatchObject({
        status: 'queued',
      })
      expect(await balance()).toBe(999_000_000)
    })

    it.each([0, 1])('cancels it after too many wrong codes, also with %i resends', async (more) => {
      const { verification_id: id, message_id } = await start(live)
      const ids = [message_id]
      for (let n = 0; n < more; n++) {
        clock.step(LIMITS.verification_cooldown_s * 1000)
        ids.push((await core.verifications.resend(live, id, {})).data.message_id)
      }
      const statuses: string[] = []
      for (let n = 0; n < LIMITS.verification_attempts; n++) {
        const right = await core.verifications.check(live, id, { code: '12345' })
        statuses.push(right.status)
      }
      expect(statuses.at(-1)).toBe('max_attempts')
      await expectCanceled(...ids)
      expect(await balance()).toBe(1_000_000_000)
    })

    it('cancels it when it is approved without its code', async () => {
      const { verification_id: id, message_id } = await start(live)
      await core.verifications.approve(live, id)
      await expectCanceled(message_id)
      expect(await balance()).toBe(1_000_000_000)
    })

    it('cancels it when a later request shortened the validity, and the code expired', async () => {
      const first = await start(live, TO, { expires_in: 600 })
      clock.step(LIMITS.verification_cooldown_s * 1000)
      const second = await start(live, TO, { expires_in: 60 })
      expect(second.verification_id).toBe(first.verification_id)
      clock.step(60_000)
      const code = '12345'
      expect(await core.verifications.check(live, first.verification_id, { code })).toMatchObject({
        status: 'expired',
      })
      await expectCanceled(first.message_id)
    })
  })

  it('cancels all waiting messages when the sweeper ends it', async () => {
    await dispatcher.idle()
    await core.dispatch.stop({ reason: 'Moving' })
    const first = await start(live, TO, { expires_in: 600 })
    clock.step(LIMITS.verification_cooldown_s * 1000)
    await start(live, TO, { expires_in: 60 })
    clock.step(60_000)
    await dispatcher.sweep()
    expect(await core.verifications.get(live, first.verification_id)).toMatchObject({
      status: 'expired',
    })
    expect(await core.messages.get(workspaceId, first.message_id)).toMatchObject({
      status: 'failed',
      error_code: 'canceled',
      credits_refunded: 1_000_000,
    })
  })

  it('names the address as it is stored in its answers and its record', async () => {
    const mail = { to: 'Asha@Example.COM', channel: 'email' } as const
    const options = { idempotency_key: 'mail-1' }
    const { data } = await core.verifications.start(live, mail, options)
    expect(data.to).toBe('asha@example.com')
    expect((await core.verifications.start(live, mail, options)).data.to).toBe('asha@example.com')
    await dispatcher.idle()
    expect(sent.map(({ to }) => to)).toEqual(['Asha@Example.COM'])
    const checked = await core.verifications.checkAddress(live, {
      to: 'ASHA@example.com',
      code: await lastCode(),
    })
    expect(checked).toMatchObject({ status: 'approved' })
  })

  it('has the new name of the workspace in its text after a second', async () => {
    await start(live)
    await core.workspaces.update(workspaceId, { name: 'Renamed' })
    await start(live, '+255712345679')
    clock.advance(1_000)
    await start(live, '+255712345670')
    await dispatcher.idle()
    expect(sent.map(({ text }) => text.includes('Renamed'))).toEqual([false, false, true])
  })

  it('is kept for the days of its setting', async () => {
    const { verification_id } = await start(live)
    await core.verifications.cancel(live, verification_id)
    const kept = async () => {
      await dispatcher.sweep()
      return (await core.verifications.list(live, {})).total
    }
    clock.step(2 * 24 * HOUR_MS - 1)
    expect(await kept()).toBe(1)
    clock.step(1)
    expect(await kept()).toBe(0)
    expect((await core.verifications.stats(live, {})).total).toMatchObject({ sent: 1 })
  })

  it('never takes more than five guesses, also at the same time', async () => {
    const begun = await start(live)
    const wrong = wrongFor(await lastCode())
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        core.verifications.check(live, begun.verification_id, { code: wrong }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'pending')).toHaveLength(4)
    const right = await core.verifications.check(live, begun.verification_id, {
      code: await lastCode(),
    })
    expect(right).toMatchObject({ status: 'max_attempts', attempts_left: 0 })
  })

  it('expires, with an event, and its message is not sent any more', async () => {
    const events: string[] = []
    core.on('*', ({ event }) => {
      events.push(event)
    })
    const begun = await start(live, TO, { expires_in: 60 })
    const code = await lastCode()
    clock.step(60_000)
    expect(await core.verifications.get(live, begun.verification_id)).toMatchObject({
      status: 'expired',
      attempts_left: 0,
    })
    await dispatcher.sweep()
    expect(await core.verifications.check(live, begun.verification_id, { code })).toMatchObject({
      status: 'expired',
    })
    await expect.poll(() => events).toContain('verification.expired')
    const next = await start(live)
    expect(next.verification_id).not.toBe(begun.verification_id)
  })

  it('can be canceled once', async () => {
    const begun = await start(live)
    expect(await core.verifications.cancel(live, begun.verification_id)).toMatchObject({
      status: 'canceled',
    })
    await expect(core.verifications.cancel(live, begun.verification_id)).rejects.toMatchObject({
      code: 'validation_error',
      message: /canceled/,
    })
    await expect(core.verifications.resend(live, begun.verification_id, {})).rejects.toMatchObject({
      code: 'validation_error',
    })
  })

  it('tells a test key the code, and takes zeros', async () => {
    const one = await start(test)
    expect(one.test_code).toMatch(/^\d{6}$/)
    expect(one.credits_used).toBe(0)
    expect(
      await core.verifications.check(test, one.verification_id, { code: one.test_code as string }),
    ).toMatchObject({ status: 'approved' })
    const other = await start(test, '+255712345670')
    expect(
      await core.verifications.check(test, other.verification_id, { code: '000000' }),
    ).toMatchObject({ status: 'approved' })
    const real = await start(live, '+255712345671')
    expect(
      await core.verifications.check(live, real.verification_id, { code: '000000' }),
    ).toMatchObject({ status: 'pending' })
    expect(sent.every(({ to }) => to === '+255712345671')).toBe(true)
  })

  it('is not found by another workspace, nor by a key of the other mode', async () => {
    const begun = await start(live)
    const code = await lastCode()
    const { id } = await core.workspaces.signup({
      email: 'other@fixture-mail.dev',
      password: 'correct horse battery',
      company_name: 'Other',
    })
    const stranger = await keyOf(id, 'live')
    for (const identity of [stranger, test]) {
      for (const ask of [
        () => core.verifications.get(identity, begun.verification_id),
        () => core.verifications.check(identity, begun.verification_id, { code }),
        () => core.verifications.checkAddress(identity, { to: TO, code }),
        () => core.verifications.cancel(identity, begun.verification_id),
        () => core.verifications.approve(identity, begun.verification_id),
        () => core.verifications.resend(identity, begun.verification_id, {}),
      ]) {
        await expect(ask()).rejects.toMatchObject({ code: 'not_found' })
      }
    }
    // A live key reads a test, and sends none of its codes.
    const ofTest = await start(test)
    await core.verifications.get(live, ofTest.verification_id)
    await expect(core.verifications.resend(live, ofTest.verification_id, {})).rejects.toMatchObject(
      { code: 'not_found' },
    )
    expect(await core.verifications.list(stranger, {})).toMatchObject({ total: 0 })
    expect(await core.verifications.check(live, begun.verification_id, { code })).toMatchObject({
      status: 'approved',
    })
  })

  it('pauses a country under attack with one event, and an operator allows it again', async () => {
    const paused: object[] = []
    core.on('verification.paused', ({ data }) => {
      paused.push(data)
    })
    let accepted = 0
    for (let n = 0; n < 70; n++) {
      const to = `+2557${String(n).padStart(8, '0')}`
      await start(live, to).then(
        () => accepted++,
        (error) => expect(error).toMatchObject({ code: 'forbidden' }),
      )
    }
    expect(accepted).toBe(50)
    await expect
      .poll(() => paused)
      .toEqual([expect.objectContaining({ country: 'TZ', sent: 50, approved: 0 })])
    const [{ ends_at }] = paused as [{ ends_at: Date }]
    const until = `The pause ends at ${ends_at.toISOString()}`
    await expect(start(live, '+255788888888')).rejects.toThrow(until)
    expect(await start(live, '+4915112345678')).toMatchObject({ status: 'pending' })
    expect(await core.verifications.pauses(workspaceId)).toMatchObject([{ country: 'TZ' }])
    const stats = () => core.verifications.stats(workspaceId, {})
    const [pause] = (await stats()).paused
    expect(pause).toMatchObject({ country: 'TZ', is_active: true, sent: 50, approved: 0 })
    expect(pause?.ends_at).toEqual(ends_at)
    expect(await core.verifications.pauses(workspaceId)).toEqual([pause])
    expect((await core.overviews.troubles(10)).paused_countries).toMatchObject([
      { workspace_id: workspaceId, country: 'TZ', is_active: true },
    ])
    await core.verifications.allow(workspaceId, 'TZ', 1, undefined, 'A campaign')
    expect((await stats()).paused).toEqual([])
    expect(await core.verifications.pauses(workspaceId)).toEqual([])
    expect((await core.overviews.troubles(10)).paused_countries).toEqual([])
    const { audit_entries } = await core.audit.list(workspaceId, { action: 'verification.allowed' })
    expect(audit_entries).toMatchObject([
      {
        actor: { kind: 'service' },
        target: { type: 'country', id: 'TZ' },
        details: { hours: 1, reason: 'A campaign' },
      },
    ])
    expect(await start(live, '+255799999999')).toMatchObject({ status: 'pending' })
  })

  it('says that a pause has ended after an approval', async () => {
    let first = ''
    for (let n = 0; n < 51; n++) {
      const started = start(live, `+2557${String(n).padStart(8, '0')}`)
      if (n === 0) first = (await started).verification_id
      await started.catch(() => null)
    }
    const states = async () => [
      (await core.verifications.stats(workspaceId, {})).paused[0]?.is_active,
      (await core.overviews.troubles(10)).paused_countries[0]?.is_active,
      (await core.verifications.pauses(workspaceId))[0]?.is_active,
    ]
    expect(await states()).toEqual([true, true, true])
    await core.verifications.approve(live, first)
    expect(await states()).toEqual([false, false, false])
  })

  it('does not pause a country whose messages no provider accepts', async () => {
    outcome = 'rejected'
    for (let n = 0; n < 120; n++) {
      await start(live, `+2557${String(n).padStart(8, '0')}`)
      if (n % 40 === 39) await dispatcher.idle()
    }
    await dispatcher.idle()
    expect(await core.verifications.stats(live, {})).toMatchObject({
      total: { sent: 0, credits_used: 0 },
      paused: [],
    })
    outcome = 'accepted'
    let accepted = 0
    for (let n = 200; n < 300; n++) {
      await start(live, `+2557${String(n).padStart(8, '0')}`).then(
        () => accepted++,
        () => null,
      )
    }
    expect(accepted).toBe(50)
  })

  it('are refused above the credits of a day, before any charge', async () => {
    const limit = { verification_daily_credits: 2 }
    expect(await core.workspaces.update(workspaceId, limit)).toMatchObject({
      verification_daily_credits: 2_000_000,
      verification_countries: null,
    })
    const { credits_balance } = await core.workspaces.account(workspaceId)
    await start(live)
    await start(live, '+255712345679')
    const refused = start(live, '+255712345670')
    await expect(refused).rejects.toMatchObject({
      code: 'insufficient_credits',
      message: 'Not enough credits. You need 1 credits but have 0 left today for one-time codes.',
    })
    await start(test, '+255712345670')
    const after = await core.workspaces.account(workspaceId)
    expect(credits_balance - after.credits_balance).toBe(2_000_000)
    clock.step(24 * HOUR_MS)
    expect(await start(live, '+255712345670')).toMatchObject({ status: 'pending' })
    const { audit_entries } = await core.audit.list(workspaceId, { action: 'account.updated' })
    expect(audit_entries).toMatchObject([{ details: { changed: ['verification_daily_credits'] } }])
  })

  it('are sent to the countries of the owner only', async () => {
    await core.workspaces.update(workspaceId, { verification_countries: ['KE'] })
    const refusal = {
      code: 'validation_error',
      message: 'One-time codes to Tanzania (TZ) are not allowed',
      details: [{ path: 'to' }],
    }
    await expect(start(live)).rejects.toMatchObject(refusal)
    await expect(start(test)).rejects.toMatchObject(refusal)
    const external = core.verifications.deliver(live, { to: TO, code: '123456' })
    await expect(external).rejects.toMatchObject(refusal)
    await expect(start(live, '+88312345678')).rejects.toMatchObject({
      message: 'One-time codes to numbers of no known country are not allowed',
    })
    expect(await start(live, '+254712345678')).toMatchObject({ status: 'pending' })
    expect((await core.workspaces.account(workspaceId)).credits_balance).toBe(999_000_000)
    await core.workspaces.update(workspaceId, { verification_countries: null })
    expect(await start(live)).toMatchObject({ status: 'pending' })
    for (const countries of [[], ['Kenya'], ['QQ'], 'KE']) {
      const wrong = core.workspaces.update(workspaceId, {
        verification_countries: countries as string[],
      })
      await expect(wrong).rejects.toMatchObject({ code: 'validation_error' })
    }
  })

  it('are not found by what they are derived from, nor is it shown or kept', async () => {
    const { message_id } = await start(live)
    await core.verifications.deliver(live, { to: '+255712345679', code: '123456' })
    await dispatcher.idle()
    const [row] = editDatabase('select seed from verifications where seed is not null') as {
      seed: string
    }[]
    const shiftOf = () =>
      editDatabase(
        "select json_extract(content, '$.code.shift') as shift, json_extract(content, '$.code.seed') as seed from messages where json_extract(content, '$.code') is not null",
      ) as { shift: string | null; seed: string }[]
    const secrets = shiftOf().flatMap(({ shift, seed }) => [seed, ...(shift ? [shift] : [])])
    expect(secrets).toHaveLength(3)
    expect(secrets).toContain(row?.seed)
    for (const search of [...secrets, 'seed', '"code"', 'shift', '"length":6']) {
      expect((await core.messages.search(workspaceId, { search })).messages).toEqual([])
    }
    const found = await core.messages.search(workspaceId, { search: '••••••' })
    expect(found.messages).toHaveLength(2)
    clock.step(24 * HOUR_MS)
    await dispatcher.sweep()
    expect(shiftOf()).toEqual([])
    expect((await core.messages.get(workspaceId, message_id)).content).toMatchObject({
      text: expect.stringContaining('••••••'),
    })
  })

  it('ends a pause at the latest at its end', async () => {
    for (let n = 0; n < 51; n++) {
      await start(live, `+2557${String(n).padStart(8, '0')}`).catch(() => {})
    }
    const [pause] = await core.verifications.pauses(workspaceId)
    const left_ms = (pause?.ends_at.getTime() ?? 0) - clock.now().getTime()
    clock.step(left_ms - 1)
    await expect(start(live, '+255799999998')).rejects.toMatchObject({ code: 'forbidden' })
    clock.step(1)
    expect(await start(live, '+255799999999')).toMatchObject({ status: 'pending' })
  })

  it('counts how far verifications came', async () => {
    const begun = await start(live)
    const code = await lastCode()
    await core.verifications.check(live, begun.verification_id, { code })
    outcome = 'rejected'
    await start(live, '+255712345679')
    await start(test, '+4915112345679')
    await dispatcher.idle()
    outcome = 'accepted'
    const first = clock.now()
    clock.step(2 * HOUR_MS)
    await start(live, 'asha@example.com', { channel: 'email' })
    await start(live, '+4915112345678')
    await dispatcher.idle()
    const steps = (requested: number, sent: number, delivered: number, approved: number) => ({
      ...{ requested, sent, delivered, approved },
    })
    const hourOf = (at: Date) => new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS)
    const { since, funnel } = await core.verifications.stats(live, {})
    expect(funnel).toEqual({
      since,
      total: steps(4, 3, 1, 1),
      countries: [
        { country: 'TZ', ...steps(2, 1, 1, 1) },
        { country: null, ...steps(1, 1, 0, 0) },
        { country: 'DE', ...steps(1, 1, 0, 0) },
      ],
      hours: [
        { since: hourOf(first), ...steps(2, 1, 1, 1) },
        { since: hourOf(clock.now()), ...steps(2, 2, 0, 0) },
      ],
    })
    expect((await core.verifications.stats(test, {})).funnel).toMatchObject({
      total: { requested: 1 },
      countries: [{ country: 'DE', requested: 1 }],
    })
    expect((await core.verifications.stats(live, {})).funnel.total).toEqual(
      (await core.verifications.stats(workspaceId, {})).funnel.total,
    )
    clock.step(25 * HOUR_MS)
    expect((await core.verifications.stats(live, { days: 1 })).funnel).toMatchObject({
      total: steps(0, 0, 0, 0),
      hours: [],
    })
  })

  it('counts messages, approvals and credits by country', async () => {
    const begun = await start(live)
    const code = await lastCode()
    await start(live, '+255712345679')
    await start(live, '+4915112345678')
    await start(test, '+4915112345679')
    await core.verifications.check(live, begun.verification_id, { code })
    const { since, total, countries, paused } = await core.verifications.stats(live, { days: 1 })
    expect(clock.now().getTime() - since.getTime()).toBeGreaterThanOrEqual(24 * HOUR_MS)
    expect(countries).toEqual([
      { country: 'TZ', sent: 2, approved: 1, credits_used: expect.any(Number), conversion: 0.5 },
      { country: 'DE', sent: 1, approved: 0, credits_used: expect.any(Number), conversion: 0 },
    ])
    const used = countries.reduce((sum, { credits_used }) => sum + credits_used, 0)
    expect(total).toEqual({ sent: 3, approved: 1, credits_used: used, conversion: 1 / 3 })
    expect(used).toBeGreaterThan(0)
    expect(paused).toEqual([])
    const nothing = { sent: 0, approved: 0, credits_used: 0, conversion: null }
    expect(await core.verifications.stats(test, {})).toMatchObject({
      total: nothing,
      countries: [],
    })
    clock.step(26 * HOUR_MS)
    expect(await core.verifications.stats(live, { days: 1 })).toMatchObject({ total: nothing })
    expect(await core.verifications.stats(live, {})).toMatchObject({ total: { sent: 3 } })
    for (const days of [0, 31]) {
      await expect(core.verifications.stats(live, { days })).rejects.toMatchObject({
        code: 'validation_error',
      })
    }
  })

  it('does not pause a country whose codes are approved without their code', async () => {
    for (let n = 0; n < 60; n++) {
      const { verification_id } = await start(live, `+2557${String(n).padStart(8, '0')}`)
      await core.verifications.approve(live, verification_id)
    }
    expect(await core.verifications.pauses(workspaceId)).toEqual([])
  })

  it('fills an approved template of WhatsApp, its button too, in the locale of the request', async () => {
    const begun = await start(test, TO, {
      ...{ channel: 'whatsapp', template: 'login_code', locale: 'en-US' },
    })
    const { content } = await core.messages.get(workspaceId, begun.message_id)
    const mask = '•'.repeat(6)
    expect(content).toEqual({
      template: {
        ...{ name: 'login_code', language: 'en_US' },
        variables: { 1: mask, 'button.0': mask },
      },
    })
  })

  it('counts each message from the end of an allowance on', async () => {
    await core.verifications.allow(workspaceId, 'TZ', 1)
    clock.advance(HOUR_MS + 1)
    let sentCodes = 0
    for (let i = 0; i < 70; i++) {
      const to = `+2557120${String(10_000 + i)}`
      await start(live, to).then(
        () => void sentCodes++,
        () => {},
      )
    }
    // In the hour in which the allowance ends, or after it.
    expect(sentCodes).toBeLessThanOrEqual(50)
  })

  it('checks the pending code of an address beside a newer one of another service', async () => {
    await start(live)
    const code = await lastCode()
    clock.advance(31_000)
    await core.verifications.deliver(live, { to: TO, code: '1234' })
    expect(await core.verifications.checkAddress(live, { to: TO, code })).toMatchObject({
      status: 'approved',
    })
  })

  describe('with a stored template', () => {
    const variant = (channel: string, content: object, locale = 'en') => ({
      ...{ channel, locale, content },
    })
    async function publish(name: string, ...variants: object[]): Promise<void> {
      await core.templates.create(workspaceId, { name, variants } as never)
      await core.templates.publish(workspaceId, name)
    }
    const text = '{{code}} for {{brand}} at {{shop|the shop}}, {{minutes}} min'

    it('sends its text, records it, and keeps the mask in the record', async () => {
      await publish(
        'login',
        variant('sms', { text }),
        variant('sms', { text: 'Ihr Code: {{code}}' }, 'de'),
      )
      const template = { name: 'login', variables: { shop: 'Dodoma' } }
      const begun = await start(live, TO, { template, domain: 'shop.example' })
      const code = await lastCode()
      expect(sent.at(-1)?.text).toBe(`${code} for Acme at Dodoma, 10 min\n@shop.example #${code}`)
      expect(await core.messages.get(workspaceId, begun.message_id)).toMatchObject({
        content: { text: '•••••• for Acme at Dodoma, 10 min\n@shop.example #••••••' },
        template: { name: 'login', version: 1, locale: 'en' },
      })
      const of = { code }
      expect(await core.verifications.check(live, begun.verification_id, of)).toMatchObject({
        status: 'approved',
      })
      await start(live, '+255712345679', { template, locale: 'de-AT' })
      await dispatcher.idle()
      expect(sent.at(-1)?.text).toMatch(/^Ihr Code: \d{6}$/)
    })

    it('has the default language of the template, unless the request names one', async () => {
      const variants = [
        variant('sms', { text: 'Code: {{code}}' }),
        variant('sms', { text: 'Ihr Code: {{code}}' }, 'de'),
        variant('voice', { text: 'Code: {{code}}' }),
        variant('voice', { text: 'Anruf: {{code}}' }, 'de'),
      ]
      const german = { name: 'login', default_locale: 'de', variants }
      await core.templates.create(workspaceId, german as never)
      await core.templates.publish(workspaceId, 'login')
      const template = { name: 'login' }
      const { verification_id: id } = await start(live, TO, { template })
      await dispatcher.idle()
      expect(sent.at(-1)?.text).toMatch(/^Ihr Code: /)
      expect(await core.verifications.get(workspaceId, id)).toMatchObject({ locale: 'de' })
      clock.step(31_000)
      await core.verifications.resend(live, id, { channel: 'voice' })
      await dispatcher.idle()
      expect(sent.at(-1)?.text).toMatch(/^Anruf: /)
      await start(live, '+255712345679', { template, locale: 'en' })
      await dispatcher.idle()
      expect(sent.at(-1)?.text).toMatch(/^Code: /)
    })

    it('puts the code nowhere but in the place of {{code}}', async () => {
      const bullets = '•'.repeat(6)
      await publish('login', variant('sms', { text: `{{code}} {{name}} ${bullets} • ok` }))
      const name = `https://evil.example/?c=${bullets}`
      await start(live, TO, { template: { name: 'login', variables: { name } } })
      const code = await lastCode()
      const hidden = '·'.repeat(6)
      expect(sent.at(-1)?.text).toBe(`${code} https://evil.example/?c=${hidden} ${hidden} • ok`)
      await publish('bare', variant('sms', { text: bullets }))
      await expect(
        start(live, '+255712345670', { template: { name: 'bare' } }),
      ).rejects.toMatchObject({ message: expect.stringContaining('has no {{code}}') })
    })

    it('is not longer than an SMS may be', async () => {
      await publish('long', variant('sms', { text: `{{code}}${'a'.repeat(1_580)}` }))
      const request = { template: { name: 'long' }, domain: 'shop.example' }
      await expect(start(live, TO, request)).rejects.toMatchObject({
        message: expect.stringContaining('at most 1600 characters'),
      })
    })

    it('keeps its version for resends and other channels', async () => {
      await publish('login', variant('sms', { text }), variant('voice', { text: 'Call: {{code}}' }))
      const begun = await start(live, TO, {
        ...{ template: { name: 'login' }, fallback: [{ channel: 'voice' }] },
      })
      await core.templates.update(workspaceId, 'login', {
        variants: [
          variant('sms', { text: 'New {{code}}' }),
          variant('voice', { text: '{{code}}' }),
        ],
      } as never)
      await core.templates.publish(workspaceId, 'login')
      await dispatcher.idle()
      clock.advance(31_000)
      await core.verifications.resend(live, begun.verification_id, { channel: 'voice' })
      await dispatcher.idle()
      expect(sent.at(-1)?.text).toMatch(/^Call: \d, \d/)
    })

    it('answers a repeated request although the template is gone', async () => {
      await publish('login', variant('sms', { text }))
      const request = { to: TO, channel: 'sms', template: { name: 'login' } } as const
      const options = { idempotency_key: 'one' }
      const first = await core.verifications.start(live, request, options)
      await core.templates.delete(workspaceId, 'login')
      const again = await core.verifications.start(live, request, options)
      expect(again).toEqual({ ...first, replayed: true })
      await expect(core.verifications.start(live, request)).rejects.toMatchObject({
        message: 'No template has the name login',
      })
    })

    it.each([
      ['no code', [variant('sms', { text: 'Hi {{brand}}' })], {}, 'has no {{code}} for sms in en'],
      [
        'no channel',
        [variant('email', { subject: '{{code}}', text: '{{code}}' })],
        {},
        'no variant for sms',
      ],
      ['no value', [variant('sms', { text: '{{code}} {{who}}' })], {}, 'No value for {{who}}'],
      [
        'no code on the next channel',
        [variant('sms', { text }), variant('voice', { text: 'Hi' })],
        { fallback: [{ channel: 'voice' }] },
        'has no {{code}} for voice',
      ],
    ])('refuses one with %s, and charges nothing', async (_, variants, more, message) => {
      await publish('login', ...variants)
      const before = await core.credits.account(workspaceId)
      await expect(start(live, TO, { template: { name: 'login' }, ...more })).rejects.toMatchObject(
        {
          code: 'validation_error',
          message: expect.stringContaining(message),
        },
      )
      expect(await core.credits.account(workspaceId)).toEqual(before)
    })

    it.each(['code', 'brand', 'minutes'])('refuses a value for %s', async (name) => {
      const template = { name: 'login', variables: { [name]: 'x' } }
      await expect(start(live, TO, { template })).rejects.toMatchObject({
        message: `Variable ${name} is set by the service`,
      })
    })
  })

  it('erases what it knows about an address', async () => {
    await start(live)
    await dispatcher.idle()
    const report = await core.recipients.erase(TO)
    expect(report).toMatchObject({ verifications: 1 })
    expect(await core.verifications.list(workspaceId, {})).toMatchObject({ total: 0 })
  })

  it('ends a code in flight whose address is erased, and names the address no more', async () => {
    let answer = () => {}
    answering = new Promise((resolve) => {
      answer = resolve
    })
    const { verification_id } = await start(live, TO, { metadata: { user: 'U7' } })
    const report = await core.recipients.erase(TO)
    expect(report).toMatchObject({ verifications: 1, under_way: 1 })
    const shown = await core.verifications.get(workspaceId, verification_id)
    expect(shown).toMatchObject({ status: 'canceled', to: 'erased', metadata: {}, fallback: [] })
    expect(JSON.stringify(shown)).not.toContain(TO)
    await expect(core.verifications.resend(live, verification_id, {})).rejects.toMatchObject({
      code: 'validation_error',
      message: 'The verification is not pending: it is canceled',
    })
    answer()
    await dispatcher.idle()
    expect(sent).toHaveLength(1)
  })

  it.each([
    [{ to: 'no number', channel: 'sms' }, 'to'],
    [{ to: TO, channel: 'email' }, 'to'],
    [{ to: TO, channel: 'fax' }, 'channel'],
    [{ to: TO, channel: 'sms', code_length: 3 }, 'code_length'],
    [{ to: TO, channel: 'sms', expires_in: 3601 }, 'expires_in'],
    [{ to: TO, channel: 'sms', app_hash: 'short' }, 'app_hash'],
    [{ to: TO, channel: 'voice', domain: 'shop.example' }, 'domain'],
    [{ to: TO, channel: 'sms', domain: 'shop.example\nPay here' }, 'domain'],
    [{ to: TO, channel: 'sms', domain: 'shop.example', app_hash: 'FA+9qCX9VSu' }, 'app_hash'],
    [{ to: TO, channel: 'sms', template: 'login' }, 'template'],
    [{ to: TO, channel: 'sms', client_ip: '1.2.3' }, 'client_ip'],
    [{ to: TO, channel: 'sms', code: '123456' }, ''],
  ])('refuses %j', async (request, path) => {
    const refused = core.verifications.start(live, request as never)
    await expect(refused).rejects.toMatchObject({ code: 'validation_error', details: [{ path }] })
  })
})
