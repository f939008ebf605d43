import { expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import type { KeyIdentity } from '../../src/api-keys/api-keys.ts'
import { type Broadcasts, createBroadcasts } from '../../src/broadcasts/broadcasts.ts'
import type { MailingParts } from '../../src/broadcasts/drafts.ts'
import { createBroadcastStepper, startBroadcastWatch } from '../../src/broadcasts/run.ts'
import { createCarriers } from '../../src/carriers/carriers.ts'
import { createContacts } from '../../src/contacts/contacts.ts'
import { emailKey } from '../../src/contract/fields/email-address.ts'
import { units } from '../../src/contract/fields/units.ts'
import { QUOTAS } from '../../src/contract/limits.ts'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import {
  broadcasts as endpoints,
  type NewBroadcast,
} from '../../src/contract/resources/broadcasts.ts'
import type { SmsContent } from '../../src/contract/resources/content.ts'
import { createDispatchControl } from '../../src/control/dispatch-control.ts'
import { createFromRule } from '../../src/domains/from-rule.ts'
import { createSenders } from '../../src/messages/acceptance.ts'
import type { BulkParts } from '../../src/messages/bulk-accept.ts'
import { searchMessages } from '../../src/messages/search.ts'
import { createPricing, DEFAULT_PRICES } from '../../src/prices/price.ts'
import { createQuietHours } from '../../src/quiet-hours/quiet-hours.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { createTemplates } from '../../src/templates/templates.ts'
import { createStatusCallbacks } from '../../src/webhooks/status-callbacks.ts'
import { createTargetGuard } from '../../src/webhooks/target.ts'
import { plainSealer, SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const MINUTE_MS = 60_000

/** The distance of the moments at which a process dies. An odd one has moments before and after a commit. */
const CRASH_STEP = RUNS_ALL_CASES ? 1 : 3

/** Broadcasts: each contact gets one message, whatever happens meanwhile. */
export function broadcastsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** The feature on a storage, as the core makes it. */
  function featureOn(storage: Storage, oneClickFault: MailingParts['oneClickFault'] = () => null) {
    const { clock: runtime } = bench
    const carriers = createCarriers([])
    const parts: BulkParts & MailingParts & { onQueued: () => void } = {
      storage,
      runtime,
      quotas: QUOTAS,
      priceOf: createPricing(DEFAULT_PRICES),
      countryFault: null,
      senders: createSenders({
        storage,
        carriers,
        fromRule: createFromRule({ storage, runtime }),
        approved: { fault: () => null },
      }),
      takesSeveral: carriers.takesSeveral,
      statusCallbacks: createStatusCallbacks({
        storage,
        runtime,
        sealer: plainSealer(runtime),
        targets: createTargetGuard({ allow_http: false }),
      }),
      sequences: null,
      contacts: createContacts({ storage, runtime, quotas: QUOTAS }),
      quietHours: createQuietHours({ storage, runtime }),
      recipients_max: 1_000,
      attachments_max_bytes: 1_000_000,
      onQueued() {},
      oneClickFault,
    }
    const broadcasts = createBroadcasts(parts)
    const step = createBroadcastStepper(parts)
    /** Does everything that is due, as the watch of a server does. */
    async function run(): Promise<void> {
      const watch = startBroadcastWatch({ storage, runtime, step })
      await watch.look()
      await watch.stop()
    }
    return { broadcasts, step, run }
  }

  /** A workspace with contacts, a template and credits for so many SMS. */
  async function stage(count: number, credits = 1_000) {
    const workspaceId = await bench.workspace(credits)
    const key = bench.make.apiKey(workspaceId, { scopes: ['send_messages', 'manage_contacts'] })
    await bench.storage.write(({ apiKeys }) => apiKeys.insert(key))
    const templates = createTemplates({
      storage: bench.storage,
      runtime: bench.clock,
      priceOf: createPricing(DEFAULT_PRICES),
      approved: { stateOf: () => Promise.reject(new Error('no provider')) },
    })
    await templates.create(workspaceId, {
      name: 'news',
      category: 'marketing',
      variables: [{ name: 'shop', type: 'text', fallback: 'us' }],
      variants: [
        {
          channel: 'sms',
          locale: 'en',
          content: { text: 'Hi {{name|you}} from {{shop}}: {{city|?}}' },
        },
        {
          channel: 'email',
          locale: 'en',
          content: { subject: 'News', html: '<p>{{name|you}}</p>' },
        },
      ],
    })
    await templates.publish(workspaceId, 'news')
    const contacts = Array.from({ length: count }, (_, i) => contactOf(workspaceId, i))
    await bench.storage.write(({ contacts: store }) => store.insert(contacts))
    bench.clock.advance(1_000)
    const identity: KeyIdentity = {
      workspace_id: workspaceId,
      api_key_id: key.id,
      scopes: ['send_messages', 'manage_contacts'],
      mode: 'live',
      daily_credit_limit: null,
    }
    return { workspaceId, identity, contacts, templates, key }
  }

  function contactOf(workspaceId: string, i: number, fields = {}) {
    return bench.make.contact(workspaceId, {
      name: `N${i}`,
      phone: `+2557${String(i).padStart(8, '0')}`,
      tags: ['all', i % 2 === 0 ? 'even' : 'odd'],
      attributes: { city: i % 3 === 0 ? 'Arusha' : 'Moshi' },
      ...fields,
    })
  }

  const request = (fields: Partial<NewBroadcast> = {}): NewBroadcast => ({
    channel: 'sms',
    template: { name: 'news' },
    audience: { tags: ['all'] },
    draft: false,
    ...fields,
  })

  /** The hours that the clocks of Berlin are ahead of UTC. */
  const berlinHours = (day: Date) =>
    new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin', timeZoneName: 'shortOffset' })
      .format(day)
      .endsWith('+2')
      ? 2
      : 1

  async function sent(workspaceId: string, storage = bench.storage): Promise<MessageRow[]> {
    const { bulks, messages } = storage.read
    const found: MessageRow[] = []
    for (const { id } of await bulks.list(workspaceId, {}, { ...EVERYTHING, content_length: 0 })) {
      found.push(...(await messages.ofBulk(workspaceId, id)))
    }
    return found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  async function make(
    broadcasts: Broadcasts<'decoded'>,
    identity: KeyIdentity,
    fields: Partial<NewBroadcast> = {},
  ): Promise<string> {
    return (await broadcasts.create(identity, request(fields))).data.broadcast.id
  }

  it('lists the messages of a broadcast, newest first, among those of others', async () => {
    const { workspaceId, identity } = await stage(6)
    const { broadcasts, run } = featureOn(bench.storage)
    const even = await make(broadcasts, identity, { audience: { tags: ['even'] }, rate: 6 })
    for (let i = 0; i < 4; i++) {
      await run()
      await bench.queued(workspaceId, { bulk_id: null })
      bench.clock.advance(MINUTE_MS / 6)
    }
    const odd = await make(broadcasts, identity, { audience: { tags: ['odd'] } })
    const none = await make(broadcasts, identity, { audience: { tags: ['unused'] } })
    for (let i = 0; i < 3; i++) {
      bench.clock.advance(MINUTE_MS)
      await run()
    }
    const { messages } = bench.storage.read
    const search = async (query: object) =>
      (
        await searchMessages({ storage: bench.storage, runtime: bench.clock }, workspaceId, {
          limit: 2,
          ...query,
        })
      ).messages
    const recipients = (rows: readonly { recipient: string }[]) =>
      rows.map(({ recipient }) => Number(recipient.slice(-2)))
    const listed = async (filter: object) =>
      recipients(await messages.list(workspaceId, filter, EVERYTHING))
    expect(await listed({ broadcast_id: even })).toEqual([4, 2, 0])
    expect(await listed({ broadcast_id: odd })).toEqual([5, 3, 1])
    expect(await listed({ broadcast_id: odd, channel: 'sms', status: 'queued' })).toEqual([5, 3, 1])
    expect(await listed({ broadcast_id: odd, status: 'failed' })).toEqual([])
    expect(await listed({ broadcast_id: none })).toEqual([])
    expect(await messages.count(workspaceId, { broadcast_id: even })).toBe(3)
    const page = await search({ broadcast_id: even })
    expect(recipients(page)).toEqual([4, 2])
    expect(recipients(await search({ broadcast_id: even, after: page[1]?.id }))).toEqual([0])
    expect(recipients(await search({ broadcast_id: odd, search: '+2557' }))).toEqual([5, 3])
    expect(recipients(await search({ broadcast_id: even, search: 'N2' }))).toEqual([2])
    const stranger = await bench.workspace()
    expect(await messages.list(stranger, { broadcast_id: even }, EVERYTHING)).toEqual([])
  })

  it('sends each contact of the audience one message, in steps', async () => {
    const { workspaceId, identity, contacts } = await stage(1_203, 2_000)
    const { broadcasts, run } = featureOn(bench.storage)
    const preview = await broadcasts.preview(identity, request())
    expect(preview).toMatchObject({ contacts: 1_203, credits_needed: 1_203 * SMS_PRICE })
    expect(preview.samples.map(({ to }) => to)).toEqual(
      contacts.slice(0, 5).map(({ phone }) => phone),
    )
    const id = await make(broadcasts, identity)
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({ status: 'running' })
    // The first messages wait for their provider, and the next ones with them.
    expect(await sent(workspaceId)).toHaveLength(100)
    for (let i = 0; i < 12; i++) {
      bench.clock.advance(MINUTE_MS + 1)
      await run()
    }
    const { broadcast, results } = await broadcasts.get(workspaceId, id)
    expect(broadcast).toMatchObject({
      status: 'finished',
      template: { name: 'news', version: 1 },
      counts: { audience: 1_203, contacts: 1_203, accepted: 1_203, suppressed: 0, no_address: 0 },
      credits_used: 1_203 * SMS_PRICE,
    })
    expect(results).toMatchObject({ queued: 1_203, failed: 0, unsubscribed: 0 })
    const messages = await sent(workspaceId)
    expect(messages.map(({ recipient }) => recipient)).toEqual(contacts.map(({ phone }) => phone))
    expect(messages[7]).toMatchObject({
      content: { text: 'Hi N7 from us: Moshi' },
      ...{ template: 'news', template_version: 1, template_locale: 'en' },
    })
    expect((await bench.account(workspaceId)).balance).toBe((2_000 - 1_203) * SMS_PRICE)
  })

  it('has smaller steps while requests of others come, and not for its own ones', async () => {
    const { workspaceId, identity } = await stage(400)
    const { broadcasts, run } = featureOn(bench.storage)
    const count = async () => (await sent(workspaceId)).length
    await make(broadcasts, identity)
    await run()
    expect(await count()).toBe(100)
    await bench.queued(await bench.workspace(1))
    bench.clock.advance(MINUTE_MS + 1)
    await run()
    expect(await count()).toBe(125)
    bench.clock.advance(MINUTE_MS + 1)
    await run()
    expect(await count()).toBe(225)
  })

  it('waits after a step until its messages are sent, and asks for no more contacts than it needs', async () => {
    const { workspaceId, identity } = await stage(150)
    const { contacts, broadcasts } = bench.storage.read
    const asked: unknown[] = []
    const read = {
      ...bench.storage.read,
      contacts: {
        ...contacts,
        audience(...query: Parameters<typeof contacts.audience>) {
          asked.push(query[2].limit)
          return contacts.audience(...query)
        },
      },
      broadcasts: {
        ...broadcasts,
        waiting(...query: Parameters<typeof broadcasts.waiting>) {
          asked.push('waiting')
          return broadcasts.waiting(...query)
        },
      },
    }
    const feature = featureOn({ ...bench.storage, read })
    await make(feature.broadcasts, identity)
    await bench.queued(await bench.workspace(1))
    await feature.run()
    expect((await sent(workspaceId)).length).toBe(25)
    // It is known to be behind without a look at its messages.
    expect(asked).toEqual([25])
    await feature.run()
    expect(asked).toEqual([25, 'waiting'])
  })

  it('chooses contacts by tags and attributes, and fills in values in their order', async () => {
    const { workspaceId, identity } = await stage(12)
    const { broadcasts, run } = featureOn(bench.storage)
    await make(broadcasts, identity, {
      audience: { tags: ['even', 'odd'], exclude_tags: ['odd'], attributes: { city: 'Arusha' } },
      template: { name: 'news', variables: { shop: 'Acme', name: 'none', city: 'none' } },
    })
    await run()
    expect((await sent(workspaceId)).map(({ content }) => (content as SmsContent).text)).toEqual([
      'Hi N0 from Acme: Arusha',
      'Hi N6 from Acme: Arusha',
    ])
  })

  it('leaves out contacts with one of the attributes to exclude, and does not know its size before', async () => {
    const { workspaceId, identity } = await stage(6)
    const { broadcasts, run } = featureOn(bench.storage)
    const audience = { exclude_attributes: { city: 'Arusha', vip: true } }
    const preview = await broadcasts.preview(identity, request({ audience }))
    const id = await make(broadcasts, identity, { audience })
    await run()
    const texts = (await sent(workspaceId)).map(({ content }) => (content as SmsContent).text)
    expect(texts).toHaveLength(preview.contacts)
    expect(texts.length).toBeGreaterThan(0)
    expect(texts.join()).not.toContain('Arusha')
    const { broadcast } = await broadcasts.get(workspaceId, id)
    expect(broadcast).toMatchObject({
      ...{ audience, status: 'finished' },
      counts: { audience: null, contacts: texts.length, accepted: texts.length },
    })
    // A value of another type is another value.
    const other = request({ audience: { exclude_attributes: { city: 5 } } })
    expect(await broadcasts.preview(identity, other)).toMatchObject({ contacts: 6 })
  })

  it('sends and charges nothing to suppressed contacts and to those without an address', async () => {
    const { workspaceId, identity, contacts } = await stage(5)
    await bench.storage.write(async (stores) => {
      const rows = [
        contactOf(workspaceId, 5, {
          phone: null,
          email: 'A@example.com',
          email_key: 'a@example.com',
        }),
      ]
      await stores.contacts.insert(rows)
      const created_at = bench.clock.now()
      const of = { workspace_id: workspaceId, channel: 'sms' as const, created_at }
      await stores.suppressions.add([
        { ...of, address: contacts[1]?.phone ?? '', reason: 'opt_out' },
        { ...of, address: contacts[4]?.phone ?? '', reason: 'manual' },
      ])
    })
    const { broadcasts, run } = featureOn(bench.storage)
    const preview = await broadcasts.preview(identity, request())
    expect(preview).toMatchObject({
      ...{ contacts: 6, sendable: 3, suppressed: 2, no_address: 1, rejected: 0 },
      ...{ credits_needed: 3 * SMS_PRICE, is_estimate: false, template: { version: 1 } },
    })
    expect(preview.samples.map(({ to }) => to)).toEqual([0, 2, 3].map((i) => contacts[i]?.phone))
    const before = await bench.account(workspaceId)
    const id = await make(broadcasts, identity)
    await run()
    expect((await sent(workspaceId)).map(({ recipient }) => recipient)).toEqual(
      [0, 2, 3].map((i) => contacts[i]?.phone),
    )
    const { broadcast } = await broadcasts.get(workspaceId, id)
    expect(broadcast.counts).toMatchObject({
      ...{ contacts: 6, accepted: 3, suppressed: 2, no_address: 1, rejected: 0 },
    })
    expect((await bench.account(workspaceId)).balance).toBe(before.balance - 3 * SMS_PRICE)
  })

  it('counts contacts that are suppressed between the reading and the acceptance', async () => {
    const { workspaceId, identity, contacts } = await stage(2)
    const { storage } = bench
    const suppress = (i: number) =>
      storage.write(({ suppressions }) =>
        suppressions.add([
          {
            workspace_id: workspaceId,
            channel: 'sms',
            address: contacts[i]?.phone ?? '',
            reason: 'opt_out',
            created_at: bench.clock.now(),
          },
        ]),
      )
    const first = featureOn(watched(storage, { beforeAccept: () => suppress(0) }))
    const id = await make(first.broadcasts, identity)
    await first.run()
    const { broadcast } = await first.broadcasts.get(workspaceId, id)
    expect(broadcast).toMatchObject({ status: 'finished', counts: { accepted: 1, suppressed: 1 } })

    // Also if no recipient of a step remains.
    const second = featureOn(watched(storage, { beforeAccept: () => suppress(1) }))
    const other = await make(second.broadcasts, identity)
    await second.run()
    expect((await second.broadcasts.get(workspaceId, other)).broadcast).toMatchObject({
      status: 'finished',
      counts: { accepted: 0, suppressed: 2 },
    })
    expect(await sent(workspaceId)).toHaveLength(1)
  })

  it('pauses without credits, and continues after the last contact', async () => {
    const { workspaceId, identity } = await stage(5, 3)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity, { rate: 12 })
    await run()
    bench.clock.advance(10_000)
    await run()
    const paused = (await broadcasts.get(workspaceId, id)).broadcast
    expect(paused).toMatchObject({
      status: 'paused',
      pause: { reason: 'insufficient_credits' },
      counts: { accepted: 2 },
    })
    expect((await bench.account(workspaceId)).balance).toBe(SMS_PRICE)
    await bench.storage.write(({ credits }) =>
      credits.post(workspaceId, bench.make.grant(units(10 * SMS_PRICE))),
    )
    bench.clock.advance(MINUTE_MS)
    await run()
    expect(await sent(workspaceId)).toHaveLength(2)
    await broadcasts.resume(identity, id)
    for (let i = 0; i < 4; i++) {
      await run()
      bench.clock.advance(MINUTE_MS)
    }
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({
      status: 'finished',
      pause: null,
      counts: { accepted: 5 },
    })
    expect(new Set((await sent(workspaceId)).map(({ recipient }) => recipient)).size).toBe(5)
  })

  it('keeps the rate', async () => {
    const { workspaceId, identity } = await stage(40)
    const { broadcasts, run } = featureOn(bench.storage)
    await make(broadcasts, identity, { rate: 60 })
    const counts: number[] = []
    for (let s = 0; s <= 30; s += 5) {
      await run()
      counts.push((await sent(workspaceId)).length)
      bench.clock.advance(5_000)
    }
    expect(counts).toEqual([10, 10, 20, 20, 30, 30, 40])
  })

  it('begins at its time, with the version and the contacts of then', async () => {
    const { workspaceId, identity, templates } = await stage(2)
    const { broadcasts, run } = featureOn(bench.storage)
    const scheduled_at = new Date(bench.clock.now().getTime() + MINUTE_MS)
    const id = await make(broadcasts, identity, { scheduled_at })
    await run()
    expect(await sent(workspaceId)).toEqual([])
    await templates.update(workspaceId, 'news', {
      variants: [{ channel: 'sms', locale: 'en', content: { text: 'Second {{name}}' } }],
    })
    await templates.publish(workspaceId, 'news')
    await bench.storage.write(({ contacts }) => contacts.insert([contactOf(workspaceId, 2)]))
    bench.clock.advance(MINUTE_MS)
    const { step } = featureOn(bench.storage)
    const [row] = await bench.storage.read.broadcasts.due(bench.clock.now(), 1)
    expect(row && (await step(row))).toBe(true)
    // It has begun: what changes now comes too late.
    await templates.update(workspaceId, 'news', {
      variants: [{ channel: 'sms', locale: 'en', content: { text: 'Third' } }],
    })
    await templates.publish(workspaceId, 'news')
    await bench.storage.write(({ contacts }) => contacts.insert([contactOf(workspaceId, 3)]))
    await run()
    const messages = await sent(workspaceId)
    expect(messages.map(({ content }) => (content as SmsContent).text)).toEqual([
      'Second N0',
      'Second N1',
      'Second N2',
    ])
    expect((await broadcasts.get(workspaceId, id)).broadcast.template.version).toBe(2)
  })

  it('sends each message at the local time of its recipient', async () => {
    const { workspaceId, identity } = await stage(0)
    const zones = ['Asia/Kolkata', 'Pacific/Kiritimati', 'Etc/GMT+12', 'No/Zone', undefined]
    const rows = zones.map((time_zone, i) =>
      contactOf(workspaceId, i, { attributes: time_zone ? { time_zone } : {} }),
    )
    // A country with one zone, and one with several: the last has the zone of the workspace.
    rows.push(contactOf(workspaceId, 5, { phone: '+4915112345678' }))
    rows.push(contactOf(workspaceId, 6, { phone: '+14155550100' }))
    await bench.storage.write(({ contacts }) => contacts.insert(rows))
    const { broadcasts, run } = featureOn(bench.storage)
    const day = new Date(bench.clock.now().getTime() + 3 * 24 * 60 * MINUTE_MS)
    const date = day.toISOString().slice(0, 10)
    const timed = {
      scheduled_at: new Date(`${date}T09:00:00Z`),
      time_zone: 'recipient' as const,
      rate: 1,
    }
    const departures = [
      [-14, ['Pacific/Kiritimati']],
      [-5.5, ['Asia/Kolkata']],
      // The two numbers of Tanzania.
      [-3, ['Africa/Dar_es_Salaam']],
      [-berlinHours(day), ['Europe/Berlin']],
      [0, ['UTC']],
      [12, ['Etc/GMT+12']],
    ].map(([hours, time_zones]) => ({
      at: new Date(timed.scheduled_at.getTime() + (hours as number) * 60 * MINUTE_MS),
      messages: hours === -3 ? 2 : 1,
      time_zones,
    }))
    expect((await broadcasts.preview(identity, request({ ...timed }))).departures).toEqual(
      departures,
    )
    const id = await make(broadcasts, identity, timed)
    await run()
    expect(await sent(workspaceId)).toEqual([])
    const begins_ms = timed.scheduled_at.getTime() - 14 * 60 * MINUTE_MS
    bench.clock.advance(begins_ms - bench.clock.now().getTime() - 1)
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast.status).toBe('scheduled')
    bench.clock.advance(1)
    await run()
    const { broadcast } = await broadcasts.get(workspaceId, id)
    expect(broadcast).toMatchObject({ status: 'finished', ...timed, departures })
    const due = (await sent(workspaceId)).map(
      ({ scheduled_at }) => scheduled_at && (scheduled_at.getTime() - begins_ms) / MINUTE_MS / 60,
    )
    // The rate spreads the two of Tanzania.
    const berlin = 14 - berlinHours(day)
    expect(due).toEqual([8.5, null, 26, 11, 11 + 1 / 60, berlin, 14])
    await broadcasts.cancel(workspaceId, id)
    await run()
    expect((await broadcasts.get(workspaceId, id)).results).toMatchObject({ queued: 0, failed: 7 })
  })

  it('sends e-mails in the zones of the numbers of their contacts', async () => {
    const { workspaceId, identity } = await stage(0)
    const rows = ['+919812345678', '+14155550100', null].map((phone, i) => {
      const email = `n${i}@example.com`
      return contactOf(workspaceId, i, { phone, email, email_key: email })
    })
    await bench.storage.write(({ contacts }) => contacts.insert(rows))
    const { broadcasts, run } = featureOn(bench.storage)
    const scheduled_at = new Date(bench.clock.now().getTime() + 24 * 60 * MINUTE_MS)
    const timed = { channel: 'email', scheduled_at, time_zone: 'recipient' } as const
    const departures = [
      [-5.5, 1, 'Asia/Kolkata'],
      [0, 2, 'UTC'],
    ].map(([hours, messages, zone]) => ({
      at: new Date(scheduled_at.getTime() + (hours as number) * 60 * MINUTE_MS),
      ...{ messages, time_zones: [zone] },
    }))
    expect((await broadcasts.preview(identity, request(timed))).departures).toEqual(departures)
    await make(broadcasts, identity, timed)
    bench.clock.advance(10 * 60 * MINUTE_MS)
    await run()
    expect(
      (await sent(workspaceId)).map((one) => [one.recipient, one.scheduled_at?.toISOString()]),
    ).toEqual([0, 1, 1].map((i, n) => [`n${n}@example.com`, departures[i]?.at.toISOString()]))
  })

  it('sends at once where the local time is past, and spreads it by the rate', async () => {
    const { workspaceId, identity } = await stage(5)
    const { broadcasts, run } = featureOn(bench.storage)
    // Past in UTC and in Tanzania; a broadcast with a time zone begins nevertheless.
    const scheduled_at = new Date(bench.clock.now().getTime() - 60 * MINUTE_MS)
    await make(broadcasts, identity, { scheduled_at, time_zone: 'recipient', rate: 2 })
    await run()
    const now_ms = bench.clock.now().getTime()
    const waits = (await sent(workspaceId)).map(({ scheduled_at }) =>
      scheduled_at ? scheduled_at.getTime() - now_ms : 0,
    )
    expect(waits).toEqual([0, 30_000, 60_000, 90_000, 120_000])
  })

  it('counts the departures of accepted messages in all steps', async () => {
    const { workspaceId, identity } = await stage(1_203, 2_000)
    const { broadcasts, run } = featureOn(bench.storage)
    const scheduled_at = new Date(bench.clock.now().getTime() + 4 * 60 * MINUTE_MS)
    const id = await make(broadcasts, identity, { scheduled_at, time_zone: 'recipient' })
    await run()
    const { broadcast } = await broadcasts.get(workspaceId, id)
    const at = new Date(scheduled_at.getTime() - 3 * 60 * MINUTE_MS)
    expect(broadcast).toMatchObject({
      status: 'finished',
      departures: [{ at, messages: 1_203, time_zones: ['Africa/Dar_es_Salaam'] }],
    })
    // A hundred go each second, so that others do not wait behind them.
    const seconds = (await sent(workspaceId)).map(
      ({ scheduled_at }) => ((scheduled_at?.getTime() ?? 0) - at.getTime()) / 1_000,
    )
    expect(seconds.sort((a, b) => a - b)).toEqual(seconds.map((_, i) => Math.floor(i / 100)))
  })

  it('sends e-mails, whose address counts in any spelling', async () => {
    const { workspaceId, identity } = await stage(0)
    await bench.storage.write(async ({ contacts, suppressions }) => {
      const mails = ['Asha@Example.com', 'juma@Bücher.example']
      await contacts.insert(
        mails.map((email, i) =>
          contactOf(workspaceId, i, { phone: null, email, email_key: emailKey(email) }),
        ),
      )
      await suppressions.add([
        {
          ...{ workspace_id: workspaceId, channel: 'email', address: 'asha@example.com' },
          ...{ reason: 'opt_out', created_at: bench.clock.now() },
        },
      ])
    })
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity, { channel: 'email', from: 'Acme' })
    await run()
    const [mail, ...others] = await sent(workspaceId)
    expect(others).toEqual([])
    expect(mail).toMatchObject({ recipient: 'juma@Bücher.example', sender: 'Acme' })
    expect(mail?.content).toMatchObject({ html: '<p>N1</p>' })
    bench.clock.advance(1_000)
    await bench.storage.write(({ suppressions }) =>
      suppressions.add([
        {
          ...{ workspace_id: workspaceId, channel: 'email' },
          address: 'juma@xn--bcher-kva.example',
          ...{ reason: 'opt_out', created_at: bench.clock.now() },
        },
      ]),
    )
    const { results } = await broadcasts.get(workspaceId, id)
    expect(results).toMatchObject({ queued: 1, unsubscribed: 1 })
  })

  it('sends no marketing e-mails without one-click unsubscribe', async () => {
    const { workspaceId, identity, templates } = await stage(0)
    const email = 'n1@example.com'
    const row = contactOf(workspaceId, 1, { email, email_key: email })
    await bench.storage.write(({ contacts }) => contacts.insert([row]))
    const id = await make(featureOn(bench.storage).broadcasts, identity, { channel: 'email' })
    const { broadcasts, run } = featureOn(bench.storage, () => 'it is off')
    const refused = /^Template news: .* lack one-click unsubscribe \(RFC 8058\), because it is off/
    const asked = request({ channel: 'email' })
    await expect(broadcasts.create(identity, asked)).rejects.toThrow(refused)
    await expect(broadcasts.preview(identity, asked)).rejects.toThrow(refused)
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({
      ...{
        status: 'paused',
        pause: { reason: 'template', message: expect.stringMatching(refused) },
      },
    })
    const headers = { 'List-Unsubscribe': '<https://acme.example>', 'list-unsubscribe-post': 'x' }
    const content = { subject: 'News', text: 'News', headers }
    const variants = [{ channel: 'email' as const, locale: 'en', content }]
    await templates.update(workspaceId, 'news', { variants })
    await templates.publish(workspaceId, 'news')
    await broadcasts.resume(identity, id)
    await run()
    expect(await sent(workspaceId)).toMatchObject([{ recipient: email, content: { headers } }])
  })

  it('lists its recipients by what happened to them', async () => {
    const { workspaceId, identity } = await stage(0)
    const [good, full, gone, cross] = ['Good@x', 'full@x', 'gone@x', 'cross@Bücher'].map(
      (one) => `${one}.example`,
    )
    const mails = [good, full, gone, cross] as string[]
    const contacts = mails.map((email, i) =>
      contactOf(workspaceId, i, { phone: null, email, email_key: emailKey(email) }),
    )
    const suppress = (address: string, reason: 'bounce' | 'complaint' | 'opt_out') =>
      bench.storage.write(({ suppressions }) =>
        suppressions.add([
          {
            ...{ workspace_id: workspaceId, channel: 'email', address: emailKey(address), reason },
            created_at: bench.clock.now(),
          },
        ]),
      )
    await bench.storage.write((stores) => stores.contacts.insert(contacts))
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity, { channel: 'email' })
    await suppress('stranger@x.example', 'complaint')
    await run()
    bench.clock.advance(1_000)
    const failed = { type: 'rejected', error_code: 'bounced', error_message: 'no' } as const
    for (const message of await bench.claimMessages()) {
      const isBounce = [full, gone].includes(message.recipient)
      const status = message.recipient === good ? ({ status: 'delivered' } as const) : {}
      const accepted = { provider_message_id: message.message_id, lookup_after_ms: null }
      await settle(message, isBounce ? failed : { type: 'accepted', ...accepted, ...status })
    }
    await suppress(gone ?? '', 'bounce')
    await suppress(cross ?? '', 'complaint')
    await suppress(good?.toLowerCase() ?? '', 'opt_out')

    type Query = Parameters<typeof broadcasts.recipients>[2]
    const list = (event: Query['event'], more: Partial<Query> = {}) =>
      broadcasts.recipients(workspaceId, id, { event, limit: 10, ...more })
    const addresses = async (event: Query['event'], more: Partial<Query> = {}) =>
      (await list(event, more)).recipients.map(({ address }) => address)
    expect(await addresses('sent')).toEqual([cross, good])
    expect(await addresses('delivered')).toEqual([good])
    expect(await addresses('complained')).toEqual([cross])
    expect(await addresses('unsubscribed')).toEqual([good])
    expect((await list('bounced')).recipients).toMatchObject([
      { address: gone, contact_id: contacts[2]?.id, is_permanent: true },
      { address: full, contact_id: contacts[1]?.id, is_permanent: false },
    ])
    expect(await addresses('bounced', { is_permanent: true })).toEqual([gone])
    expect(await addresses('bounced', { is_permanent: false })).toEqual([full])
    expect(await addresses('sent', { address: 'good@X.example' })).toEqual([good])
    expect(await list('sent', { limit: 1 })).toMatchObject({ has_more: true })
    expect(await list('sent', { limit: 2 })).toMatchObject({ has_more: false })
    const [last] = (await list('sent')).recipients
    expect(await addresses('sent', { after: last?.message_id })).toEqual([good])
    const stranger = await bench.workspace()
    await expect(broadcasts.recipients(stranger, id, { event: 'sent', limit: 10 })).rejects.toThrow(
      'Broadcast not found',
    )
  })

  it('leaves out a contact whose message is not possible', async () => {
    const { workspaceId, identity, templates } = await stage(2)
    await templates.update(workspaceId, 'news', {
      variants: [{ channel: 'sms', locale: 'en', content: { text: 'Code {{code}}' } }],
    })
    await templates.publish(workspaceId, 'news')
    await bench.storage.write(({ contacts }) =>
      contacts.insert([contactOf(workspaceId, 2, { attributes: { code: 7 } })]),
    )
    const { broadcasts, run } = featureOn(bench.storage)
    const preview = await broadcasts.preview(identity, request())
    expect(preview).toMatchObject({ contacts: 3, sendable: 1, rejected: 2 })
    expect(preview.faults).toHaveLength(2)
    expect(preview.faults[0]?.message).toBe('No value for {{code}}')
    const id = await make(broadcasts, identity)
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({
      status: 'finished',
      counts: { contacts: 3, accepted: 1, rejected: 2 },
    })
  })

  it('cannot be paused or canceled into a lost or a repeated message', async () => {
    const { workspaceId, identity } = await stage(6)
    const { storage } = bench
    const plain = featureOn(storage)
    const id = await make(plain.broadcasts, identity)
    // The pause comes when the step is planned and not committed yet.
    const paused = featureOn(
      watched(storage, { beforeAccept: () => plain.broadcasts.pause(workspaceId, id) }),
    )
    await paused.run()
    expect(await sent(workspaceId)).toEqual([])
    expect((await bench.account(workspaceId)).balance).toBe(1_000 * SMS_PRICE)
    await expect(plain.broadcasts.pause(workspaceId, id)).rejects.toMatchObject({
      code: 'validation_error',
    })
    await plain.broadcasts.resume(identity, id)
    const canceled = featureOn(
      watched(storage, { beforeAccept: () => plain.broadcasts.cancel(workspaceId, id) }),
    )
    await canceled.run()
    expect(await sent(workspaceId)).toEqual([])
    await expect(plain.broadcasts.resume(identity, id)).rejects.toMatchObject({
      code: 'validation_error',
    })
  })

  it('does no step of a broadcast that was paused after it was read', async () => {
    const { workspaceId, identity } = await stage(1)
    const { broadcasts, step } = featureOn(bench.storage)
    const id = await make(broadcasts, identity)
    const [row] = await bench.storage.read.broadcasts.due(bench.clock.now(), 1)
    await broadcasts.pause(workspaceId, id)
    expect(row && (await step(row))).toBe(false)
    expect((await broadcasts.get(workspaceId, id)).broadcast.status).toBe('paused')
  })

  it('cancels what is queued and returns its credits, also after the end', async () => {
    const { workspaceId, identity } = await stage(6)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity, { rate: 12 })
    for (let i = 0; i < 5; i++) {
      await run()
      bench.clock.advance(MINUTE_MS)
    }
    expect((await broadcasts.get(workspaceId, id)).broadcast.status).toBe('finished')
    await broadcasts.cancel(workspaceId, id)
    await run()
    const { broadcast, results } = await broadcasts.get(workspaceId, id)
    expect(broadcast.status).toBe('canceled')
    expect(results).toMatchObject({
      queued: 0,
      failed: 6,
      canceled: 6,
      failures: [],
      credits_refunded: 6 * SMS_PRICE,
    })
    expect((await bench.account(workspaceId)).balance).toBe(1_000 * SMS_PRICE)
    expect(await bench.storage.read.broadcasts.due(bench.clock.now(), 10)).toEqual([])
  })

  it('sends no message that was in flight when it was canceled and is queued again', async () => {
    const { workspaceId, identity } = await stage(2)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity)
    await run()
    const [first, second] = await bench.claimMessages()
    if (!first || !second) throw new Error('no claim')
    await broadcasts.cancel(workspaceId, id)
    await run()
    await run()
    expect(await bench.storage.read.broadcasts.due(bench.clock.now(), 10)).toEqual([])
    const busy = { error_code: 'busy', error_message: 'Busy', delay_ms: 1_000 }
    await settle(first, { type: 'retry', ...busy })
    await settle(second, {
      ...{ type: 'accepted', provider_message_id: 'p2', lookup_after_ms: null },
    })
    bench.clock.advance(MINUTE_MS)
    expect(await bench.claimMessages()).toEqual([])
    await run()
    await run()
    expect((await broadcasts.get(workspaceId, id)).results).toMatchObject({
      ...{ queued: 0, sent: 1, canceled: 1, credits_refunded: SMS_PRICE },
    })
    expect(await bench.storage.read.bulks.held(workspaceId, id, 10)).toEqual([])
    bench.clock.advance(60 * MINUTE_MS)
    expect(await bench.storage.read.broadcasts.due(bench.clock.now(), 10)).toEqual([])
  })

  it('holds no message of a broadcast whose cancellation ended without it, in an earlier version', async () => {
    const { workspaceId, identity } = await stage(1)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity)
    await run()
    const [message] = await bench.claimMessages()
    if (!message) throw new Error('no claim')
    await broadcasts.cancel(workspaceId, id)
    await bench.storage.write((stores) =>
      stores.broadcasts.change(workspaceId, id, { next_at: null }),
    )
    const busy = { error_code: 'busy', error_message: 'Busy', delay_ms: 1_000 }
    await settle(message, { type: 'retry', ...busy })
    bench.clock.advance(MINUTE_MS)
    expect(await bench.claimMessages()).toMatchObject([{ message_id: message.message_id }])
  })

  it('makes no calls, whose holds a bulk cannot settle', async () => {
    const { workspaceId, identity } = await stage(1)
    const { broadcasts, run } = featureOn(bench.storage)
    const refused = { code: 'validation_error', message: expect.stringContaining('one of: sms,') }
    const voice = { channel: 'voice' } as unknown as Partial<NewBroadcast>
    expect(endpoints.create.body.safeParse(request(voice)).error?.issues).toMatchObject([
      { path: ['channel'], message: refused.message },
    ])
    const id = await make(broadcasts, identity)
    // An earlier version stored such broadcasts.
    await bench.storage.write((stores) =>
      stores.broadcasts.change(workspaceId, id, { channel: 'voice' }),
    )
    await expect(broadcasts.update(identity, id, { name: 'Calls' })).rejects.toMatchObject(refused)
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({
      ...{ status: 'paused', pause: { reason: 'template', message: refused.message } },
    })
    expect((await bench.account(workspaceId)).balance).toBe(1_000 * SMS_PRICE)
  })

  it('cancels the messages of many steps, each once, when the process dies meanwhile', async () => {
    const { workspaceId, identity } = await stage(22)
    const { storage } = bench
    let crashes = 0
    for (let at = 0; ; at += CRASH_STEP) {
      const { broadcasts, run } = featureOn(storage)
      const id = await make(broadcasts, identity, { rate: 6 })
      for (let i = 0; i < 24; i++) {
        await run()
        bench.clock.advance(MINUTE_MS / 6)
      }
      await broadcasts.cancel(workspaceId, id)
      const crash = crashing(storage, at)
      await featureOn(crash.storage).run()
      if (!crash.has_crashed()) {
        // Twenty bulks are one step.
        expect(await storage.read.broadcasts.due(bench.clock.now(), 10)).toEqual([])
      }
      await featureOn(storage).run()
      expect((await broadcasts.get(workspaceId, id)).results, `crash ${at}`).toMatchObject({
        ...{ queued: 0, failed: 22, canceled: 22, credits_refunded: 22 * SMS_PRICE },
      })
      expect((await bench.account(workspaceId)).balance).toBe(1_000 * SMS_PRICE)
      if (!crash.has_crashed()) break
      crashes += 1
    }
    // Two steps with their cancellation, and the end, each with a crash before and after its commit.
    expect(crashes).toBe(Math.ceil(10 / CRASH_STEP))
  })

  /** A finished broadcast to three contacts, whose messages go in four hours, an hour later and at no time. */
  async function waiting() {
    const { workspaceId, identity } = await stage(0)
    const zones = ['Etc/UTC', 'Etc/GMT+1', 'Etc/GMT+12']
    const rows = zones.map((time_zone, i) =>
      contactOf(workspaceId, i, { attributes: { time_zone } }),
    )
    await bench.storage.write(({ contacts }) => contacts.insert(rows))
    const feature = featureOn(bench.storage)
    const scheduled_at = new Date(bench.clock.now().getTime() + 4 * 60 * MINUTE_MS)
    const id = await make(feature.broadcasts, identity, { scheduled_at, time_zone: 'recipient' })
    await feature.run()
    const stateOf = async () => (await feature.broadcasts.get(workspaceId, id)).broadcast
    expect(await stateOf()).toMatchObject({ status: 'finished', counts: { accepted: 3 } })
    const ids = (await sent(workspaceId)).map((message) => message.id)
    const claimed = async () =>
      (await bench.claimMessages()).flatMap(({ message_id }) => {
        const at = ids.indexOf(message_id)
        return at < 0 ? [] : at
      })
    return { ...feature, ...{ workspaceId, identity, id, stateOf, claimed, ids } }
  }

  const settle = (message: ClaimedMessage, outcome: Outcome) =>
    bench.settle(message, { task: 'send', attempt: message.attempt, outcome })

  it('holds accepted messages while it is paused, and sends them after it', async () => {
    const { broadcasts, run, workspaceId, identity, id, stateOf, claimed, ids } = await waiting()
    const before = await stateOf()
    expect(await broadcasts.pause(workspaceId, id)).toMatchObject({
      status: 'paused',
      pause: { reason: 'requested' },
    })
    await expect(broadcasts.pause(workspaceId, id)).rejects.toThrow('it cannot be paused')
    bench.clock.advance(4.5 * 60 * MINUTE_MS)
    expect(await claimed()).toEqual([])
    // A held message is read by one claim only, so that others do not wait behind it.
    const others = [await bench.queued(workspaceId), await bench.queued(workspaceId)]
    const taken = [
      ...(await bench.claimMessages({ limit: 1 })),
      ...(await bench.claimMessages({ limit: 1 })),
    ].map(({ message_id }) => message_id)
    expect(taken.toSorted()).toEqual(others.map((message) => message.id).toSorted())
    const held = await bench.storage.read.bulks.held(workspaceId, id, 10)
    expect(held.map((message) => message.id)).toEqual([ids[0]])
    expect((await broadcasts.get(workspaceId, id)).results.queued).toBe(3)
    await run()
    expect(await claimed()).toEqual([])

    const at = bench.clock.advance(25 * 60 * MINUTE_MS)
    await broadcasts.resume(identity, id)
    expect(await stateOf()).toMatchObject({
      status: 'finished',
      finished_at: before.finished_at,
      pause: null,
    })
    await run()
    expect(await bench.message(workspaceId, ids[0] as string)).toMatchObject({ scheduled_at: at })
    expect(await bench.reportsOf(workspaceId, ids[0] as string)).toMatchObject([
      { error_code: 'rescheduled', error_message: expect.stringContaining('The pause ended') },
    ])
    // Those that no claim had read go too.
    expect((await claimed()).toSorted()).toEqual([0, 1, 2])
    await run()
    expect(await bench.storage.read.broadcasts.due(bench.clock.now(), 10)).toEqual([])
    expect((await stateOf()).status).toBe('finished')
  })

  it('sends held messages at their time if it is resumed before', async () => {
    const { broadcasts, run, workspaceId, identity, id, claimed } = await waiting()
    await broadcasts.pause(workspaceId, id)
    bench.clock.advance(4.5 * 60 * MINUTE_MS)
    expect(await claimed()).toEqual([])
    await broadcasts.resume(identity, id)
    await run()
    expect(await claimed()).toEqual([0])
    bench.clock.advance(60 * MINUTE_MS)
    expect(await claimed()).toContain(1)
  })

  it('cancels and refunds held messages', async () => {
    const { broadcasts, run, workspaceId, id, claimed } = await waiting()
    await broadcasts.pause(workspaceId, id)
    bench.clock.advance(6 * 60 * MINUTE_MS)
    expect(await claimed()).toEqual([])
    await broadcasts.cancel(workspaceId, id)
    await run()
    expect((await broadcasts.get(workspaceId, id)).results).toMatchObject({
      ...{ queued: 0, canceled: 3, credits_refunded: 3 * SMS_PRICE },
    })
    expect((await bench.account(workspaceId)).balance).toBe(1_000 * SMS_PRICE)
    expect(await bench.storage.read.bulks.held(workspaceId, id, 10)).toEqual([])
  })

  it('cannot be paused when it is finished and no message waits', async () => {
    const { workspaceId, identity } = await stage(1)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity)
    await run()
    const [message] = await bench.claimMessages()
    if (message)
      await settle(message, { type: 'accepted', provider_message_id: 'p1', lookup_after_ms: null })
    bench.clock.advance(MINUTE_MS)
    await run()
    await expect(broadcasts.pause(workspaceId, id)).rejects.toThrow(
      'The broadcast is finished, and no message waits: it cannot be paused',
    )
  })

  it('holds the messages of a broadcast that paused itself only after a request', async () => {
    const { workspaceId, identity } = await stage(2, 1)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity, { rate: 6 })
    await run()
    bench.clock.advance(MINUTE_MS)
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({
      ...{ pause: { reason: 'insufficient_credits' }, counts: { accepted: 1 } },
    })
    const requeued = async () => {
      const [message] = await bench.claimMessages()
      if (message) {
        const busy = { error_code: 'busy', error_message: 'Busy', delay_ms: null }
        await settle(message, { type: 'retry', ...busy })
      }
      bench.clock.advance(60 * MINUTE_MS)
      return message !== undefined
    }
    expect(await requeued()).toBe(true)
    await broadcasts.pause(workspaceId, id)
    expect(await requeued()).toBe(false)
    await broadcasts.resume(identity, id)
    await run()
    expect(await requeued()).toBe(true)
    expect((await broadcasts.get(workspaceId, id)).broadcast.pause).toMatchObject({
      reason: 'insufficient_credits',
    })
  })

  it('leaves no message held when it is resumed while claims hold its messages', async () => {
    const { workspaceId, identity } = await stage(40)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity, { rate: 240 })
    await run()
    const claimed = new Set<string>()
    for (let i = 0; i < 12; i++) {
      await broadcasts.pause(workspaceId, id)
      const [first, second] = await Promise.all([
        bench.claimMessages({ limit: 3 }),
        bench.claimMessages({ limit: 3 }),
        broadcasts.resume(identity, id),
      ])
      for (const { message_id } of [...first, ...second]) claimed.add(message_id)
      bench.clock.advance(1_000)
      await run()
      expect(await bench.storage.read.bulks.held(workspaceId, id, 100)).toEqual([])
    }
    for (const { message_id } of await bench.claimMessages()) claimed.add(message_id)
    expect(claimed.size).toBe((await sent(workspaceId)).length)
  })

  it('pauses when its key may not send any more, and continues with another', async () => {
    const { workspaceId, identity, key } = await stage(3)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity)
    await bench.storage.write(({ apiKeys }) => apiKeys.deactivate(workspaceId, key.id))
    await run()
    expect((await broadcasts.get(workspaceId, id)).broadcast).toMatchObject({
      pause: { reason: 'credential' },
      counts: { accepted: 0 },
    })
    // The owner, in a session.
    await broadcasts.resume({ ...identity, api_key_id: workspaceId }, id)
    await run()
    expect(await sent(workspaceId)).toHaveLength(3)
  })

  it('is paused by the end of a pause after a restore', async () => {
    const { workspaceId, identity } = await stage(30)
    const { storage, clock } = bench
    const { broadcasts, run } = featureOn(storage)
    const running = await make(broadcasts, identity, { rate: 60 })
    const scheduled_at = new Date(clock.now().getTime() + 10 * MINUTE_MS)
    const later = await make(broadcasts, identity, { scheduled_at })
    const paused = await make(broadcasts, identity)
    await broadcasts.pause(workspaceId, paused)
    await run()
    const gate = { is_paused: false, refresh: async () => {} }
    const control = createDispatchControl({ storage, runtime: clock, gate })
    await control.stop({ reason: 'restored', backup_at: clock.now() })
    clock.advance(MINUTE_MS)
    await control.resume('send')
    const stateOf = async (id: string) => (await broadcasts.get(workspaceId, id)).broadcast
    expect(await stateOf(running)).toMatchObject({ pause: { reason: 'restored' } })
    expect(await stateOf(later)).toMatchObject({ status: 'scheduled' })
    // A request may have resumed it after the backup.
    expect(await stateOf(paused)).toMatchObject({ pause: { reason: 'restored' } })
    await run()
    expect(await sent(workspaceId)).toHaveLength(10)
    expect(await bench.claimMessages()).toEqual([])
    await broadcasts.resume(identity, running)
    await run()
    expect(await bench.claimMessages()).not.toEqual([])
  })

  it('answers a repeated request with the same key, and makes no second broadcast', async () => {
    const { workspaceId, identity } = await stage(1)
    const { broadcasts } = featureOn(bench.storage)
    const options = { idempotency_key: 'may' }
    const first = await broadcasts.create(identity, request(), options)
    const again = await broadcasts.create(identity, request(), options)
    expect(again).toEqual({ ...first, replayed: true })
    expect((await broadcasts.list(workspaceId, EVERYTHING)).total).toBe(1)
    await expect(broadcasts.create(identity, request({ rate: 5 }), options)).rejects.toMatchObject({
      code: 'validation_error',
    })
  })

  it('names the templates that only ended broadcasts name, the oldest first', async () => {
    const { workspaceId, templates } = await stage(0)
    const other = await stage(0)
    const variants = [{ channel: 'sms' as const, locale: 'en', content: { text: 'Hi' } }]
    for (const name of ['unused', 'second', 'first', 'open', 'both', 'deleted']) {
      await templates.create(workspaceId, {
        ...{ name, category: 'marketing', variables: [], variants },
      })
    }
    // With a version, which keeps the row.
    await templates.publish(workspaceId, 'deleted')
    await templates.delete(workspaceId, 'deleted')
    const statuses = {
      first: ['finished'],
      second: ['canceled', 'finished'],
      open: ['paused'],
      both: ['finished', 'draft'],
      deleted: ['finished'],
    } as const
    await bench.storage.write(async ({ broadcasts }) => {
      for (const [template, all] of Object.entries(statuses)) {
        for (const status of all) {
          await broadcasts.insert(bench.make.broadcast(workspaceId, { template, status }))
        }
      }
      const theirs = { template: 'news', status: 'finished' } as const
      await broadcasts.insert(bench.make.broadcast(other.workspaceId, theirs))
    })
    const { broadcasts } = featureOn(bench.storage)
    // In the order of the templates, not of the broadcasts.
    expect(await broadcasts.endedTemplates(workspaceId)).toEqual(['second', 'first'])
    expect(await broadcasts.endedTemplates(other.workspaceId)).toEqual(['news'])
  })

  it('announces a pause and the end', async () => {
    const { workspaceId, identity } = await stage(2, 1)
    await bench.webhook(workspaceId)
    const { broadcasts, run } = featureOn(bench.storage)
    const id = await make(broadcasts, identity)
    await run()
    await broadcasts.cancel(workspaceId, id)
    const done = await make(broadcasts, identity, { audience: { tags: ['none'] } })
    await run()
    const events = (await bench.claimDeliveries()).map(({ body }) => JSON.parse(body as string))
    expect(events).toMatchObject([
      {
        event: 'broadcast.paused',
        data: { broadcast_id: id, pause_reason: 'insufficient_credits', accepted: 0 },
      },
      { event: 'broadcast.finished', data: { broadcast_id: done, status: 'finished' } },
    ])
  })

  it('sends each contact one message when the process dies before or after any write', async () => {
    const { workspaceId, identity, contacts } = await stage(9)
    // Steps of two messages; one contact gets none.
    await bench.storage.write(({ suppressions }) =>
      suppressions.add([
        {
          ...{ workspace_id: workspaceId, channel: 'sms', address: contacts[4]?.phone ?? '' },
          ...{ reason: 'opt_out', created_at: bench.clock.now() },
        },
      ]),
    )
    let crashes = 0
    for (let at = 0; ; at += CRASH_STEP) {
      const before = (await sent(workspaceId)).length
      const setUp = featureOn(bench.storage)
      const id = await make(setUp.broadcasts, identity, { rate: 12 })
      const crash = crashing(bench.storage, at)
      const first = featureOn(crash.storage)
      await runToEnd(first.run)
      const second = featureOn(bench.storage)
      await runToEnd(second.run)
      const { broadcast } = await second.broadcasts.get(workspaceId, id)
      expect(broadcast, `crash ${at}`).toMatchObject({
        status: 'finished',
        counts: { contacts: 9, accepted: 8, suppressed: 1 },
        credits_used: 8 * SMS_PRICE,
      })
      const messages = (await sent(workspaceId)).slice(before)
      expect(
        messages.map(({ recipient }) => recipient),
        `crash ${at}`,
      ).toEqual(contacts.filter((_, i) => i !== 4).map(({ phone }) => phone))
      const balance = (1_000 - before - 8) * SMS_PRICE
      expect((await bench.account(workspaceId)).balance).toBe(balance)
      if (!crash.has_crashed()) break
      crashes += 1
    }
    // The start, five steps and the end, each with a crash before and after its commit. A step with half of its messages is enough.
    expect(crashes).toBe(Math.ceil(14 / CRASH_STEP))
  })

  it('sends each contact one message when several servers do its steps at once', async () => {
    const { workspaceId, identity, contacts } = await stage(40)
    const id = await make(featureOn(bench.storage).broadcasts, identity, { rate: 240 })
    const servers = [1, 2, 3].map(() => featureOn(bench.storage))
    for (let i = 0; i < 4; i++) {
      const [row] = await bench.storage.read.broadcasts.due(bench.clock.now(), 1)
      if (row) await Promise.all(servers.map(({ step }) => step(row)))
      bench.clock.advance(MINUTE_MS)
    }
    const { broadcast } = await (servers[0] as (typeof servers)[0]).broadcasts.get(workspaceId, id)
    expect(broadcast).toMatchObject({ status: 'finished', counts: { accepted: 40 } })
    expect((await sent(workspaceId)).map(({ recipient }) => recipient)).toEqual(
      contacts.map(({ phone }) => phone),
    )
  })

  async function runToEnd(run: () => Promise<void>): Promise<void> {
    for (let i = 0; i < 8; i++) {
      await run()
      bench.clock.advance(MINUTE_MS)
    }
  }
}

