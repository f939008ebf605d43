import { describe, expect, it } from 'vitest'
import { createInbound, type Inbound, type Incoming } from '../../src/inbound/inbound.ts'
import type {
  ConversationRow,
  MessageRow,
  ParkedReceiptRow,
  ReceivedMessageRow,
  SuppressionRow,
} from '../../src/rows/rows.ts'
import type { ReceivedFilter } from '../../src/storage/ports/stores.ts'
import { AUTHORS_SEARCHED } from '../../src/storage/stores/received-messages.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

const PERSON = '+255700000001'
const NUMBER = '+15005550006'
const OTHER_NUMBER = '+15005550007'

const CARRIER = { name: 'carrier', handles_stop: false }

/** What recipients write: whose it is, what its keywords do, and that each thing counts once. */
export function receivedContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const logged: { text: string; fields: object }[] = []

  function inbound(overrides: Partial<Parameters<typeof createInbound>[0]> = {}): Inbound {
    logged.length = 0
    const warn = (fields: object, text: string) => logged.push({ text, fields })
    const { now, elapsed, id, bytes, random, log } = bench.clock
    const runtime = { now, elapsed, id, bytes, random, log: { ...log, warn } }
    return createInbound({ storage: bench.storage, runtime, ...overrides })
  }

  function incoming(overrides: Partial<Incoming> = {}): Incoming {
    return {
      type: 'received',
      channel: 'sms',
      provider_message_id: bench.clock.id(),
      sender: PERSON,
      recipient: NUMBER,
      content: { text: 'Thank you!', media: [] },
      ...overrides,
    }
  }

  const receive = (...all: Partial<Incoming>[]) => inbound().receive(CARRIER, all.map(incoming))
  /** No two messages within one millisecond, in which ids have no order. */
  const arrives = (text: string, overrides: Partial<Incoming> = {}) => {
    bench.clock.advance(1)
    return receive({ content: { text, media: [] }, ...overrides })
  }

  async function wrote(
    workspaceId: string,
    overrides: Partial<ConversationRow> = {},
  ): Promise<void> {
    const one: ConversationRow = {
      workspace_id: workspaceId,
      channel: 'sms',
      sender: NUMBER,
      address: PERSON,
      last_sent_at: bench.clock.advance(1_000),
      other_number: null,
      user_id: null,
      ...overrides,
    }
    await bench.storage.write(({ conversations }) => conversations.note([one]))
  }

  /** A workspace that wrote to the person just now. */
  async function writer(overrides: Partial<ConversationRow> = {}): Promise<string> {
    const workspaceId = await bench.workspace()
    await wrote(workspaceId, overrides)
    return workspaceId
  }

  const received = (workspaceId: string, filter: ReceivedFilter = {}) =>
    bench.storage.read.receivedMessages.list(workspaceId, filter, EVERYTHING)
  const textsOf = (rows: ReceivedMessageRow[]) => rows.map(({ content }) => content.text)
  const sent = (workspaceId: string): Promise<MessageRow[]> =>
    bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
  const repliesOf = async (workspaceId: string) =>
    (await sent(workspaceId)).map(({ content }) => ('text' in content ? content.text : null))
  const suppressed = (workspaceId: string): Promise<SuppressionRow[]> =>
    bench.storage.read.suppressions.of(workspaceId, [PERSON])

  async function suppress(workspaceId: string, reason: SuppressionRow['reason']): Promise<void> {
    const row = { channel: 'sms', address: PERSON, reason, created_at: bench.clock.now() } as const
    await bench.storage.write(({ suppressions }) =>
      suppressions.add([{ ...row, workspace_id: workspaceId }]),
    )
  }

  const events = async () =>
    (await bench.claimDeliveries()).map(({ body }) => JSON.parse(body) as { data: unknown })

  describe('what recipients write', () => {
    it('is kept and announced once, as the event has it', async () => {
      const workspaceId = await writer()
      await bench.webhook(workspaceId)
      const media = [{ url: 'https://media.example/1', content_type: 'image/png' }]
      const one = incoming({ content: { text: 'Look \u0000 😀', media } })
      await inbound().receive(CARRIER, [one])
      const row = only(await received(workspaceId))
      expect(row).toEqual({
        id: expect.any(String),
        workspace_id: workspaceId,
        channel: 'sms',
        provider: 'carrier',
        provider_message_id: one.provider_message_id,
        sender: PERSON,
        recipient: NUMBER,
        content: { text: 'Look \u0000 😀', media },
        keyword: null,
        livemode: true,
        created_at: bench.clock.now(),
      })
      expect(await events()).toEqual([
        {
          event: 'message.received',
          data: {
            message_id: row.id,
            channel: 'sms',
            sender: PERSON,
            recipient: NUMBER,
            content: { text: 'Look \u0000 😀', media },
            provider_message_id: one.provider_message_id,
            livemode: true,
            occurred_at: bench.clock.now().toISOString(),
          },
        },
      ])
      expect(await sent(workspaceId)).toEqual([])
    })

    it('changes nothing when it arrives again, also after another message', async () => {
      const workspaceId = await writer({ sender: OTHER_NUMBER })
      await bench.webhook(workspaceId)
      const one = incoming()
      await inbound().receive(CARRIER, [one, one])
      const another = await writer()
      await bench.webhook(another)
      await inbound().receive(CARRIER, [one])
      expect(await received(workspaceId)).toHaveLength(1)
      expect(await received(another)).toEqual([])
      expect(await events()).toHaveLength(1)
    })

    it('counts once when it comes several times at once', async () => {
      const workspaceId = await writer()
      await bench.webhook(workspaceId)
      const one = incoming({ content: { text: 'STOP', media: [] } })
      await Promise.all(Array.from({ length: 6 }, () => inbound().receive(CARRIER, [one])))
      expect(await received(workspaceId)).toHaveLength(1)
      expect(await sent(workspaceId)).toHaveLength(1)
      expect(await events()).toHaveLength(1)
    })

    it('of two providers, or without an id, is as often as it comes', async () => {
      const workspaceId = await writer()
      const one = incoming()
      await inbound().receive(CARRIER, [one])
      await inbound().receive({ ...CARRIER, name: 'other' }, [one])
      await receive({ provider_message_id: null }, { provider_message_id: null })
      expect(await received(workspaceId)).toHaveLength(4)
    })

    it('is whose who last wrote from that number, else from any on the channel', async () => {
      const first = await writer()
      const second = await writer()
      const elsewhere = await writer({ sender: OTHER_NUMBER })
      await writer({ channel: 'whatsapp' })
      await arrives('to the second')
      await wrote(first)
      await arrives('to the first')
      await arrives('to another number', { recipient: '+15005550008' })
      expect(textsOf(await received(second))).toEqual(['to the second'])
      expect(textsOf(await received(first))).toEqual(['to another number', 'to the first'])
      expect(await received(elsewhere)).toEqual([])
    })

    it('by e-mail is whose who wrote to that address, in whatever case', async () => {
      const workspaceId = await writer({ channel: 'email', address: 'asha@example.com' })
      await arrives('Hello', { channel: 'email', sender: 'Asha@Example.com' })
      expect(only(await received(workspaceId)).sender).toBe('Asha@Example.com')
    })

    it('is whose who wrote from there, whatever others write from elsewhere', async () => {
      const mine = await writer()
      const another = await bench.workspace()
      const last_sent_at = bench.clock.advance(1_000)
      const row = { workspace_id: another, channel: 'sms', address: PERSON, last_sent_at } as const
      const many = Array.from({ length: 1_000 }, (_, i) => ({ ...row, sender: `S${i}` }))
      await bench.storage.write(({ conversations }) => conversations.note(many))
      await arrives('STOP')
      expect(await received(mine)).toHaveLength(1)
      expect(await suppressed(mine)).toMatchObject([{ reason: 'opt_out' }])
      const known = await bench.storage.write(({ conversations }) =>
        conversations.with({ channel: 'sms', names: [PERSON], sender: NUMBER }),
      )
      expect(known).toHaveLength(1_000)
      expect(known[0]).toMatchObject({ workspace_id: mine, sender: NUMBER })
    })

    it('keeps the later time of a conversation, whichever was noted last', async () => {
      const first = await writer()
      const second = await writer()
      await wrote(second, { last_sent_at: new Date(0) })
      await arrives('Hello')
      expect(await received(first)).toEqual([])
      expect(await received(second)).toHaveLength(1)
    })

    it('is kept without a workspace where none has written, and logged without content and sender', async () => {
      const workspaceId = await writer({ address: '+255700000002' })
      const service = inbound()
      const one = incoming({ content: { text: 'STOP', media: [] } })
      await service.receive(CARRIER, [one])
      expect(only(await received(''))).toMatchObject({ sender: PERSON, keyword: 'stop' })
      expect(only(logged)).toMatchObject({ text: 'a received message belongs to no workspace' })
      expect(JSON.stringify(logged)).not.toMatch(/STOP|255700/)
      await wrote(workspaceId)
      await service.receive(CARRIER, [one])
      expect(await received(workspaceId)).toEqual([])
      expect(await suppressed(workspaceId)).toEqual([])
      expect(await sent(workspaceId)).toEqual([])
    })

    it('is stored though a provider brings what no database takes', async () => {
      const workspaceId = await writer()
      const provider_message_id = `\u0000${'x'.repeat(1_000)}`
      await arrives('half \ud83d', { provider_message_id, sender: `${PERSON}\u0000` })
      expect(only(await received(workspaceId))).toMatchObject({
        sender: PERSON,
        content: { text: 'half \ufffd' },
        provider_message_id: 'x'.repeat(255),
      })
    })

    it('is listed newest first, by channel, sender and time', async () => {
      const workspaceId = await writer()
      await wrote(workspaceId, { channel: 'whatsapp' })
      await wrote(workspaceId, { address: '+255700000002' })
      await arrives('one')
      bench.clock.advance(1_000)
      await arrives('two', { channel: 'whatsapp' })
      const middle = bench.clock.now()
      bench.clock.advance(1_000)
      await arrives('three', { sender: '+255700000002' })
      const { receivedMessages } = bench.storage.read
      const listed = async (filter: ReceivedFilter) => {
        const rows = await received(workspaceId, filter)
        expect(await receivedMessages.count(workspaceId, filter)).toBe(rows.length)
        return textsOf(rows)
      }
      expect(await listed({})).toEqual(['three', 'two', 'one'])
      expect(await listed({ channel: 'whatsapp' })).toEqual(['two'])
      expect(await listed({ sender: PERSON })).toEqual(['two', 'one'])
      expect(await listed({ from: middle })).toEqual(['three', 'two'])
      expect(await listed({ until: middle })).toEqual(['two', 'one'])
      const page = await receivedMessages.list(workspaceId, {}, { limit: 1, offset: 1 })
      expect(textsOf(page)).toEqual(['two'])
    })

    it('is the workspace’s whose message it is known to answer', async () => {
      const workspaceId = await bench.workspace()
      await writer()
      await arrives('Stop', { about: { workspace_id: workspaceId, livemode: true } })
      expect(only(await received(workspaceId))).toMatchObject({ keyword: 'stop', livemode: true })
      expect(await suppressed(workspaceId)).toHaveLength(1)
      const reply = only(await sent(workspaceId))
      expect(reply).toMatchObject({ livemode: true, sender: NUMBER, recipient: PERSON })
    })

    it('is test data where it answers a test message: its keywords change nothing', async () => {
      const workspaceId = await writer()
      const [all, live, test] = [
        await bench.webhook(workspaceId),
        await bench.webhook(workspaceId, { mode: 'live' }),
        await bench.webhook(workspaceId, { mode: 'test' }),
      ]
      const waiting = await bench.queued(workspaceId, { recipient: PERSON })
      const about = { workspace_id: workspaceId, livemode: false }
      await arrives('Stop', { about })
      expect(await suppressed(workspaceId)).toEqual([])
      expect((await bench.message(workspaceId, waiting.id)).status).toBe('queued')
      await arrives('STOP')
      await arrives('Start', { about })
      await arrives('Yes', { about })
      expect(await suppressed(workspaceId)).toMatchObject([{ reason: 'opt_out' }])
      const tests = await received(workspaceId, { livemode: false })
      expect(textsOf(tests)).toEqual(['Yes', 'Start', 'Stop'])
      // The meaning of "Yes" depends on the live suppressions, which test mode must not reveal.
      expect(tests.map(({ keyword }) => keyword)).toEqual([null, 'start', 'stop'])
      const { receivedMessages } = bench.storage.read
      expect(await receivedMessages.count(workspaceId, { livemode: false })).toBe(3)
      expect(await receivedMessages.count(workspaceId, {})).toBe(4)
      const deliveries = await bench.claimDeliveries()
      const sentTo = (id: string) =>
        deliveries
          .filter(({ webhook_id }) => webhook_id === id)
          .map(({ body }) => JSON.parse(body))
          .filter(({ event }) => event === 'message.received')
          .map(({ data }) => `${data.content.text} ${data.livemode}`)
      const ofTests = ['Stop false', 'Start false', 'Yes false']
      expect(sentTo(test.id)).toEqual(ofTests)
      expect(sentTo(live.id)).toEqual(['STOP true'])
      expect(sentTo(all.id)).toEqual([ofTests[0], 'STOP true', ...ofTests.slice(1)])
    })

    it('answers HELP in test mode without suppressing the live answer', async () => {
      const workspaceId = await writer()
      await arrives('HELP', { about: { workspace_id: workspaceId, livemode: false } })
      await arrives('HELP')
      const replies = await sent(workspaceId)
      expect(replies.map(({ livemode }) => livemode)).toEqual([true, false])
    })

    it('is the workspace’s once, however often it is known to answer its message', async () => {
      const workspaceId = await bench.workspace()
      const one = incoming({ about: { workspace_id: workspaceId, livemode: true } })
      for (let i = 0; i < 2; i++) await inbound().receive(CARRIER, [one])
      expect(await received(workspaceId)).toHaveLength(1)
    })
  })

  describe('a long text', () => {
    const unitsOf = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('hex')
    const part = (number: number, text: string, overrides: object = {}): Partial<Incoming> => ({
      provider_message_id: null,
      content: { text: null, media: [] },
      part: { reference: 7, total: 2, number, units: unitsOf(text), ...overrides },
    })

    it('is received with its last part, in whatever order they come', async () => {
      const workspaceId = await writer()
      await bench.webhook(workspaceId)
      await receive(part(2, '\ude4f, friend'))
      expect(await received(workspaceId)).toEqual([])
      await receive(part(1, 'Thanks \ud83d'))
      expect(textsOf(await received(workspaceId))).toEqual(['Thanks 🙏, friend'])
      expect(await events()).toHaveLength(1)
    })

    it('may come in one go, beside others', async () => {
      const workspaceId = await writer()
      await receive(
        part(1, 'a'),
        part(1, 'c', { reference: 8 }),
        part(2, 'b'),
        part(2, 'd', { reference: 8 }),
      )
      expect(textsOf(await received(workspaceId)).sort()).toEqual(['ab', 'cd'])
    })

    it('counts once, however often its parts come', async () => {
      const workspaceId = await writer()
      const parts = [part(1, 'a'), part(2, 'b')]
      await receive(...parts)
      for (const one of [...parts, ...parts]) await receive(one)
      await Promise.all(parts.map((one) => receive(one)))
      expect(textsOf(await received(workspaceId))).toEqual(['ab'])
    })

    it('is complete when its parts come at the same time', async () => {
      const workspaceId = await writer()
      for (let reference = 0; reference < 8; reference++) {
        const parts = [part(1, 'a', { reference }), part(2, 'b', { reference })]
        await Promise.all(parts.map((one) => receive(one)))
      }
      expect(textsOf(await received(workspaceId))).toEqual(Array(8).fill('ab'))
    })

    it('begins anew under the same reference, with another part or an hour later', async () => {
      const workspaceId = await writer()
      await receive(part(1, 'a'), part(2, 'b'))
      await receive(part(1, 'c'), part(2, 'd'))
      bench.clock.advance(3_600_000)
      await receive(part(1, 'c'), part(2, 'd'))
      expect(textsOf(await received(workspaceId))).toEqual(['cd', 'cd', 'ab'])
    })

    it('is not put together of parts that came a day apart, nor of other people’s', async () => {
      const workspaceId = await writer()
      await receive(part(1, 'a'))
      await receive({ ...part(2, 'b'), sender: '+255700000002' })
      await receive({ ...part(2, 'b'), recipient: OTHER_NUMBER })
      await receive(part(2, 'b', { total: 3 }))
      bench.clock.advance(24 * 3_600_000 + 1)
      await receive(part(2, 'b'))
      expect(await received(workspaceId)).toEqual([])
    })

    it('says STOP as any other does', async () => {
      const workspaceId = await writer()
      await receive(part(1, 'ST'), part(2, 'OP'))
      expect(only(await suppressed(workspaceId))).toMatchObject({ reason: 'opt_out' })
    })

    it('takes no part that is none, and says so', async () => {
      const workspaceId = await writer()
      await receive(part(3, 'secret'), part(1, 'a', { total: 1 }))
      expect(textsOf(await received(workspaceId))).toEqual(['a'])
      expect(logged).toEqual([
        {
          text: 'a part of a long text is invalid',
          fields: { provider: 'carrier', total: 2, number: 3 },
        },
      ])
    })

    it('leaves no more than 512 parts of two numbers waiting', async () => {
      const workspaceId = await writer()
      await receive(part(1, 'a', { reference: 1_000_000 }))
      for (let from = 0; from < 512; from += 64) {
        bench.clock.advance(1)
        const parts = Array.from({ length: 64 }, (_, i) => part(1, 'x', { reference: from + i }))
        await receive(...parts)
      }
      await receive(part(2, 'b', { reference: 1_000_000 }))
      expect(await received(workspaceId)).toEqual([])
    })

    it('is forgotten step by step once its time is over', async () => {
      const workspaceId = await writer()
      for (const reference of [1, 2, 3]) {
        await receive(part(1, 'a', { reference }))
        bench.clock.advance(1_000)
      }
      const before = new Date(bench.clock.now().getTime() - 1_500)
      const forget = () =>
        bench.storage.write(({ receivedMessages }) => receivedMessages.forgetParts(before, 1))
      expect([await forget(), await forget(), await forget()]).toEqual([1, 1, 0])
      for (const reference of [1, 2, 3]) await receive(part(2, 'b', { reference }))
      expect(await received(workspaceId)).toHaveLength(1)
    })
  })

  describe('STOP', () => {
    it('opts out of every workspace that used the number, is answered once, and costs nothing', async () => {
      const first = await writer()
      const last = await writer()
      const elsewhere = await writer({ sender: OTHER_NUMBER })
      await arrives('Stop.')
      for (const workspaceId of [first, last]) {
        expect(await suppressed(workspaceId)).toEqual([
          {
            workspace_id: workspaceId,
            channel: 'sms',
            address: PERSON,
            reason: 'opt_out',
            created_at: bench.clock.now(),
          },
        ])
      }
      expect(await suppressed(elsewhere)).toEqual([])
      expect(only(await received(last)).keyword).toBe('stop')
      expect(await sent(first)).toEqual([])
      const reply = only(await sent(last))
      expect(reply).toMatchObject({
        api_key_id: null,
        channel: 'sms',
        sender: NUMBER,
        recipient: PERSON,
        content: {
          text: 'Acme: you will get no more messages from this number. Reply START to get them again.',
        },
        livemode: true,
        status: 'queued',
        credits_used: 0,
        segments: 1,
        encoding: 'GSM-7',
      })
      expect(await bench.ledger(last)).toHaveLength(1)
      expect(await bench.storage.read.messages.count(last, { status: 'queued' })).toBe(1)
      const claimed = only(await bench.claimMessages())
      expect(claimed).toMatchObject({ message_id: reply.id, suppressed: false, task: 'send' })
    })

    it('repeated is not answered again', async () => {
      const workspaceId = await writer()
      await arrives('STOP')
      await arrives('STOP')
      await arrives('unsubscribe')
      await Promise.all([arrives('STOP'), arrives('STOP')])
      expect(await sent(workspaceId)).toHaveLength(1)
      expect(await received(workspaceId)).toHaveLength(5)
    })

    it('received twice at the same time is answered once', async () => {
      const workspaceId = await writer()
      await Promise.all([arrives('STOP'), arrives('STOP'), arrives('STOP')])
      expect(await sent(workspaceId)).toHaveLength(1)
      expect(await received(workspaceId)).toHaveLength(3)
      expect(await suppressed(workspaceId)).toHaveLength(1)
    })

    it('to an unused number counts as a reply to the sender that wrote last', async () => {
      const elsewhere = await writer({ sender: '+15005550008' })
      const first = await writer({ sender: 'a pool of numbers' })
      const last = await writer({ sender: 'a pool of numbers' })
      await arrives('STOP')
      expect(await suppressed(elsewhere)).toEqual([])
      expect(await suppressed(first)).toHaveLength(1)
      expect(await suppressed(last)).toHaveLength(1)
      expect(await sent(first)).toEqual([])
      expect(only(await sent(last)).sender).toBe('a pool of numbers')
    })

    it('is answered from the number that it came to, where providers send from it', async () => {
      const workspaceId = await writer({ sender: OTHER_NUMBER })
      await inbound({ isOurs: ({ sender }) => sender === NUMBER }).receive(CARRIER, [
        incoming({ content: { text: 'STOP', media: [] } }),
      ])
      expect(only(await sent(workspaceId)).sender).toBe(NUMBER)
    })

    it('is not answered by us where the provider does, and counts all the same', async () => {
      const workspaceId = await writer()
      await inbound().receive({ name: 'carrier', handles_stop: true }, [
        incoming({ content: { text: 'Arrêtez!', media: [] }, keyword: 'stop' }),
      ])
      expect(await suppressed(workspaceId)).toHaveLength(1)
      expect(await sent(workspaceId)).toEqual([])
    })

    it('leaves a suppression for another reason as it is', async () => {
      const workspaceId = await writer()
      await suppress(workspaceId, 'bounce')
      await arrives('STOP')
      expect(only(await suppressed(workspaceId)).reason).toBe('bounce')
      await arrives('START')
      expect(only(await suppressed(workspaceId)).reason).toBe('bounce')
      expect(await sent(workspaceId)).toEqual([])
    })

    it('cancels and refunds the queued messages to the sender, and nothing else', async () => {
      const workspaceId = await writer()
      await bench.webhook(workspaceId)
      const scheduled_at = new Date(bench.clock.now().getTime() + 86_400_000)
      const waiting = await bench.queued(workspaceId, { recipient: PERSON, scheduled_at })
      const other = await bench.queued(workspaceId, { recipient: '+255700000002', scheduled_at })
      const elsewhere = await bench.queued(workspaceId, {
        channel: 'whatsapp',
        recipient: PERSON,
        scheduled_at,
      })
      const before = (await bench.account(workspaceId)).balance
      await arrives('STOP')
      expect(await bench.message(workspaceId, waiting.id)).toMatchObject({
        status: 'failed',
        error_code: 'suppressed',
        credits_refunded: waiting.credits_used,
      })
      expect(await bench.message(workspaceId, other.id)).toEqual(other)
      expect(await bench.message(workspaceId, elsewhere.id)).toEqual(elsewhere)
      expect((await bench.account(workspaceId)).balance).toBe(before + waiting.credits_used)
      const queued = (await sent(workspaceId)).filter(({ status }) => status === 'queued')
      expect(queued).toHaveLength(3)
    })

    it('and a send at the same time end with nothing charged for what is not sent', async () => {
      const workspaceId = await writer()
      const before = (await bench.account(workspaceId)).balance
      const charged: string[] = []
      for (let i = 0; i < 5; i++) {
        const scheduled_at = new Date(bench.clock.now().getTime() + 86_400_000)
        const send = bench.make.send(workspaceId, { recipient: PERSON, scheduled_at })
        const [{ outcome }] = await Promise.all([bench.accept(send), arrives('STOP')])
        expect(await suppressed(workspaceId)).toHaveLength(1)
        const message = only(send.messages)
        const stored = await bench.storage.read.messages.byId(workspaceId, message.id)
        if (outcome === 'suppressed') expect(stored).toBeNull()
        else expect(outcome).toBe('accepted')
        if (stored) charged.push(message.id)
        // One that the STOP just missed is withdrawn by the next.
        let spent = 0
        for (const id of charged) {
          const { credits_used, credits_refunded } = await bench.message(workspaceId, id)
          spent += credits_used - credits_refunded
        }
        expect((await bench.account(workspaceId)).balance).toBe(before - spent)
        if (stored?.status === 'failed') expect(stored.error_code).toBe('suppressed')
        await arrives('START')
        expect(await suppressed(workspaceId)).toEqual([])
      }
      expect(await bench.storage.read.messages.count(workspaceId, { channel: 'sms' })).toBe(
        (await sent(workspaceId)).length,
      )
    })

    it('is a word like others on channels that know no keywords', async () => {
      const workspaceId = await writer({ channel: 'email' })
      await arrives('STOP', { channel: 'email' })
      expect(only(await received(workspaceId)).keyword).toBeNull()
      expect(await bench.storage.read.suppressions.count(workspaceId, {})).toBe(0)
    })

    it('on WhatsApp opts out of WhatsApp', async () => {
      const workspaceId = await writer({ channel: 'whatsapp' })
      await arrives('stop', { channel: 'whatsapp' })
      expect(only(await suppressed(workspaceId)).channel).toBe('whatsapp')
      const reply = only(await sent(workspaceId))
      expect(reply).toMatchObject({ channel: 'whatsapp', segments: null, encoding: null })
    })
  })

  describe('START', () => {
    it('lifts the opt-outs of every workspace that used the number, and is answered once', async () => {
      const first = await writer()
      const last = await writer()
      await arrives('STOP')
      await arrives('Start')
      await arrives('START')
      expect(await suppressed(first)).toEqual([])
      expect(await suppressed(last)).toEqual([])
      expect(await repliesOf(last)).toEqual([
        'Acme: you will get messages from this number again. Reply STOP to get no more.',
        expect.stringContaining('no more messages'),
      ])
      expect(await sent(first)).toEqual([])
    })

    it('is the meaning of YES only from a recipient who opted out', async () => {
      const workspaceId = await writer()
      await arrives('Yes')
      await arrives('STOP')
      await arrives('yes!')
      expect((await received(workspaceId)).map(({ keyword }) => keyword)).toEqual([
        'start',
        'stop',
        null,
      ])
      expect(await suppressed(workspaceId)).toEqual([])
      expect(await sent(workspaceId)).toHaveLength(2)
    })

    it.each(['complaint', 'manual'] as const)('does not lift a %s', async (reason) => {
      const workspaceId = await writer()
      await suppress(workspaceId, reason)
      await arrives('START')
      await arrives('YES')
      expect(only(await suppressed(workspaceId)).reason).toBe(reason)
      expect(await sent(workspaceId)).toEqual([])
    })
  })

  describe('a person with another name at WhatsApp', () => {
    const WROTE_TO = '+525512345678'
    const KNOWN_AS = '+5215512345678'
    const USER = 'MX.13491208655302741918'
    const whatsapp = { channel: 'whatsapp', address: WROTE_TO } as const
    const reasonsOf = async (workspaceId: string, address: string) =>
      (await bench.storage.read.suppressions.of(workspaceId, [address])).map(({ reason }) => reason)
    const says = (text: string, from: Partial<Incoming>) =>
      arrives(text, { channel: 'whatsapp', ...from })

    it.each<[string, Partial<ConversationRow>, Partial<Incoming>]>([
      ['the other form of the number', {}, { sender: KNOWN_AS }],
      [
        'a number that only the provider knows',
        { other_number: '+19995550100' },
        { sender: '+19995550100' },
      ],
      ['an id without a number', { user_id: USER }, { sender: USER }],
      [
        'an id beside an unknown number',
        { user_id: USER },
        { sender: '+19995550100', identities: [USER] },
      ],
    ])(
      'stops and starts the messages to the address that was written to: %s',
      async (_, known, from) => {
        const workspaceId = await writer({ ...whatsapp, ...known })
        const other = await writer({ channel: 'whatsapp', address: '+14155550100' })
        await says('STOP', from)
        expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual(['opt_out'])
        expect(await reasonsOf(other, WROTE_TO)).toEqual([])
        const [row] = await received(workspaceId)
        expect(row).toMatchObject({ sender: WROTE_TO, keyword: 'stop' })
        const [reply] = await sent(workspaceId)
        expect(reply).toMatchObject({ recipient: WROTE_TO })
        await says('START', from)
        expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual([])
      },
    )

    it('is stopped in both forms of the number', async () => {
      const workspaceId = await writer(whatsapp)
      await says('STOP', { sender: KNOWN_AS })
      expect(await reasonsOf(workspaceId, KNOWN_AS)).toEqual(['opt_out'])
      await says('START', { sender: KNOWN_AS })
      expect(await reasonsOf(workspaceId, KNOWN_AS)).toEqual([])
    })

    /** A message to the person that the provider accepted. */
    async function accepted(
      workspaceId: string,
      { sender, ...more }: { sender?: string; identities?: string[] } = {},
    ): Promise<void> {
      await bench.queued(workspaceId, { channel: 'whatsapp', recipient: WROTE_TO })
      const ids = { provider_message_id: 'wamid.1', part_ids: ['wamid.1'] }
      const outcome = { type: 'accepted', lookup_after_ms: null, ...ids, ...more } as const
      const result = { task: 'send', attempt: 1, outcome, sender: sender ?? null } as const
      expect(await bench.settle(only(await bench.claimMessages()), result)).toBe(true)
    }

    it('is known by the names that the provider gave when it accepted a message', async () => {
      const workspaceId = await bench.workspace()
      await accepted(workspaceId, { sender: NUMBER, identities: ['+19995550100', USER] })
      await wrote(workspaceId, whatsapp)
      await says('STOP', { sender: '+19995550100' })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual(['opt_out'])
      await says('START', { sender: USER })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual([])
    })

    it('is known by the message that the answer quotes, if by nothing else', async () => {
      const workspaceId = await bench.workspace()
      await accepted(workspaceId)
      await says('STOP', { sender: USER, answers: 'wamid.2' })
      expect(await received(workspaceId)).toEqual([])
      await says('STOP', { sender: USER, answers: 'wamid.1' })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual(['opt_out'])
      expect(only(await received(workspaceId))).toMatchObject({ sender: WROTE_TO })
    })

    it('is stopped in all forms by an id without a number too', async () => {
      const other_number = '+19995550100'
      const workspaceId = await writer({ ...whatsapp, user_id: USER, other_number })
      await says('STOP', { sender: USER })
      for (const address of [WROTE_TO, KNOWN_AS, other_number]) {
        expect(await reasonsOf(workspaceId, address)).toEqual(['opt_out'])
      }
      await says('START', { sender: USER })
      for (const address of [WROTE_TO, KNOWN_AS, other_number]) {
        expect(await reasonsOf(workspaceId, address)).toEqual([])
      }
    })

    it('is known later by an id that came beside the number', async () => {
      const workspaceId = await writer(whatsapp)
      await says('Hello', { sender: KNOWN_AS, identities: [USER] })
      await says('STOP', { sender: USER })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual(['opt_out'])
      await says('START', { sender: USER })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual([])
    })

    it.each([USER, '+19995550100'])('is known later by the name of a quote: %s', async (name) => {
      const workspaceId = await bench.workspace()
      await accepted(workspaceId, { sender: NUMBER })
      await says('STOP', { sender: name, answers: 'wamid.1' })
      await says('START', { sender: name })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual([])
      await says('STOP', { sender: name })
      expect(await reasonsOf(workspaceId, WROTE_TO)).toEqual(['opt_out'])
    })

    it('does not join numbers of SMS', async () => {
      const workspaceId = await writer({ address: WROTE_TO })
      await arrives('STOP', { sender: KNOWN_AS })
      expect(await received(workspaceId)).toEqual([])
    })

    it('keeps a name that a later message does not tell', async () => {
      const workspaceId = await writer({ ...whatsapp, user_id: USER, other_number: '+19995550100' })
      await wrote(workspaceId, { ...whatsapp, user_id: null, other_number: null })
      for (const name of [USER, '+19995550100']) {
        const found = await bench.storage.write(({ conversations }) =>
          conversations.with({ channel: 'whatsapp', names: [name], sender: NUMBER }),
        )
        expect(found).toMatchObject([{ workspace_id: workspaceId, address: WROTE_TO }])
      }
    })
  })

  describe('HELP', () => {
    it('is answered once in ten minutes, also after an opt-out', async () => {
      const workspaceId = await writer()
      await arrives('STOP')
      await Promise.all([arrives('HELP'), arrives('info')])
      bench.clock.advance(10 * 60_000 - 1)
      await arrives('help')
      expect(await sent(workspaceId)).toHaveLength(2)
      bench.clock.advance(10 * 60_000 + 1)
      await arrives('help')
      expect(await repliesOf(workspaceId)).toEqual([
        expect.stringMatching(/^Acme: this is an automatic answer\. /),
        expect.stringMatching(/^Acme: this is an automatic answer\. /),
        expect.stringContaining('no more messages'),
      ])
      expect(await suppressed(workspaceId)).toHaveLength(1)
    })

    it('is answered from each number that it came to', async () => {
      const workspaceId = await writer()
      await wrote(workspaceId, { sender: OTHER_NUMBER })
      await arrives('HELP')
      await arrives('HELP', { recipient: OTHER_NUMBER })
      const senders = (await sent(workspaceId)).map(({ sender }) => sender)
      expect(senders).toEqual([OTHER_NUMBER, NUMBER])
    })
  })

  describe('an answer', () => {
    const stop = { content: { text: 'STOP', media: [] } }

    it('says what the operator wants, or nothing', async () => {
      const workspaceId = await writer()
      const texts = { stop: '{{workspace}} / {{ workspace }} $& ciao', help: null }
      const service = inbound({ texts })
      await service.receive(CARRIER, [incoming({ content: { text: 'HELP', media: [] } })])
      await service.receive(CARRIER, [incoming(stop)])
      expect(await repliesOf(workspaceId)).toEqual(['Acme / Acme $& ciao'])
    })

    it('never goes to a sender of ours', async () => {
      const workspaceId = await writer()
      await wrote(workspaceId, { sender: PERSON, address: '+255700000002' })
      await arrives('STOP')
      const another = await writer({ address: OTHER_NUMBER })
      await inbound({ isOurs: ({ sender }) => sender === OTHER_NUMBER }).receive(CARRIER, [
        incoming({ ...stop, sender: OTHER_NUMBER }),
      ])
      expect(await suppressed(workspaceId)).toHaveLength(1)
      expect(await bench.storage.read.suppressions.count(another, {})).toBe(1)
      expect([...(await sent(workspaceId)), ...(await sent(another))]).toEqual([])
    })

    it('wakes the dispatcher, and so does an event', async () => {
      const workspaceId = await writer()
      let woken = 0
      const onQueued = () => woken++
      await inbound({ onQueued }).receive(CARRIER, [incoming()])
      expect(woken).toBe(0)
      await inbound({ onQueued }).receive(CARRIER, [incoming(stop)])
      expect(woken).toBe(1)
      await bench.webhook(workspaceId)
      await inbound({ onQueued }).receive(CARRIER, [incoming()])
      expect(woken).toBe(2)
    })
  })

  describe('the newest message of each author', () => {
    const ANOTHER = '+255700000002'

    it('comes newest first, for each channel, page by page', async () => {
      const workspaceId = await writer()
      await writer({ sender: OTHER_NUMBER, channel: 'whatsapp', address: ANOTHER })
      await wrote(workspaceId, { channel: 'whatsapp' })
      await wrote(workspaceId, { address: ANOTHER })
      await arrives('1')
      await arrives('2', { channel: 'whatsapp' })
      await arrives('3', { sender: ANOTHER })
      await arrives('4')
      const page = (limit: number, after?: string) =>
        bench.storage.read.receivedMessages.newestOfAuthors(workspaceId, {}, { limit, after })
      const { rows, searched_to } = await page(10)
      expect([textsOf(rows), searched_to]).toEqual([['4', '3', '2'], null])
      expect(textsOf((await page(2)).rows)).toEqual(['4', '3'])
      // The older message of an author is on no later page.
      expect(textsOf((await page(10, rows[0]?.id)).rows)).toEqual(['3', '2'])
      expect(textsOf((await page(10, rows[2]?.id)).rows)).toEqual([])
      const replies = bench.storage.read.receivedMessages
      const test = await replies.newestOfAuthors(workspaceId, { livemode: false }, { limit: 10 })
      expect(test.rows).toEqual([])
    })

    it('is searched in a part of the messages at a time', async () => {
      const workspaceId = await writer()
      await wrote(workspaceId, { address: ANOTHER })
      await arrives('oldest', { sender: ANOTHER })
      await bench.storage.write(async ({ receivedMessages }) => {
        const [row] = await receivedMessages.list(workspaceId, {}, EVERYTHING)
        for (let i = 0; i < AUTHORS_SEARCHED; i++) {
          bench.clock.advance(1)
          const one = { id: bench.clock.id(), sender: PERSON, provider_message_id: null }
          if (row) await receivedMessages.insert({ ...row, ...one })
        }
      })
      const page = (after?: string) =>
        bench.storage.read.receivedMessages.newestOfAuthors(workspaceId, {}, { limit: 10, after })
      const first = await page()
      expect(first.rows.map(({ sender }) => sender)).toEqual([PERSON])
      const next = await page(first.searched_to ?? '')
      expect([textsOf(next.rows), next.searched_to]).toEqual([['oldest'], null])
    })
  })

  describe('parked receipts', () => {
    it('are due oldest first, page by page, until they are removed', async () => {
      const parked = Array.from({ length: 5 }, (_, i): ParkedReceiptRow => {
        const created_at = i % 2 === 0 ? bench.clock.advance(1_000) : bench.clock.now()
        const error = { error_code: 'x', error_message: null }
        return {
          id: bench.clock.id(),
          provider: 'carrier',
          provider_message_id: `P${i}`,
          receipt: { status: 'failed', provider_message_id: null, ...error },
          created_at,
        }
      })
      const { parkedReceipts } = bench.storage.read
      await bench.storage.write((stores) => stores.parkedReceipts.park([...parked].reverse()))
      expect(await parkedReceipts.due(10)).toEqual(parked)
      expect(await parkedReceipts.due(2)).toEqual(parked.slice(0, 2))
      expect(await parkedReceipts.due(2, parked[0])).toEqual(parked.slice(1, 3))
      expect(await parkedReceipts.due(2, parked[1])).toEqual(parked.slice(2, 4))
      expect(await parkedReceipts.due(2, parked[4])).toEqual([])
      const gone = parked.slice(0, 3).map(({ id }) => id)
      const remove = (ids: string[]) =>
        bench.storage.write((stores) => stores.parkedReceipts.remove(ids))
      expect([await remove(gone), await remove(gone), await remove([])]).toEqual([3, 0, 0])
      expect(await parkedReceipts.due(10)).toEqual(parked.slice(3))
    })
  })
}
