import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../src/api-keys/api-keys.ts'
import { LIMITS } from '../src/contract/limits.ts'
import type { QuietHours } from '../src/contract/resources/workspaces.ts'
import { type Core, createCore } from '../src/core.ts'
import type { Dispatcher } from '../src/dispatch/dispatcher.ts'
import { defineProvider } from '../src/provider.ts'
import { testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'

const HOUR_MS = 3_600_000

/** Numbers of Tanzania (one zone, UTC+3) and of the United States (several zones). */
const DAR = '+255712345678'
const USA = '+12025550123'

const NIGHT: QuietHours[] = [{ category: 'marketing', start: '21:00', end: '08:00' }]

describe('quiet hours', () => {
  let folder: string
  let core: Core
  let clock: ReturnType<typeof testRuntime>
  let dispatcher: Dispatcher
  /** The recipients of the messages that the provider got. */
  let sent: string[]
  let outcome: 'accepted' | 'rejected'
  let workspaceId: string
  let live: KeyIdentity
  let test: KeyIdentity

  beforeEach(async () => {
    folder = await migratedFolder('svc-quiet-hours-')
    clock = testRuntime('quiet-hours')
    // In Dar es Salaam it is 22:00, in New York 15:00, in UTC 19:00.
    clock.set(new Date('2026-05-04T19:00:00.000Z'))
    sent = []
    outcome = 'accepted'
    const provider = defineProvider({
      name: 'carrier',
      traits: { channels: ['sms', 'email'] },
      async send(messages) {
        return messages.map(({ recipient, message_id }) => {
          if (outcome === 'rejected') {
            return { type: 'rejected', error_code: '21610', error_message: 'unreachable' } as const
          }
          sent.push(recipient)
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
      runtime: clock,
      threads: 0,
      require_secrets_keys: false,
      providers: [provider],
    })
    dispatcher = await core.startDispatch()
    workspaceId = (
      await core.workspaces.signup({
        email: 'ops@fixture-mail.dev',
        password: 'correct horse battery',
        company_name: 'Acme',
      })
    ).id
    live = await keyOf('live')
    test = await keyOf('test')
    await publish('offer', 'marketing')
    await publish('receipt', 'transactional')
    await core.workspaces.update(workspaceId, { quiet_hours: NIGHT })
  })
  afterEach(async () => {
    await core.close()
    rmSync(folder, { recursive: true })
  })

  async function keyOf(mode: 'live' | 'test'): Promise<KeyIdentity> {
    const scopes = ['send_messages', 'read_messages'] as const
    const { key } = await core.apiKeys.create(workspaceId, {
      name: mode,
      mode,
      scopes: [...scopes],
    })
    return core.apiKeys.authenticate(key, '127.0.0.1')
  }
  async function publish(name: string, category: QuietHours['category']): Promise<void> {
    await core.templates.create(workspaceId, {
      name,
      category,
      default_locale: 'en',
      variants: [
        { channel: 'sms', locale: 'en', content: { text: 'Hi' } },
        { channel: 'email', locale: 'en', content: { subject: 'Hi', text: 'Hi' } },
      ],
    })
    await core.templates.publish(workspaceId, name, {})
  }
  const offer = (to: string, more: object = {}) =>
    ({
      to,
      channel: to.includes('@') ? 'email' : 'sms',
      template: { name: 'offer' },
      ...more,
    }) as never
  const send = async (request: never, identity = live) =>
    (await core.messages.send(identity, request)).data
  const deferredOf = async (request: never, identity = live) =>
    (await send(request, identity)).deferred_until?.toISOString()

  it('defer a message to their end, in the answer, the record and the timeline', async () => {
    const data = await send(offer(DAR, { expires_in: 3600 }))
    const until = new Date('2026-05-05T05:00:00.000Z')
    expect(data.deferred_until).toEqual(until)
    await dispatcher.idle()
    const { message_id } = data
    expect(await core.messages.get(workspaceId, message_id)).toMatchObject({
      status: 'queued',
      scheduled_at: until,
      deferred_until: until,
      expires_at: new Date(until.getTime() + HOUR_MS),
    })
    expect(await core.messages.timeline(workspaceId, message_id)).toMatchObject([
      { kind: 'status', status: 'queued', error_code: null },
      { kind: 'ledger' },
      {
        kind: 'status',
        status: 'queued',
        at: clock.now(),
        error_code: 'quiet_hours',
        error_message: 'Deferred by quiet hours to 2026-05-05T05:00:00.000Z',
      },
    ])
    clock.set(new Date(until.getTime() - 1))
    await dispatcher.idle()
    expect(sent).toEqual([])
    clock.advance(1)
    dispatcher.wake()
    await dispatcher.idle()
    expect(sent).toEqual([DAR])
    expect((await core.messages.get(workspaceId, message_id)).status).toBe('sent')
  })

  it('concern only messages of their category', async () => {
    const receipt = { to: DAR, channel: 'sms', template: { name: 'receipt' } } as never
    const plain = { to: DAR, channel: 'sms', content: { text: 'Hi' } } as never
    expect(await deferredOf(receipt)).toBeUndefined()
    expect(await deferredOf(plain)).toBeUndefined()
    const record = await core.messages.get(workspaceId, (await send(plain)).message_id)
    expect(record).not.toHaveProperty('deferred_until')
    expect(record.scheduled_at).toBeNull()
    const all = NIGHT.map((one) => ({ ...one, category: 'transactional' as const }))
    await core.workspaces.update(workspaceId, { quiet_hours: all })
    expect(await deferredOf(receipt)).toBe('2026-05-05T05:00:00.000Z')
    expect(await deferredOf(plain)).toBe('2026-05-05T05:00:00.000Z')
    expect(await deferredOf(offer(DAR))).toBeUndefined()
    await core.workspaces.update(workspaceId, { quiet_hours: null })
    expect(await deferredOf(plain)).toBeUndefined()
  })

  it('use the zone of the contact, else of the country, else of the workspace', async () => {
    expect(await deferredOf(offer(USA))).toBeUndefined()
    expect(await deferredOf(offer('asha@example.com'))).toBeUndefined()
    await core.workspaces.update(workspaceId, { time_zone: 'Asia/Tokyo' })
    expect(await deferredOf(offer(USA))).toBe('2026-05-04T23:00:00.000Z')
    expect(await deferredOf(offer(DAR))).toBe('2026-05-05T05:00:00.000Z')
    const attributes = { time_zone: 'Asia/Kathmandu' }
    await core.contacts.create(workspaceId, { phone: DAR, email: 'Asha@Example.com', attributes })
    expect(await deferredOf(offer(DAR))).toBe('2026-05-05T02:15:00.000Z')
    expect(await deferredOf(offer('ASHA@example.com'))).toBe('2026-05-05T02:15:00.000Z')
    // Without a zone of its own, the contact has that of its number on each channel, as its page says.
    const [phone, email] = ['+919812345678', 'ravi@example.com']
    const ravi = await core.contacts.create(workspaceId, { phone, email })
    for (const to of [phone, email]) {
      expect([to, await deferredOf(offer(to))]).toEqual([to, '2026-05-05T02:30:00.000Z'])
    }
    expect((await core.people.get(workspaceId, ravi.id)).zone).toEqual({
      ...{ time_zone: 'Asia/Kolkata', source: 'country' },
    })
    // A test key does not learn what a contact has.
    expect(await deferredOf(offer(email), test)).toBe('2026-05-04T23:00:00.000Z')
    expect(await deferredOf(offer(DAR), test)).toBe('2026-05-05T05:00:00.000Z')
    for (const [i, time_zone] of ['Berlin', '+05:45', 7, null, ''].entries()) {
      const phone = `+25571234000${i}`
      await core.contacts.create(workspaceId, { phone, attributes: { time_zone } })
      expect([time_zone, await deferredOf(offer(phone))]).toEqual([
        time_zone,
        '2026-05-05T05:00:00.000Z',
      ])
    }
  })

  it('defer scheduled messages, also to after the 35 days of a request', async () => {
    const noon = '2026-05-06T09:00:00.000Z'
    expect(await deferredOf(offer(DAR, { scheduled_at: noon }))).toBeUndefined()
    const night = '2026-05-06T19:00:00.000Z'
    expect(await deferredOf(offer(DAR, { scheduled_at: night }))).toBe('2026-05-07T05:00:00.000Z')
    const week = [
      { category: 'marketing' as const, start: '04:00', end: '24:00' },
      {
        category: 'marketing' as const,
        start: '00:00',
        end: '24:00',
        days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as NonNullable<QuietHours['days']>,
      },
    ]
    await core.workspaces.update(workspaceId, { quiet_hours: week })
    const last = new Date(clock.now().getTime() + LIMITS.schedule_ahead_s * 1000)
    // 2026-06-08 is a Monday.
    expect(await deferredOf(offer(DAR, { scheduled_at: last.toISOString() }))).toBe(
      '2026-06-13T21:00:00.000Z',
    )
    const later = new Date(last.getTime() + 1).toISOString()
    await expect(send(offer(DAR, { scheduled_at: later }))).rejects.toMatchObject({
      code: 'validation_error',
    })
  })

  it('defer each recipient of a bulk in its zone, and repeat the answer', async () => {
    const request = {
      channel: 'sms',
      template: { name: 'offer' },
      recipients: [DAR, USA, '+81312345678', { to: '+255712345679' }],
    } as never
    const options = { idempotency_key: 'bulk-1' }
    const { data } = await core.messages.bulks.send(live, request, options)
    expect(data.messages.map((one) => one.deferred_until?.toISOString())).toEqual([
      '2026-05-05T05:00:00.000Z',
      undefined,
      '2026-05-04T23:00:00.000Z',
      '2026-05-05T05:00:00.000Z',
    ])
    clock.advance(12 * HOUR_MS)
    await core.workspaces.update(workspaceId, { quiet_hours: null })
    const again = await core.messages.bulks.send(live, request, options)
    expect(again).toEqual({ data, replayed: true })
    const one = offer(DAR)
    await core.workspaces.update(workspaceId, { quiet_hours: NIGHT })
    clock.advance(12 * HOUR_MS)
    const first = await core.messages.send(live, one, { idempotency_key: 'one' })
    expect(first.data.deferred_until).toEqual(new Date('2026-05-06T05:00:00.000Z'))
    clock.advance(12 * HOUR_MS)
    const second = await core.messages.send(live, one, { idempotency_key: 'one' })
    expect(second).toEqual({ data: first.data, replayed: true })
  })

  it('defer each e-mail of a bulk from its own time', async () => {
    const all = NIGHT.map((one) => ({ ...one, category: 'transactional' as const }))
    await core.workspaces.update(workspaceId, { quiet_hours: all, time_zone: 'Africa/Nairobi' })
    const content = { subject: 'Hi', text: 'Hi' }
    const times = [undefined, '2026-05-06T19:00:00.000Z', '2026-05-06T09:00:00.000Z']
    const { data } = await core.messages.bulks.sendEmails(live, {
      emails: times.map((scheduled_at, i) => ({
        to: `${i}@example.com`,
        channel: 'email',
        content,
        scheduled_at,
      })),
    } as never)
    expect(data.messages.map((one) => one.deferred_until?.toISOString())).toEqual([
      '2026-05-05T05:00:00.000Z',
      '2026-05-07T05:00:00.000Z',
      undefined,
    ])
  })

  it('defer each e-mail of a bulk by the category of its template, also when it is sent again', async () => {
    await core.workspaces.update(workspaceId, { quiet_hours: NIGHT, time_zone: 'Africa/Nairobi' })
    outcome = 'rejected'
    clock.set(new Date('2026-05-05T09:00:00.000Z'))
    const uses = [{ template: { name: 'offer' } }, { template: { name: 'receipt' } }]
    const content = { content: { subject: 'Hi', text: 'Hi' } }
    const emails = [...uses, content].map((one, i) => ({
      ...{ ...one, channel: 'email', to: `${i}@example.com` },
    }))
    const { data } = await core.messages.bulks.sendEmails(live, { emails } as never)
    expect(data.template).toBeUndefined()
    expect(data.messages.flatMap((one) => one.deferred_until ?? [])).toEqual([])
    await dispatcher.idle()
    clock.set(new Date('2026-05-05T19:00:00.000Z'))
    const retried = (await core.messages.bulks.retry(live, data.bulk_id)).data.messages
    const expected: Record<string, (string | undefined)[]> = {
      '0@example.com': ['offer', '2026-05-06T05:00:00.000Z'],
      '1@example.com': ['receipt', undefined],
      '2@example.com': [undefined, undefined],
    }
    const found = await Promise.all(
      retried.map(async ({ to, message_id, deferred_until }) => {
        const { template } = await core.messages.get(workspaceId, message_id)
        return [to, [template?.name, deferred_until?.toISOString()]]
      }),
    )
    expect(Object.fromEntries(found)).toEqual(expected)
    const again = await core.messages.bulks.sendEmails(live, { emails } as never)
    expect(again.data.messages.map((one) => one.deferred_until?.toISOString())).toEqual([
      '2026-05-06T05:00:00.000Z',
      undefined,
      undefined,
    ])
  })

  it('defer the contacts of a bulk, and the messages of a retry', async () => {
    const attributes = { time_zone: 'Asia/Kathmandu' }
    const contact = await core.contacts.create(workspaceId, { phone: USA, attributes })
    outcome = 'rejected'
    clock.set(new Date('2026-05-05T09:00:00.000Z'))
    const { data } = await core.messages.bulks.send(live, {
      channel: 'sms',
      template: { name: 'offer' },
      recipients: [{ contact_id: contact.id }, DAR],
    } as never)
    expect(data.messages.map((one) => one.deferred_until)).toEqual([undefined, undefined])
    await dispatcher.idle()
    outcome = 'accepted'
    clock.set(new Date('2026-05-05T19:00:00.000Z'))
    const retried = await core.messages.bulks.retry(live, data.bulk_id)
    expect(retried.data.template).toEqual({ name: 'offer', version: 1, locale: 'en' })
    expect(retried.data.messages.map((one) => one.deferred_until?.toISOString())).toEqual([
      '2026-05-06T02:15:00.000Z',
      '2026-05-06T05:00:00.000Z',
    ])
    expect(await core.messages.bulks.retry(live, data.bulk_id)).toEqual({
      data: retried.data,
      replayed: true,
    })
    await dispatcher.idle()
    expect(sent).toEqual([])
  })

  it('defer the new time of a message', async () => {
    const { message_id } = await send(offer(DAR, { scheduled_at: '2026-05-06T09:00:00.000Z' }))
    const request = { scheduled_at: '2026-05-06T20:00:00.000Z' } as never
    const moved = await core.messages.reschedule(workspaceId, message_id, request)
    const until = new Date('2026-05-07T05:00:00.000Z')
    expect(moved).toMatchObject({ scheduled_at: until, deferred_until: until })
    const texts = async () =>
      (await core.messages.timeline(workspaceId, message_id)).flatMap((entry) =>
        'error_message' in entry && entry.error_message !== null ? [entry.error_message] : [],
      )
    expect(await texts()).toEqual([
      'Rescheduled and deferred by quiet hours to 2026-05-07T05:00:00.000Z',
    ])
    const day = { scheduled_at: '2026-05-07T09:00:00.000Z' } as never
    const free = await core.messages.reschedule(workspaceId, message_id, day)
    expect(free).not.toHaveProperty('deferred_until')
  })

  it('do not defer one-time codes', async () => {
    const both = (['marketing', 'transactional'] as const).map((category) => ({
      category,
      start: '21:00',
      end: '08:00',
    }))
    await core.workspaces.update(workspaceId, { quiet_hours: both })
    await core.verifications.start(live, { to: DAR, channel: 'sms' })
    await dispatcher.idle()
    expect(sent).toEqual([DAR])
  })

  it('are refused if they leave too little of the week, or are no times', async () => {
    const all = { category: 'marketing', start: '00:00', end: '24:00' } as const
    const update = (quiet_hours: unknown, time_zone?: string) =>
      core.workspaces.update(workspaceId, { quiet_hours, time_zone } as never)
    await expect(update([all])).rejects.toMatchObject({
      code: 'validation_error',
      message: 'The quiet hours for marketing messages must leave 4 hours of each week free',
    })
    await update([
      { ...all, start: '04:00' },
      { ...all, days: ['mon'] },
    ])
    for (const wrong of [
      [{ ...all, start: '24:00' }],
      [{ ...all, end: '8:00' }],
      [{ ...all, end: '25:00' }],
      [{ ...all, days: [] }],
      [{ ...all, days: ['Monday'] }],
      [{ ...all, category: 'other' }],
      [{ ...all, zone: 'UTC' }],
      Array.from({ length: LIMITS.quiet_hours + 1 }, () => ({ ...all, start: '04:00' })),
      {},
    ]) {
      await expect(update(wrong)).rejects.toMatchObject({ code: 'validation_error' })
    }
    for (const zone of ['Berlin', '+02:00', '']) {
      await expect(update(null, zone)).rejects.toMatchObject({ code: 'validation_error' })
    }
    expect(await core.workspaces.account(workspaceId)).toMatchObject({
      quiet_hours: [
        { ...all, start: '04:00' },
        { ...all, days: ['mon'] },
      ],
      time_zone: null,
    })
  })

  it('of another process count after 5 seconds, and are read once meanwhile', async () => {
    expect(await deferredOf(offer(DAR))).toBeDefined()
    const other = await createCore({
      database_url: `file:${join(folder, 'svc.db')}`,
      runtime: testRuntime('other'),
      threads: 0,
      require_secrets_keys: false,
    })
    await other.workspaces.update(workspaceId, { quiet_hours: null })
    await other.close()
    expect(await deferredOf(offer(DAR))).toBeDefined()
    clock.advance(5_000)
    expect(await deferredOf(offer(DAR))).toBeUndefined()
  })
})
