import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { createRecipients } from '../../src/retention/erasure.ts'
import { ended } from '../../src/rules/verify.ts'
import { codeSourceOf } from '../../src/secrets/codes.ts'
import { announceEnd } from '../../src/verifications/ends.ts'
import { connectTo } from '../postgres-client.ts'
import { benchFor, EVERYTHING, only } from '../storage/bench.ts'
import { ENGINES, postgres } from './engines.ts'
import { historySteps, SECRET } from './history.ts'

const ASHA = '+255700000009'
const JUMA = '+255700000010'
const MAIL = 'asha@example.com'
const NOTHING = {
  workspaces: 0,
  messages: 0,
  queued: 0,
  under_way: 0,
  received: 0,
  events: 0,
  conversations: 0,
  verifications: 0,
  contacts: 0,
  answers: 0,
  rejections: 0,
  suppressions: 0,
  other_addresses: [],
  months_not_searched: [],
}

describe.each(ENGINES)('erasing a recipient on %s', (_, engineOf) => {
  const engine = engineOf()
  const bench = benchFor(engine.open)
  const steps = historySteps(bench)
  const recipients = () => createRecipients({ storage: bench.storage, runtime: bench.clock })
  const suppressed = async (workspaceId: string) =>
    (await bench.storage.read.suppressions.of(workspaceId, [ASHA])).length

  const theOnly = async (workspaceId: string) =>
    only(await bench.storage.read.verifications.list(workspaceId, {}, EVERYTHING))

  /** A workspace in which the address stands wherever it can. */
  async function known(): Promise<string> {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await steps.done(workspaceId, ASHA)
    await steps.done(workspaceId, ASHA, { status: 'failed' })
    await steps.refused(workspaceId, ASHA)
    const received = await steps.received(workspaceId, ASHA)
    const scheduled_at = new Date(bench.clock.now().getTime() + 60_000)
    await bench.queued(workspaceId, { recipient: ASHA, scheduled_at })
    const contact = bench.make.contact(workspaceId, {
      phone: ASHA,
      email: 'Asha@example.com',
      email_key: 'asha@example.com',
      name: SECRET,
      search_text: SECRET,
      tags: [SECRET],
    })
    const at = bench.clock.now()
    const of = { workspace_id: workspaceId, created_at: at }
    const body = JSON.stringify({
      event: 'message.received',
      data: {
        message_id: received.id,
        channel: 'sms',
        sender: ASHA,
        recipient: '+255700000001',
        content: { text: SECRET, media: [] },
        provider_message_id: `wamid.${SECRET}`,
        occurred_at: at,
      },
    })
    const event = { event: 'message.received', message_id: received.id }
    const response = JSON.stringify({
      bulk_id: 'b',
      messages: [
        { index: 0, to: JUMA },
        { index: 1, to: ASHA },
      ],
      errors: [{ index: 2, to: ASHA, error: 'suppressed', message: 'no' }],
    })
    const answer = { route: 'bulks.send', key: 'k', request_hash: 'h', response }
    await bench.storage.write(async (stores) => {
      await stores.contacts.insert([contact])
      await stores.suppressions.add([{ ...of, channel: 'sms', address: ASHA, reason: 'opt_out' }])
      await stores.webhooks.queue({
        events: [{ ...of, ...event, id: bench.clock.id(), body }],
        deliveries: [],
        delivery_queue: [],
      })
      await stores.idempotencyRecords.keepFirst(workspaceId, answer, at)
      // As it is kept for a test key, and for a bulk of e-mails.
      for (const route of ['bulks.send test', 'bulks.sendEmails']) {
        await stores.idempotencyRecords.keepFirst(workspaceId, { ...answer, route }, at)
      }
    })
    return workspaceId
  }

  it('leaves nothing of an address, its suppressions forgotten too, whatever the age', async () => {
    const [first, second] = [await known(), await known()]
    await steps.received('', ASHA)
    await bench.storage.write(({ receivedMessages }) =>
      receivedMessages.insertPart({
        provider: 'carrier',
        sender: ASHA,
        recipient: '+255700000001',
        reference: 1,
        total: 2,
        number: 1,
        units: '0041',
        created_at: bench.clock.now(),
      }),
    )
    expect(await recipients().look(ASHA)).toEqual({
      workspaces: 3,
      messages: 6,
      queued: 2,
      under_way: 0,
      received: 3,
      events: 12,
      conversations: 2,
      verifications: 0,
      contacts: 2,
      answers: 6,
      rejections: 0,
      suppressions: 2,
      other_addresses: ['asha@example.com'],
      months_not_searched: [],
    })
    const balance = (await bench.account(first)).balance
    const done = await recipients().erase(ASHA, { forget_suppressions: true })
    expect(done).toMatchObject({ messages: 8, queued: 2, under_way: 0, events: 14, contacts: 2 })
    expect((await bench.account(first)).balance).toBeGreaterThan(balance)
    expect(await recipients().look(ASHA)).toEqual(NOTHING)

    const { messages, idempotencyRecords } = bench.storage.read
    const rows = await messages.list(second, {}, EVERYTHING)
    expect(rows.map(({ status, error_code }) => [status, error_code])).toEqual([
      ['failed', 'canceled'],
      ['failed', 'invalid_recipient'],
      ['failed', 'undelivered'],
      ['delivered', null],
    ])
    for (const route of ['bulks.send', 'bulks.send test', 'bulks.sendEmails']) {
      const answer = await idempotencyRecords.byKey(second, { route, key: 'k' })
      expect(JSON.parse(answer?.response ?? '')).toMatchObject({
        messages: [{ to: JUMA }, { to: 'erased' }],
        errors: [{ to: 'erased' }],
      })
    }
    expect(await verifyLedger(engine.url(), { now: bench.clock.now })).toMatchObject({
      differences: [],
    })
    const dump = await engine.dump()
    expect(dump).toContain(first)
    for (const gone of [ASHA, SECRET, 'wamid.', 'Asha@example.com', 'asha@example.com']) {
      expect(dump).not.toContain(gone)
    }
  })

  it('leaves nothing of the names under which WhatsApp knows the person', async () => {
    const [written, form, learned, id] = [
      ...['+525512345678', '+5215512345678', '+19995550100'],
      'MX.13491208655302741918',
    ] as const
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const whatsapp = { channel: 'whatsapp', content: { text: SECRET } } as const
    await steps.done(workspaceId, written, whatsapp)
    await steps.done(workspaceId, form, whatsapp)
    await steps.done(workspaceId, JUMA, whatsapp)
    for (const sender of [form, learned, id]) await steps.received(workspaceId, sender)
    const contact = bench.make.contact(workspaceId, { phone: form, name: SECRET })
    const created_at = bench.clock.now()
    const row = { workspace_id: workspaceId, channel: 'whatsapp' as const, created_at }
    await bench.storage.write(async ({ conversations, contacts, suppressions }) => {
      await contacts.insert([contact])
      await suppressions.add([{ ...row, address: written, reason: 'opt_out' } as const])
      const names = { address: written, other_number: learned, user_id: id }
      const between = { ...row, sender: '+255700000001', last_sent_at: bench.clock.now() } as const
      await conversations.note([{ ...between, ...names }])
    })
    const looked = await recipients().look(form)
    expect(looked).toMatchObject({
      ...{ messages: 2, received: 3, conversations: 2, contacts: 1, suppressions: 2 },
      other_addresses: [],
    })
    const options = { forget_suppressions: true }
    const erased = await recipients().erase(form, options)
    expect(erased).toMatchObject({ messages: 2, received: 3, conversations: 2, contacts: 1 })
    const dump = await engine.dump()
    for (const gone of [written, form, learned, id]) expect(dump).not.toContain(gone)
    expect(dump).toContain(JUMA)
  })

  it('keeps the suppressions of an address by default', async () => {
    const workspaceId = await known()
    expect(await recipients().erase(ASHA)).toMatchObject({ suppressions: 1 })
    expect(await suppressed(workspaceId)).toBe(1)
    expect(await recipients().erase(ASHA)).toEqual({ ...NOTHING, workspaces: 1, suppressions: 1 })
  })

  it('notifies the webhooks of canceled messages, without the address', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const { id } = await bench.queued(workspaceId, { recipient: ASHA, metadata: { a: SECRET } })
    await recipients().erase(ASHA)
    const [claimed] = await bench.claimDeliveries()
    expect(JSON.parse(claimed?.body ?? '')).toMatchObject({
      event: 'message.failed',
      data: { message_id: id, recipient: 'erased', metadata: {}, error_code: 'canceled' },
    })
  })

  it('finds a verification by its second address, and counts it without a change', async () => {
    const workspaceId = await bench.workspace()
    const asked = steps.asking(workspaceId, { other_recipient: MAIL, fallback: ['email'] })
    await bench.accept(asked)
    for (const address of [ASHA, MAIL]) {
      expect(await recipients().look(address)).toEqual({
        ...NOTHING,
        workspaces: 1,
        verifications: 1,
        ...(address === ASHA && { queued: 1 }),
      })
    }
    expect(await recipients().erase(MAIL)).toEqual({ ...NOTHING, workspaces: 1, verifications: 1 })
    expect(await recipients().look(MAIL)).toEqual(NOTHING)
    expect(await engine.dump()).not.toContain(MAIL)
  })

  it('sends the code to the first address after the second one was erased', async () => {
    const workspaceId = await bench.workspace(10_000_000)
    const asked = steps.asking(workspaceId, { other_recipient: MAIL, fallback: ['email'] })
    await bench.accept(asked)
    const { id } = await theOnly(workspaceId)
    const { content } = await bench.message(workspaceId, asked.messages[0]?.id ?? '')
    await recipients().erase(MAIL)
    expect(codeSourceOf(content)).not.toBeNull()
    expect(await bench.message(workspaceId, asked.messages[0]?.id ?? '')).toMatchObject({
      status: 'queued',
      content,
    })
    const at = new Date(bench.clock.now().getTime() + 60_000)
    expect(await bench.storage.read.verifications.dueFallbacks(at, 10)).toEqual([])
    const of = { id }
    const [checked] = await bench.storage.hot.checkCodes([
      { workspace_id: workspaceId, livemode: true, of, isRight: () => true, at: bench.clock.now() },
    ])
    expect(checked?.status).toBe('approved')
  })

  it('keeps the code of a message in flight until another run', async () => {
    const workspaceId = await bench.workspace(10_000_000)
    const asked = steps.asking(workspaceId)
    await bench.accept(asked)
    const id = asked.messages[0]?.id ?? ''
    const { content } = await bench.message(workspaceId, id)
    const claimed = only(await bench.claimMessages())
    const erased = await recipients().erase(ASHA)
    expect(erased).toMatchObject({ under_way: 1, verifications: 1 })
    expect((await bench.message(workspaceId, id)).content).toEqual(content)
    expect(await theOnly(workspaceId)).toMatchObject({ recipient: 'erased', status: 'canceled' })
    const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    await recipients().erase(ASHA)
    expect((await bench.message(workspaceId, id)).content).toEqual({})
  })

  it('cancels the code to the second address when the first one is erased', async () => {
    const workspaceId = await bench.workspace(10_000_000)
    const { balance } = await bench.account(workspaceId)
    await bench.accept(steps.asking(workspaceId, { other_recipient: MAIL, fallback: ['email'] }))
    bench.clock.step(LIMITS.verification_fallback_s * 1000)
    const row = await theOnly(workspaceId)
    const send = bench.make.send(workspaceId, { channel: 'email', recipient: MAIL })
    const verification = { ...row, channel: 'email' as const, created_at: bench.clock.now() }
    const code = { verification, resends: row.id, is_fallback: true, response: () => '' }
    expect(await bench.accept({ ...send, code })).toMatchObject({ outcome: 'accepted' })
    await recipients().erase(ASHA)
    const message = await bench.message(workspaceId, send.messages[0]?.id ?? '')
    expect(message).toMatchObject({ status: 'failed', error_code: 'canceled', recipient: MAIL })
    expect(codeSourceOf(message.content)).toBeNull()
    expect((await bench.account(workspaceId)).balance).toBe(balance)
    expect(await bench.storage.read.verifications.count(workspaceId, {})).toBe(0)
  })

  it('leaves neither the address nor the metadata in the events of a verification', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const others = await bench.workspace()
    await bench.webhook(others)
    for (const [id, recipient] of [
      [workspaceId, ASHA],
      [others, JUMA],
    ] as const) {
      const row = bench.make.verification(id, {
        recipient,
        metadata: { who: `${SECRET} ${recipient}` },
      })
      await bench.storage.write((stores) =>
        announceEnd(stores, bench.clock.id, ended(row, 'approved', bench.clock.now())),
      )
    }
    await steps.announce()
    expect(await recipients().look(ASHA)).toMatchObject({ events: 1 })
    expect(await recipients().erase(ASHA)).toMatchObject({ events: 1 })
    expect(await recipients().look(ASHA)).toEqual(NOTHING)
    const dump = await engine.dump()
    expect(dump).toContain('verification.approved')
    expect(dump).not.toContain(ASHA)
    expect(dump).toContain(`${SECRET} ${JUMA}`)
  })

  it('only looks where it is to look, and changes nothing of others', async () => {
    const [mine, other] = [await known(), await known()]
    await steps.done(mine, JUMA)
    const stands = async (workspaceId: string) => ({
      messages: await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING),
      contacts: await bench.storage.read.contacts.list(workspaceId, {}, EVERYTHING),
      received: await bench.storage.read.receivedMessages.list(workspaceId, {}, EVERYTHING),
      events: await bench.storage.read.retention.events(
        workspaceId,
        { from_id: '', before_id: '~' },
        100,
      ),
      ledger: await bench.ledger(workspaceId),
    })
    const [before, others] = [await stands(mine), await stands(other)]
    await recipients().look(ASHA)
    expect(await stands(mine)).toEqual(before)
    await recipients().erase(ASHA, { workspace_id: mine })
    expect(await stands(other)).toEqual(others)
    const after = await stands(mine)
    const juma = (rows: typeof before) =>
      rows.messages.filter(({ recipient }) => recipient === JUMA)
    expect(juma(after)).toEqual(juma(before))
    expect(after.events.filter(({ body }) => body.includes(JUMA))).toHaveLength(2)
  })

  it('finds an e-mail address however it was spelled, and no other', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const mail = { channel: 'email', content: { subject: SECRET, text: 'Hi' } } as const
    const [upper, wide, unlike] = [
      await steps.done(workspaceId, 'As_ha@Example.COM', mail),
      await steps.done(workspaceId, 'as_ha@example.com', mail),
      await steps.done(workspaceId, 'asXha@example.com', mail),
    ]
    const idn = await steps.done(workspaceId, 'as_ha@bücher.example', mail)
    const report = await recipients().erase('AS_HA@example.com')
    expect(report).toMatchObject({ messages: 2, events: 4, conversations: 1 })
    for (const { id } of [upper, wide]) {
      expect(await bench.message(workspaceId, id)).toMatchObject({ recipient: 'erased' })
    }
    for (const { id } of [unlike, idn]) {
      expect(await bench.message(workspaceId, id)).toMatchObject({ erased_at: null })
    }
    expect(await recipients().erase('as_ha@xn--bcher-kva.example')).toMatchObject({ messages: 1 })
  })

  it('finds the address among rejected recipients, however it was written, and no other', async () => {
    const workspaceId = await bench.workspace()
    const phones = ['255 700-000 009', ' 00255700000009', '+2557000000090', '0700000009', '']
    const mails = ['Asha <ASHA@example.com>', 'mailto:asha@example.com', 'xasha@example.com']
    const bulkId = await steps.rejected(workspaceId, [ASHA, ...phones, ...mails])
    await steps.rejected(await bench.workspace(), [ASHA])
    const report = { ...NOTHING, workspaces: 1, rejections: 3 }
    expect(await recipients().look(ASHA, { workspace_id: workspaceId })).toEqual(report)
    const stands = () => bench.storage.read.bulks.rejections(workspaceId, bulkId, EVERYTHING)
    const before = await stands()
    expect(await recipients().erase(ASHA, { workspace_id: workspaceId })).toEqual(report)
    expect(await recipients().erase('asha@EXAMPLE.com')).toMatchObject({ rejections: 2 })
    const erased = (row: object) => ({ ...row, recipient: 'erased', message: '' })
    const theirs = [0, 1, 2, 6, 7]
    expect(await stands()).toEqual(before.map((row, i) => (theirs.includes(i) ? erased(row) : row)))
    expect(await recipients().erase(ASHA)).toEqual({ ...report, rejections: 1 })
    expect(await recipients().look(ASHA)).toEqual(NOTHING)
  })

  it('keeps messages that are being sent, reports them, and erases them later', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, { recipient: ASHA })
    const [claimed] = await bench.claimMessages()
    expect(await recipients().erase(ASHA)).toMatchObject({ messages: 0, queued: 0, under_way: 1 })
    expect(await bench.message(workspaceId, message.id)).toMatchObject({ recipient: ASHA })
    const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
    if (claimed) await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    expect(await recipients().erase(ASHA)).toMatchObject({ messages: 1, under_way: 0 })
  })

  it('goes through a long history in steps, and on after one of them failed', async () => {
    const workspaceId = await bench.workspace(5_000)
    const { messages } = bench.make.bulk(workspaceId, 4_100)
    for (const [i, message] of messages.entries()) if (i % 8 === 0) message.recipient = ASHA
    await bench.accept({ ...bench.make.request(messages), debit: null })
    const theirs = messages.filter(({ recipient }) => recipient === ASHA).length
    let writes = 0
    const failing = createRecipients({
      runtime: bench.clock,
      storage: {
        ...bench.storage,
        write(work) {
          writes += 1
          // The entry of the audit log, the parts of texts and the first step are written before.
          if (writes === 4) throw new Error('crashed')
          return bench.storage.write(work)
        },
      },
    })
    await expect(failing.erase(ASHA)).rejects.toThrow('crashed')
    const left = await recipients().look(ASHA)
    expect(left.messages + left.queued).toBeLessThan(theirs)
    const progress: number[] = []
    const done = await recipients().erase(ASHA, { onProgress: ({ done }) => progress.push(done) })
    expect(done.messages).toBe(left.messages + left.queued)
    expect(progress).toEqual([1, 2])
    const rows = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
    expect(rows.filter(({ erased_at }) => erased_at !== null)).toHaveLength(theirs)
    expect(rows.filter(({ status }) => status === 'queued')).toHaveLength(4_100 - theirs)
  })

  it.each(['asha', '0700000009', '', '+0700', 'a@b, c@d.example', '%'])(
    'refuses "%s", which is not an address',
    async (address) => {
      await expect(recipients().look(address)).rejects.toMatchObject({ code: 'validation_error' })
    },
  )
})

describe('removing codes on PostgreSQL', () => {
  const engine = postgres()
  const bench = benchFor(engine.open)
  const steps = historySteps(bench)

  it('does not undo an erasure that commits meanwhile', async () => {
    const workspaceId = await bench.workspace(10_000_000)
    const asked = steps.asking(workspaceId)
    await bench.accept(asked)
    const id = asked.messages[0]?.id ?? ''
    const client = await connectTo(engine.url())
    await client.query('begin')
    await client.query(`update messages set content = '{}' where id = $1`, [id])
    const removing = bench.storage.write(({ verifications }) =>
      verifications.removeCodes(bench.clock.now(), 100),
    )
    const waiting = `select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await client.query(waiting)).rows.length).toBe(1)
    await client.query('commit')
    expect(await removing).toBe(1)
    await client.end()
    expect((await bench.message(workspaceId, id)).content).toEqual({})
  })
})