/** A storage that calls back before the first `accept`. */
function watched(
  storage: Storage,
  { beforeAccept }: { beforeAccept: () => Promise<unknown> },
): Storage {
  let isFirst = true
  const accept: Storage['hot']['accept'] = async (requests) => {
    if (isFirst) {
      isFirst = false
      await beforeAccept()
    }
    return storage.hot.accept(requests)
  }
  return withWrites(storage, { accept, write: (work) => storage.write(work) })
}

/**
 * The storage of a process that dies at a write: with an even number before its commit, with an odd one after it. Nothing
 * works any more then.
 */
function crashing(storage: Storage, at: number): { storage: Storage; has_crashed: () => boolean } {
  let writes = 0
  let isDead = false
  async function around<T>(commit: () => Promise<T>): Promise<T> {
    const number = writes++
    if (isDead) throw new Error('the process is dead')
    if (number * 2 === at) {
      isDead = true
      throw new Error('the process died before the commit')
    }
    const result = await commit()
    if (number * 2 + 1 === at) {
      isDead = true
      throw new Error('the process died after the commit')
    }
    return result
  }
  const dying = withWrites(storage, {
    accept: (requests) => around(() => storage.hot.accept(requests)),
    settle: (settlements) => around(() => storage.hot.settle(settlements)),
    write: (work) => around(() => storage.write(work)),
  })
  return { storage: dying, has_crashed: () => isDead }
}

function withWrites(
  storage: Storage,
  {
    write,
    ...hot
  }: Pick<Storage['hot'], 'accept'> &
    Partial<Pick<Storage['hot'], 'settle'>> &
    Pick<Storage, 'write'>,
): Storage {
  return { ...storage, read: storage.read, hot: { ...storage.hot, ...hot }, write }
}
