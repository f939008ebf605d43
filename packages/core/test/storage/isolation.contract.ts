import { expect, it } from 'vitest'
import { auditRow, SERVICE } from '../../src/audit/entry.ts'
import { units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import type { Sealed } from '../../src/rows/sealed.ts'
import type { Reads } from '../../src/storage/ports/storage.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

const BULK_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

const BROADCAST_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02'

const DAY = '2026-05-04'

const TEST_USE = {
  day: 20_577,
  messages: 1,
  bytes: 20,
  test_messages_per_day: 10,
  test_bytes_per_day: 1_000,
}

const CONTACT_KEYS = {
  phone: '+255700000009',
  email_key: 'asha@example.com',
  external_id: 'crm-1',
  search_text: 'asha',
}
const SUPPRESSION = {
  channel: 'sms',
  address: '+255700000009',
  reason: 'manual',
  created_at: new Date('2026-05-04T09:00:00Z'),
} as const

const RECEIVED = {
  channel: 'sms',
  provider: 'carrier',
  provider_message_id: 'M1',
  sender: '+255700000009',
  recipient: '+255700000001',
  keyword: null,
  livemode: true,
  created_at: new Date('2026-05-04T09:00:00Z'),
} as const

const ANSWER = { route: 'billing.checkout', key: 'k', request_hash: 'h', response: '{}' }

const VIPS = { tags: ['vip'], exclude_tags: ['staff'] }

const BULK_ANSWER = {
  route: 'bulks.send',
  key: 'k',
  request_hash: 'h',
  response: '{"messages":[{"to":"+255700000009"}]}',
}

/**
 * The queries of a stranger about another workspace's rows; a read verb that is not listed does not compile. Only the
 * payment provider queries its sessions and payments; the walk of the retention and the operator's audit log cover all
 * workspaces.
 */
type Questions = {
  [Store in keyof Reads]: {
    [Verb in Exclude<
      keyof Reads[Store],
      | 'bySession'
      | 'byToken'
      | 'ofUser'
      | 'byPayment'
      | 'due'
      | 'dueFallbacks'
      | 'ofAll'
      | 'namesOf'
      | 'pausesOfAll'
      | 'overfull'
      | 'state'
    >]: () => Promise<unknown>
  }
}

const AT = new Date('2026-05-04T09:00:00Z')

/** The owner is a member in place of a user: a query needs no login. */
const MEMBER = (workspace_id: string) => ({
  workspace_id,
  user_id: workspace_id,
  role: 'viewer' as const,
  created_at: AT,
  updated_at: AT,
  invited_by: workspace_id,
  invited_at: AT,
})

const INVITATION = (workspace_id: string) => ({
  workspace_id,
  id: BULK_ID,
  email: 'asha@example.com',
  email_key: 'asha@example.com',
  role: 'viewer' as const,
  token_hash: workspace_id,
  expires_at: AT,
  created_at: AT,
  invited_by: workspace_id,
})

/** Workspaces never see, and never change, each other's rows. */
const FILE_HASH = 'ab'.repeat(32)
const EVER = { from: 0, until: 99_999 }
const CALLBACK_ORIGIN = 'https://hooks.acme.example'

export function isolationContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A workspace that has one of everything. */
  async function owner() {
    const workspaceId = await bench.workspace()
    await bench.storage.write(({ eventLog }) => eventLog.keep(true))
    const key = bench.make.apiKey(workspaceId, { sealed_key: 'svc_key' as Sealed })
    await bench.storage.write(async ({ apiKeys, members, savedFilters, invitations }) => {
      await apiKeys.insert(key)
      await members.add(MEMBER(workspaceId))
      const filter = { id: bench.clock.id(), name: 'failed', filter: { status: 'failed' as const } }
      await savedFilters.insert({ workspace_id: workspaceId, user_id: workspaceId, ...filter })
      await invitations.insert(INVITATION(workspaceId))
    })
    const webhook = await bench.webhook(workspaceId)
    await bench.webhook(workspaceId, {
      api_key_id: key.id,
      callback_origin: CALLBACK_ORIGIN,
      is_active: false,
    })
    const bulk = { bulk_id: BULK_ID, recipient: '+255700000009' }
    const request = bench.make.send(workspaceId, bulk)
    const spending = { api_key_id: key.id, day: DAY, limit: units(SMS_PRICE) }
    const row = bench.make.bulkRow(request.messages, {
      retry_of: BULK_ID,
      rejected: 1,
      broadcast_id: BROADCAST_ID,
    })
    const file = { workspace_id: workspaceId, sha256: FILE_HASH, size_bytes: 3, chunks: 1 }
    await bench.storage.write(async ({ files }) => {
      await files.begin(file, bench.clock.now())
      await files.addChunk(workspaceId, FILE_HASH, 0, 'AAAA')
      await files.complete(workspaceId, FILE_HASH)
    })
    const { id: message_id } = only(request.messages)
    await bench.accept({
      ...request,
      files: [{ workspace_id: workspaceId, message_id, number: 0, sha256: FILE_HASH }],
      bulk: row,
      rejections: bench.make.rejections(row, ['+255700000009']),
      spending,
      test_use: TEST_USE,
    })
    const message = only(request.messages)
    const claimed = only(await bench.claimMessages())
    const outcome = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    await bench.callback(message, 'sent')
    await bench.record(only(await bench.claimDeliveries()), { response_status: 500 })
    bench.clock.advance(10_000)
    const delivery = only(await bench.claimDeliveries())
    await bench.record(delivery)
    const contact = bench.make.contact(workspaceId, { ...CONTACT_KEYS, tags: ['vip'] })
    await bench.storage.write(async ({ contacts, suppressions, receivedMessages }) => {
      const content = { text: 'Thank you!', media: [] }
      const id = bench.clock.id()
      await receivedMessages.insert({ ...RECEIVED, id, workspace_id: workspaceId, content })
      await contacts.insert([contact])
      await suppressions.add([{ workspace_id: workspaceId, ...SUPPRESSION }])
    })
    const credits = createCredits({ storage: bench.storage, runtime: bench.clock })
    const expires_at = new Date('2027-05-04T09:00:00Z')
    await credits.grant(workspaceId, { amount: SMS_PRICE, actor: 'operator', expires_at })
    const hold = { message_id: 'call', n: 0, amount: SMS_PRICE, expires_at, channel: 'voice' }
    await credits.hold(workspaceId, { ...hold, quantity: null, unit_price: null })
    const purchase = bench.make.purchase(workspaceId)
    const conversation = {
      channel: 'sms',
      sender: '+255700000001',
      address: '+255700000009',
    } as const
    await bench.storage.write(
      async ({ purchases, idempotencyRecords, conversations, retention, audit }) => {
        const action = 'api_key.created'
        await audit.record(auditRow(bench.clock, SERVICE, { workspace_id: workspaceId, action }))
        await purchases.insert(purchase)
        await idempotencyRecords.keepFirst(workspaceId, ANSWER, bench.clock.now())
        await idempotencyRecords.keepFirst(workspaceId, BULK_ANSWER, bench.clock.now())
        const last_sent_at = bench.clock.now()
        await conversations.note([{ ...conversation, workspace_id: workspaceId, last_sent_at }])
        await retention.setMark(workspaceId, 'messages', '0')
      },
    )
    await bench.storage.write(({ recipientIndex }) =>
      recipientIndex.extend(workspaceId, '~', { batch: 1, segment_max: 1 }),
    )
    await bench.storage.write(({ creditSums }) => creditSums.extend(workspaceId, 1_000))
    const at = bench.clock.advance(1)
    const step = { until: at, kept_until: at, limit: 1, id: bench.clock.id(), at, key: 'k' }
    await bench.storage.write(({ ledgerOpenings }) => ledgerOpenings.fold(workspaceId, step))
    const domain = bench.make.domain(workspaceId)
    await bench.storage.write(({ sendingDomains }) => sendingDomains.insert(domain))
    return { workspaceId, purchase, contact, key, webhook, message, delivery, domain }
  }

  it('returns nothing for a foreign id', async () => {
    const { key, webhook, message, delivery, workspaceId, contact, purchase, domain } =
      await owner()
    const verification = bench.make.verification(workspaceId)
    const code = { verification, resends: null, response: () => '' }
    await bench.accept({ ...bench.make.send(workspaceId), code })
    const pause = { country: 'TZ', paused_at: verification.created_at, sent: 50, approved: 0 }
    await bench.storage.write(async ({ templates }) => {
      const published_at = bench.clock.now()
      const draft = {
        ...{ workspace_id: workspaceId, name: 'welcome', version: 1, published_at },
        ...{ description: null, category: 'transactional' as const, default_locale: 'en' },
        variables: [],
        variants: [{ channel: 'sms' as const, locale: 'en', content: { text: 'Hi' } }],
      }
      const version = { ...draft, plain_texts: {}, htmls: null, size_bytes: 90 }
      await templates.insertVersion(version)
      await templates.insert({
        ...draft,
        id: bench.clock.id(),
        kinds: [{ channel: 'sms', locale: 'en' }],
        is_changed: false,
        created_at: version.published_at,
        updated_at: version.published_at,
        deleted_at: null,
      })
    })
    const recipient = '+255700000010'
    // The debit of the bulk was booked with its first message.
    const queued = bench.make.send(workspaceId, { bulk_id: BULK_ID, recipient })
    await bench.accept({ ...queued, debit: null })
    await bench.storage.write(async ({ broadcasts, suppressions }) => {
      const paused = { status: 'paused', pause_reason: 'requested' } as const
      const held = { id: BROADCAST_ID, template: 'paused', ...paused }
      await broadcasts.insert(bench.make.broadcast(workspaceId, held))
      const ended = { template: 'welcome', status: 'finished' } as const
      await broadcasts.insert(bench.make.broadcast(workspaceId, ended))
      const of = { workspace_id: workspaceId, channel: 'sms', reason: 'opt_out' } as const
      await suppressions.add([{ ...of, address: recipient, created_at: bench.clock.now() }])
    })
    // A claim holds the message of the paused broadcast.
    await bench.claimMessages()
    const paused = { paused_at: bench.clock.now(), next_at: null }
    await bench.storage.write(({ bulks }) => bulks.change(workspaceId, BULK_ID, paused))
    await bench.storage.write(({ verifications }) =>
      verifications.notePause(
        { workspace_id: workspaceId, ...pause, allowed_until: null },
        new Date(0),
      ),
    )
    const stranger = await bench.workspace(0)
    const again = { at: bench.clock.now(), tries: 1 }
    await bench.storage.write(({ webhooks }) =>
      webhooks.requeue(workspaceId, webhook.id, [delivery.delivery_id], again),
    )
    const questions = (
      asker: string,
    ): Omit<
      Questions,
      | 'workspaces'
      | 'accountTokens'
      | 'sessions'
      | 'users'
      | 'secondFactors'
      | 'passkeys'
      | 'loginNetworks'
      | 'secrets'
      | 'sealedValues'
      | 'lowBalances'
      | 'webhookNotices'
      | 'messageParts'
      | 'overview'
      | 'providerPauses'
      | 'dispatchPauses'
      | 'parkedReceipts'
      | 'operators'
    > => {
      const {
        apiKeys,
        contacts,
        suppressions,
        credits,
        creditHolds,
        creditLots,
        creditSums,
        ledgerOpenings,
        purchases,
        idempotencyRecords,
        messages,
        recipientIndex,
        bulks,
        files,
        receivedMessages,
        webhooks,
        retention,
        history: past,
        erasure,
        audit,
        eventLog,
        sendingDomains,
        verifications,
        templates,
        broadcasts,
        members,
        savedFilters,
        invitations,
      } = bench.storage.read
      const keys = {
        phones: ['+255700000009'],
        email_keys: ['asha@example.com'],
        external_ids: ['crm-1'],
      }
      const begun = { provider: 'played', since: new Date(0), workspace_id: asker }
      const part = { search: 'asha', tag: 'vip' }
      const history = { from_id: '', before_id: '~' }
      const window = { after_id: '', last_id: '~' }
      const next = { after_id: '', before_id: '~', limit: 10 }
      const recipient = { kind: 'phone', address: '+255700000009' } as const
      const page = { after: null, limit: 10 }
      const filter = { bulk_id: BULK_ID, recipient: '+255700000009' }
      return {
        apiKeys: {
          list: () => apiKeys.list(asker, EVERYTHING),
          count: () => apiKeys.count(asker),
          byId: () => apiKeys.byId(asker, key.id),
          sealedKey: () => apiKeys.sealedKey(asker, key.id),
          spentOn: () => apiKeys.spentOn(asker, { api_key_id: key.id, day: DAY }),
          testUsage: () => apiKeys.testUsage(asker),
        },
        files: {
          ofMessages: () => files.ofMessages(asker, [message.id]),
          chunk: () => files.chunk(asker, FILE_HASH, 0),
        },
        ledgerOpenings: { of: () => ledgerOpenings.of(asker) },
        creditSums: {
          entriesAfter: () => creditSums.entriesAfter(asker, { seq: 0, limit: 10 }),
          days: async () => (await creditSums.days(asker, EVER)).days,
          causes: () => creditSums.causes(asker, EVER, 10),
          originNames: () =>
            creditSums.originNames(asker, { keys: [key.id], bulks: [], broadcasts: [] }),
        },
        recipientIndex: {
          state: () => recipientIndex.state(asker),
        },
        contacts: {
          byId: () => contacts.byId(asker, contact.id),
          byIds: () => contacts.byIds(asker, [contact.id]),
          holding: () => contacts.holding(asker, keys),
          names: () => contacts.names(asker, keys),
          withWords: () => contacts.withWords(asker, ['ash'], 10),
          attributes: () => contacts.attributes(asker, keys),
          list: () => contacts.list(asker, part, EVERYTHING),
          count: () => contacts.count(asker, part),
          tags: () => contacts.tags(asker, { limit: 10 }),
          audience: () =>
            contacts.audience(asker, VIPS, { after: '', until: contact.id, limit: 10 }),
          countAudience: () => contacts.countAudience(asker, VIPS, contact.id),
          newestId: async () => (await contacts.newestId(asker)) || null,
        },
        suppressions: {
          of: () => suppressions.of(asker, keys.phones),
          list: () => suppressions.list(asker, { channel: 'sms' }, EVERYTHING),
          count: () => suppressions.count(asker, {}),
        },
        credits: {
          account: async () => (await credits.account(asker))?.balance,
          entries: () => credits.entries(asker, EVERYTHING),
          entriesFrom: () => credits.entriesFrom(asker, { seq: 1, limit: 10 }),
          entriesAbout: () => credits.entriesAbout(asker, [BULK_ID]),
        },
        savedFilters: { list: () => savedFilters.list(asker, workspaceId) },
        members: {
          byId: () => members.byId(asker, workspaceId),
          list: () => members.list(asker),
          count: () => members.count(asker),
          invitedBy: () => members.invitedBy(asker, [workspaceId], new Date(0)),
        },
        invitations: { list: () => invitations.list(asker, new Date(0)) },
        creditHolds: { open: () => creditHolds.open(asker, EVERYTHING) },
        creditLots: {
          open: () => creditLots.open(asker),
          consumed: () => creditLots.consumed(asker, { after: 0, up_to: 1_000, kinds: ['send'] }),
        },
        purchases: {
          byId: () => purchases.byId(asker, purchase.id),
          list: () => purchases.list({ workspace_id: asker }, EVERYTHING),
          begun: () => purchases.begun(begun, { is_pending: true, after: null, limit: 10 }),
          countBegun: () => purchases.countBegun(begun),
        },
        idempotencyRecords: { byKey: () => idempotencyRecords.byKey(asker, ANSWER) },
        messages: {
          byId: () => messages.byId(asker, message.id),
          list: () => messages.list(asker, filter, EVERYTHING),
          listShort: () => messages.listShort(asker, filter, { ...EVERYTHING, content_length: 0 }),
          queuedOf: () =>
            messages.queuedOf(asker, message.channel, { ...EVERYTHING, content_length: 0 }),
          count: () => messages.count(asker, filter),
          countsSince: () => messages.countsSince(asker, { unit: 'day', from: new Date(0) }),
          attempts: () => messages.attempts(asker, message.id),
          events: () => messages.events(asker, message.id),
          ofBulk: () => messages.ofBulk(asker, BULK_ID),
          async search() {
            const page = { limit: 10, content_length: 0, examine: 10 }
            return (await messages.search(asker, { part: message.recipient }, page)).rows
          },
          errorsSince: () =>
            messages.errorsSince(asker, {
              status: 'sent',
              since: new Date(0),
              first_id: '',
              examine: 10,
            }),
          newestByPlace: () =>
            messages.newestByPlace(asker, {
              since: new Date(0),
              first_id: '',
              livemode: true,
              examine: 10,
            }),
        },
        bulks: {
          byId: () => bulks.byId(asker, BULK_ID),
          list: () => bulks.list(asker, {}, { ...EVERYTHING, content_length: 0 }),
          retryOf: () => bulks.retryOf(asker, BULK_ID),
          rejections: () => bulks.rejections(asker, BULK_ID, EVERYTHING),
          progress: async () => (await bulks.progress(asker, BULK_ID)).counts.sent,
          hasQueued: async () => Number(await bulks.hasQueued(asker, BULK_ID)),
          held: () => bulks.held(asker, BROADCAST_ID, 10),
          paused: () => bulks.paused(asker, undefined, 10),
        },
        receivedMessages: {
          async byId() {
            const received = only(await receivedMessages.list(workspaceId, {}, EVERYTHING))
            return receivedMessages.byId(asker, received.id)
          },
          list: () => receivedMessages.list(asker, { sender: '+255700000009' }, EVERYTHING),
          count: () => receivedMessages.count(asker, {}),
          newestOfAuthors: async () =>
            (await receivedMessages.newestOfAuthors(asker, {}, { limit: 10 })).rows,
        },
        webhooks: {
          byId: () => webhooks.byId(asker, webhook.id),
          byCallbackOrigin: () =>
            webhooks.byCallbackOrigin(asker, {
              api_key_id: key.id,
              callback_origin: CALLBACK_ORIGIN,
            }),
          list: () => webhooks.list(asker, EVERYTHING),
          count: () => webhooks.count(asker),
          deliveries: () => webhooks.deliveries(asker, webhook.id, EVERYTHING),
          countDeliveries: () => webhooks.countDeliveries(asker, webhook.id),
          delivery: () => webhooks.delivery(asker, webhook.id, delivery.delivery_id),
          nextDue: () => webhooks.nextDue(asker, webhook.id),
          deliveriesAfter: () =>
            webhooks.deliveriesAfter(asker, webhook.id, { after_id: '', limit: 10 }),
          deliveriesOf: () => webhooks.deliveriesOf(asker, message.id),
          eventBodies: () => webhooks.eventBodies(asker, [delivery.event_id]),
          attempts: () => webhooks.attempts(asker, webhook.id, delivery.delivery_id),
          attemptCounts: () =>
            webhooks.attemptCounts(asker, webhook.id, { from: 0, until: 1e6, hours_each: 1 }),
          lastFailures: () => webhooks.lastFailures(asker, webhook.id, { body_max: 10 }),
        },
        sendingDomains: {
          byId: () => sendingDomains.byId(asker, domain.id),
          byName: () => sendingDomains.byName(asker, domain.domain),
          list: () => sendingDomains.list(asker, EVERYTHING),
          count: () => sendingDomains.count(asker),
        },
        broadcasts: {
          byId: () => broadcasts.byId(asker, BROADCAST_ID),
          list: () => broadcasts.list(asker, undefined, EVERYTHING),
          count: () => broadcasts.count(asker, undefined),
          countOpen: () => broadcasts.countOpen(asker),
          endedTemplates: () => broadcasts.endedTemplates(asker),
          waiting: () => broadcasts.waiting(asker, BULK_ID, bench.clock.now()),
          totals: () => broadcasts.totals(asker, BROADCAST_ID),
          unsubscribed: () =>
            broadcasts.unsubscribed(asker, {
              ...{ id: BROADCAST_ID, channel: 'sms', started_at: new Date(0) },
            }),
          nextBulks: () => broadcasts.nextBulks(asker, BROADCAST_ID, { after: '', limit: 10 }),
          queued: () => broadcasts.queued(asker, [BULK_ID]),
          hasQueued: async () => Number(await broadcasts.hasQueued(asker, BROADCAST_ID)),
        },
        templates: {
          byName: () => templates.byName(asker, 'welcome'),
          list: () => templates.list(asker, EVERYTHING),
          count: () => templates.count(asker),
          version: () => templates.version(asker, 'welcome', 1),
          usable: () => templates.usable(asker, 'welcome', undefined),
          versions: () => templates.versions(asker, 'welcome', EVERYTHING),
          countVersions: () => templates.countVersions(asker, 'welcome'),
          sizeOfVersions: () => templates.sizeOfVersions(asker),
        },
        verifications: {
          byId: () => verifications.byId(asker, verification.id),
          list: () => verifications.list(asker, {}, EVERYTHING),
          count: () => verifications.count(asker, {}),
          naming: () => verifications.naming(asker, verification.recipient),
          totals: () => verifications.totals(asker, new Date(0)),
          pauses: () => verifications.pauses(asker),
          countsOf: () =>
            verifications.countsOf([{ workspace_id: asker, country: 'TZ' }], new Date(0)),
          progress: () =>
            verifications.progress(asker, { livemode: true, since_id: '', limit: 1_000 }),
        },
        retention: {
          mark: async () => (await retention.mark(asker, 'messages', '~')) || null,
          messages: () => retention.messages(asker, history, 10),
          events: () => retention.events(asker, history, 10),
          received: () => retention.received(asker, history, 10),
        },
        history: {
          ids: () => past.ids(asker, 'messages', next),
          bulks: () => past.bulks(asker, next, verification.created_at),
          webhooks: () => past.webhooks(asker),
          deliveries: () => past.deliveries(asker, webhook.id, next),
        },
        erasure: {
          windowEnd: () => erasure.windowEnd(asker, 'messages', { after_id: '', rows: 10 }),
          messagesTo: () => erasure.messagesTo(asker, recipient, window),
          receivedFrom: () => erasure.receivedFrom(asker, recipient, window),
          eventsNaming: () => erasure.eventsNaming(asker, recipient, window),
          eventsOf: () => erasure.eventsOf(asker, message.id, new Date('2027-01-01T00:00:00Z')),
          knownNames: () => erasure.knownNames(asker, [recipient.address]),
          conversations: () => erasure.conversations(asker, recipient),
          answers: () => erasure.answers(asker, recipient, page),
          rejections: () => erasure.rejections(asker, window),
        },
        audit: {
          list: () => audit.list(asker, {}, EVERYTHING),
          count: () => audit.count(asker, {}),
        },
        eventLog: { between: () => eventLog.between({ after: 0, until: 1_000_000 }, asker) },
      }
    }
    const answers = async (asker: string) =>
      Promise.all(
        Object.entries(questions(asker)).flatMap(([store, verbs]) =>
          Object.entries(verbs).map(async ([verb, run]) => [`${store}.${verb}`, await run()]),
        ),
      )
    const isNothing = (answer: unknown) =>
      answer === null || answer === 0 || (Array.isArray(answer) && answer.length === 0)

    for (const [verb, answer] of await answers(stranger)) {
      expect(isNothing(answer), `${verb} gave ${JSON.stringify(answer)}`).toBe(true)
    }
    for (const [verb, answer] of await answers(workspaceId)) {
      expect(isNothing(answer), `${verb} gave its owner nothing`).toBe(false)
    }
    expect(key.workspace_id).toBe(workspaceId)
  })

  it('changes no foreign key and removes no foreign webhook', async () => {
    const { workspaceId, key, webhook } = await owner()
    const stranger = await bench.workspace(0)
    const at = bench.clock.advance(1_000)
    const answers = await bench.storage.write(async ({ apiKeys, webhooks }) => {
      await apiKeys.touch([{ workspace_id: stranger, id: key.id, at }])
      return [
        await apiKeys.deactivate(stranger, key.id),
        await webhooks.remove(stranger, webhook.id),
      ]
    })
    expect(answers).toEqual([false, false])
    expect(await bench.storage.hot.findApiKey(key.key_hash)).toEqual(key)
    const { webhooks } = bench.storage.read
    expect(await webhooks.byId(workspaceId, webhook.id)).not.toBeNull()
    expect(await webhooks.countDeliveries(workspaceId, webhook.id)).toBe(1)
  })

  it('erases no foreign row', async () => {
    const { workspaceId, message, delivery } = await owner()
    const stranger = await bench.workspace(0)
    const recipient = { kind: 'phone', address: '+255700000009' } as const
    const { receivedMessages, messages, webhooks, erasure } = bench.storage.read
    const stands = async () => ({
      message: await messages.byId(workspaceId, message.id),
      events: await webhooks.eventBodies(workspaceId, [delivery.event_id]),
      tries: await webhooks.attempts(workspaceId, delivery.webhook_id, delivery.delivery_id),
      received: await receivedMessages.list(workspaceId, {}, EVERYTHING),
      conversations: await erasure.conversations(workspaceId, recipient),
      answers: await erasure.answers(workspaceId, recipient, { after: null, limit: 10 }),
      rejections: await bench.storage.read.bulks.rejections(workspaceId, BULK_ID, EVERYTHING),
    })
    // Not in the queue: nothing but whose it is keeps it.
    await bench.callback(message, 'delivered')
    const before = await stands()
    const ids = before.received.map(({ id }) => id)
    const at = bench.clock.advance(1_000)
    await bench.storage.write(async ({ erasure, retention, history }) => {
      const over = { until: bench.clock.advance(1_000), at }
      expect(await history.removeMessages(stranger, [message.id], over)).toBe(0)
      expect(await history.removeBulk(stranger, BULK_ID, { limit: 10, at })).toBe(false)
      const some = [delivery.delivery_id]
      expect(await history.removeDeliveries(stranger, delivery.webhook_id, some, over.until)).toBe(
        0,
      )
      expect(await history.removeEvents(stranger, [delivery.event_id])).toBe(0)
      expect(await history.removeReceived(stranger, ids)).toBe(0)
      expect(await erasure.messages(stranger, [message.id], at)).toEqual([])
      await erasure.rewriteEvents(stranger, [{ id: delivery.event_id, body: '{}' }])
      await erasure.forgetResponsesAbout(stranger, [message.id])
      expect(await erasure.removeReceived(stranger, ids)).toBe(0)
      await erasure.removeConversations(stranger, recipient)
      await erasure.rewriteAnswer(stranger, { ...BULK_ANSWER, response: '{}' })
      await erasure.eraseRejections(stranger, [{ bulk_id: BULK_ID, position: 0 }])
      const all = { from_id: '', before_id: '~' }
      expect(await retention.removeRejections(stranger, all, 10)).toBeNull()
      await retention.forgetResponses(stranger, { from_id: '', before_id: '~' })
      await retention.forgetConversations(stranger, [message], at)
    })
    expect(await stands()).toEqual(before)

    await bench.storage.write(async ({ erasure }) => {
      expect(await erasure.messages(workspaceId, [message.id], at)).toEqual([message.id])
      expect(await erasure.removeReceived(workspaceId, ids)).toBe(ids.length)
    })
  })

  it('settles no foreign message and records no foreign delivery, whatever token is shown', async () => {
    const { webhook, ...mine } = await owner()
    const stranger = await bench.workspace(0)
    const message = await bench.queued(mine.workspaceId)
    const claimed = only(await bench.claimMessages())
    const foreign = { ...claimed, workspace_id: stranger }
    const outcome = { type: 'rejected', error_code: 'unroutable', error_message: 'no' } as const

    expect(await bench.settle(foreign, { task: 'send', attempt: 1, outcome })).toBe(false)
    expect(await bench.settle(foreign, { task: 'callback', receipts: [] })).toBe(false)
    expect(await bench.message(mine.workspaceId, message.id)).toEqual(message)
    expect(await bench.account(stranger)).toMatchObject({ balance: 0, seq: 0 })

    await bench.callback(message, 'delivered')
    const delivery = only(await bench.claimDeliveries())
    expect(await bench.record({ ...delivery, workspace_id: stranger })).toBe(false)
    expect(await bench.record({ ...delivery, webhook_id: 'another' })).toBe(false)
    expect(await bench.record(delivery)).toBe(true)
    const { webhooks } = bench.storage.read
    expect(await webhooks.countDeliveries(mine.workspaceId, webhook.id)).toBe(2)
  })
}
