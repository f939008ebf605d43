import { describe, expect, it } from 'vitest'
import { createContacts } from '../../src/contacts/contacts.ts'
import { units } from '../../src/contract/fields/units.ts'
import { QUOTAS } from '../../src/contract/limits.ts'
import {
  ExportBound,
  exportMessages,
  type FoundMessages,
  searchMessages,
} from '../../src/messages/search.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { MessageFilter } from '../../src/storage/ports/stores.ts'
import { type Bench, benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const BULK_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const KEY_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02'

/** Lists: their order, pages, filters and counts. */
export function listsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('gives a message back as it was accepted, with every field and with none', async () => {
    const workspaceId = await bench.workspace()
    const metadata = JSON.parse(
      '{"a":null,"b":false,"c":0,"d":"","e":[1,{"f":[]}],"ключ":"значение 🐢","__proto__":{"polluted":true}}',
    )
    const full = await bench.queued(workspaceId, {
      api_key_id: 'key',
      bulk_id: 'bulk',
      channel: 'email',
      sender: 'Żółw',
      recipient: 'asha@example.com',
      content: { subject: 'Zażółć', html: '<p>"quoted" \\ \n</p>', headers: {} },
      metadata,
      segments: null,
      encoding: null,
      scheduled_at: new Date('2026-05-05T09:00:00.001Z'),
      expires_at: new Date('2026-05-06T09:00:00.999Z'),
    })
    const bare = await bench.queued(workspaceId)
    const stored = await bench.message(workspaceId, full.id)
    expect(stored).toEqual(full)
    expect(Object.keys(stored.metadata).sort()).toEqual(Object.keys(metadata).sort())
    expect(Object.getPrototypeOf(stored.metadata)).toBe(Object.prototype)
    expect(await bench.message(workspaceId, bare.id)).toEqual(bare)
  })

  it('lists workspaces oldest first, everything else newest first, and pages through', async () => {
    const { storage, make } = bench
    const workspaceId = await bench.workspace()
    const ids = Array.from({ length: 7 }, () => workspaceId)
    const keys = ids.map((id) => make.apiKey(id))
    const webhooks = ids.map((id) => make.webhook(id))
    const workspaces = [workspaceId, ...(await others(3))]
    await storage.write(async (stores) => {
      for (const key of keys) await stores.apiKeys.insert(key)
      for (const webhook of webhooks) await stores.webhooks.insert(webhook)
      for (let i = 0; i < 6; i++)
        await stores.credits.post(workspaceId, make.grant(make.message('').credits_used))
    })
    const { read } = storage

    expect(await ids3(read.workspaces.list)).toEqual(pagesOf(workspaces))
    expect(await ids3((page) => read.apiKeys.list(workspaceId, page))).toEqual(
      pagesOf(keys.map(({ id }) => id).reverse()),
    )
    expect(await read.apiKeys.count(workspaceId)).toBe(7)
    expect(await ids3((page) => read.webhooks.list(workspaceId, page))).toEqual(
      pagesOf(webhooks.map(({ id }) => id).reverse()),
    )
    expect(await read.webhooks.count(workspaceId)).toBe(7)
    const ledger = await read.credits.entries(workspaceId, { limit: 3, offset: 2 })
    expect(ledger.map(({ seq }) => seq)).toEqual([5, 4, 3])
  })

  async function others(count: number): Promise<string[]> {
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await bench.workspace())
    return ids
  }

  describe('of messages', () => messageLists(bench))
}

/** The ids on the first four pages of three. */
async function ids3(
  list: (page: { limit: number; offset: number }) => Promise<{ id: string }[]>,
): Promise<string[][]> {
  const pages = [0, 3, 6, 9].map((offset) => list({ limit: 3, offset }))
  return (await Promise.all(pages)).map((page) => page.map(({ id }) => id))
}

function pagesOf(ids: string[]): string[][] {
  return [0, 3, 6, 9].map((offset) => ids.slice(offset, offset + 3))
}

function messageLists(bench: Bench): void {
  /** Two dozen messages, one a second, of every kind that a filter distinguishes; oldest first. */
  async function manyMessages(workspaceId: string): Promise<MessageRow[]> {
    const ids: string[] = []
    for (let i = 0; i < 24; i++) {
      const email = i % 3 === 0
      const message = await bench.queued(workspaceId, {
        channel: email ? 'email' : 'sms',
        recipient: email ? 'asha@example.com' : `+25570000000${i % 4}`,
        bulk_id: i % 6 === 1 ? BULK_ID : null,
        credits_used: units(0),
        livemode: i % 5 !== 2,
        sender: i % 4 === 3 ? 'Acme' : null,
        api_key_id: i % 6 < 2 ? KEY_ID : null,
        tags: email ? [{ name: 'campaign', value: i % 2 === 0 ? 'may' : 'june' }] : null,
      })
      if (i % 4 === 1) await bench.callback(message, 'sent')
      if (i % 4 === 2) await bench.callback(message, 'delivered')
      if (i % 4 === 3) await bench.callback(message, 'failed')
      ids.push(message.id)
      bench.clock.advance(1_000)
    }
    return Promise.all(ids.map((id) => bench.message(workspaceId, id)))
  }

  const from = new Date('2026-05-04T09:00:05.000Z')
  const until = new Date('2026-05-04T09:00:15.000Z')
  const filters: [string, MessageFilter, (message: MessageRow) => boolean][] = [
    ['nothing', {}, () => true],
    ['channel', { channel: 'email' }, (m) => m.channel === 'email'],
    ['status', { status: 'delivered' }, (m) => m.status === 'delivered'],
    ['lower bound, inclusive', { from }, (m) => m.created_at >= from],
    ['upper bound, inclusive', { until }, (m) => m.created_at <= until],
    [
      'status and both bounds',
      { status: 'failed', from, until },
      (m) => m.status === 'failed' && m.created_at >= from && m.created_at <= until,
    ],
    [
      'bulk and lower bound',
      { bulk_id: BULK_ID, from },
      (m) => m.bulk_id === BULK_ID && m.created_at >= from,
    ],
    ['bulk', { bulk_id: BULK_ID }, (m) => m.bulk_id === BULK_ID],
    ['recipient', { recipient: '+255700000001' }, (m) => m.recipient === '+255700000001'],
    [
      'all at once',
      {
        channel: 'sms',
        status: 'sent',
        from,
        until,
        bulk_id: BULK_ID,
        recipient: '+255700000001',
      },
      (m) =>
        m.channel === 'sms' &&
        m.status === 'sent' &&
        m.created_at >= from &&
        m.created_at <= until &&
        m.bulk_id === BULK_ID &&
        m.recipient === '+255700000001',
    ],
    [
      'delivered or read',
      { status: 'delivered_or_read' },
      (m) => ['delivered', 'read'].includes(m.status),
    ],
    ['failed without canceled', { status: 'failed_only' }, (m) => m.error_code === 'undelivered'],
    ['error', { error_code: 'undelivered' }, (m) => m.error_code === 'undelivered'],
    [
      'error, channel and both bounds',
      { error_code: 'undelivered', channel: 'sms', from, until },
      (m) =>
        m.error_code === 'undelivered' &&
        m.channel === 'sms' &&
        m.created_at >= from &&
        m.created_at <= until,
    ],
    ['sender', { sender: 'Acme' }, (m) => m.sender === 'Acme'],
    ['key', { api_key_id: KEY_ID }, (m) => m.api_key_id === KEY_ID],
    [
      'key and status',
      { api_key_id: KEY_ID, status: 'sent' },
      (m) => m.api_key_id === KEY_ID && m.status === 'sent',
    ],
    ['value of a tag', { tag: 'may' }, (m) => m.tags?.[0]?.value === 'may'],
    [
      'name of a tag, and test messages',
      { tag: 'campaign', livemode: false },
      (m) => m.tags !== null && !m.livemode,
    ],
    ['test messages', { livemode: false }, (m) => !m.livemode],
    [
      'test messages of a channel and a status',
      { livemode: false, channel: 'sms', status: 'delivered' },
      (m) => !m.livemode && m.channel === 'sms' && m.status === 'delivered',
    ],
    [
      'test messages to a recipient',
      { livemode: false, recipient: 'asha@example.com' },
      (m) => !m.livemode && m.recipient === 'asha@example.com',
    ],
    [
      'test messages of a time',
      { livemode: false, from, until },
      (m) => !m.livemode && m.created_at >= from && m.created_at <= until,
    ],
    [
      'test messages of a bulk',
      { livemode: false, bulk_id: BULK_ID },
      (m) => !m.livemode && m.bulk_id === BULK_ID,
    ],
    ['what nothing matches', { channel: 'voice' }, () => false],
  ]

  it('narrows by every filter, newest first, and counts the same', async () => {
    const workspaceId = await bench.workspace()
    const all = await manyMessages(workspaceId)
    const { messages } = bench.storage.read
    for (const [name, filter, holds] of filters) {
      const expected = all.filter(holds).reverse()
      expect.soft(expected.length > 0, name).toBe(name !== 'what nothing matches')
      expect.soft(await messages.list(workspaceId, filter, EVERYTHING), name).toEqual(expected)
      expect.soft(await messages.count(workspaceId, filter), name).toBe(expected.length)
    }
  })

  it('searches among every filter, a few messages in a call, without gaps or repeats', async () => {
    const workspace_id = await bench.workspace()
    const all = await manyMessages(workspace_id)
    const parts = { storage: bench.storage, runtime: bench.clock }
    for (const [name, filter, holds] of filters) {
      const { from, until, recipient = '0000', livemode, ...own } = filter
      const viewer = livemode === false ? { workspace_id, mode: 'test' as const } : workspace_id
      const expected = all
        .filter((message) => holds(message) && message.recipient.includes(recipient))
        .map(({ id }) => id)
        .reverse()
      const query = { ...own, search: recipient, startDate: from, endDate: until, limit: 2 }
      const found: string[] = []
      let after: string | null | undefined
      do {
        const page: FoundMessages = await searchMessages(
          parts,
          viewer,
          { ...query, after: after ?? undefined },
          { step: 3, max: 6 },
        )
        const { messages, searched_until, next_after } = page
        if (next_after !== null && messages.length < 2) {
          const last = await bench.message(workspace_id, next_after)
          expect.soft(searched_until, name).toEqual(last.created_at)
          const isNarrow = own.bulk_id || own.error_code || until
          if (after === undefined && !isNarrow) expect.soft(await newer(last), name).toBe(5)
        }
        found.push(...messages.map(({ id }) => id))
        after = next_after
      } while (after !== null)
      expect.soft(found, name).toEqual(expected)
    }

    async function newer({ id }: MessageRow): Promise<number> {
      const { messages } = bench.storage.read
      return (await messages.list(workspace_id, { newer_than: id }, EVERYTHING)).length
    }
  })

  it('finds every filter without a text in as many steps, those of a contact at once, and canceled messages by their error', async () => {
    const workspace_id = await bench.workspace()
    const all = await manyMessages(workspace_id)
    const [queued] = await bench.storage.read.messages.list(
      workspace_id,
      { status: 'queued', livemode: undefined },
      EVERYTHING,
    )
    await bench.storage.hot.cancel({
      ...{ workspace_id, message_ids: [queued?.id ?? ''], at: bench.clock.now() },
    })
    const parts = { storage: bench.storage, runtime: bench.clock }
    const search = (query: object) =>
      searchMessages(parts, workspace_id, { limit: 2, ...query }, { step: 3, max: 6 })
    const failed = all.filter(({ status }) => status === 'failed').map(({ id }) => id)
    const first = await search({ error_code: 'undelivered' })
    expect(first).toMatchObject({ total: null, searched_until: null })
    expect(first.messages.map(({ id }) => id)).toEqual(failed.slice(-2).reverse())
    const canceled = await search({ error_code: 'canceled' })
    expect(canceled).toMatchObject({ messages: [{ id: queued?.id }], total: 1, next_after: null })
    const only = await search({ status: 'failed_only' })
    expect(only.total).toBe(failed.length)
    expect(only.messages.map(({ id }) => id)).toEqual(failed.slice(-2).reverse())
    const bounds = { step: 3, max: 6, passed: 0 }
    const query = { limit: 2, status: 'failed_only' } as const
    const bounded = await searchMessages(parts, workspace_id, query, bounds)
    expect(bounded.total).toBeNull()
    const contacts = createContacts({ ...parts, quotas: QUOTAS })
    const { id: contact_id } = await contacts.create(workspace_id, { phone: '+255700000003' })
    const ofContact = { limit: 10, status: 'failed_only', contact_id } as const
    const person = await searchMessages(parts, workspace_id, ofContact, bounds)
    const theirs = all.filter(({ id, recipient }) => failed.includes(id) && recipient.endsWith('3'))
    expect(person.messages.map(({ id }) => id)).toEqual(theirs.map(({ id }) => id).reverse())
    expect(person.searched_until).toBeNull()
    const ofCode = async (calling_code: string) => {
      const query = { limit: 50, calling_code, status: 'failed_only' } as const
      const { messages } = await searchMessages(parts, workspace_id, query)
      return messages.map(({ id }) => id)
    }
    const numbers = all.filter(({ id, channel }) => failed.includes(id) && channel === 'sms')
    expect(await ofCode('255')).toEqual(numbers.map(({ id }) => id).reverse())
    expect(await ofCode('55')).toEqual([])
    const none = await search({ sender: 'Other' })
    expect(none).toMatchObject({ messages: [], next_after: all.at(-6)?.id })
    expect(none.searched_until).toEqual(all.at(-6)?.created_at)
    expect(await search({ error_code: 'other' })).toMatchObject({ messages: [], next_after: null })
  })

  it('finds the messages to the contacts of a searched name, and those with the text', async () => {
    const workspace_id = await bench.workspace()
    const all = await manyMessages(workspace_id)
    const parts = { storage: bench.storage, runtime: bench.clock }
    const contacts = createContacts({ ...parts, quotas: QUOTAS })
    await contacts.create(workspace_id, { name: 'Asha Juma', phone: '+255700000003' })
    const found = async (search: string) => {
      const { messages } = await searchMessages(parts, workspace_id, { search, limit: 50 })
      return messages.map(({ id }) => id)
    }
    const idsOf = (holds: (message: MessageRow) => boolean) =>
      all
        .filter(holds)
        .map(({ id }) => id)
        .reverse()
    const isTheirs = ({ recipient }: MessageRow) => recipient === '+255700000003'
    expect(await found('juma ash')).toEqual(idsOf(isTheirs))
    expect(await found('asha')).toEqual(
      idsOf((message) => isTheirs(message) || message.channel === 'email'),
    )
    expect(await found('asha juma x')).toEqual([])
  })

  it('exports what a filter selects, with empty pages and in parts of bounded work', async () => {
    const workspace_id = await bench.workspace()
    const all = await manyMessages(workspace_id)
    const parts = { storage: bench.storage, runtime: bench.clock }
    const pagesOf = async (search: string, after?: string) => {
      const query = { search, after, limit: 50 }
      const bounds = { step: 3, max: 6, searches: 2 }
      const pages: string[][] = []
      try {
        for await (const page of exportMessages(parts, workspace_id, query, bounds)) {
          pages.push(page.map(({ id }) => id))
        }
        return { pages, after: null }
      } catch (error) {
        if (!(error instanceof ExportBound)) throw error
        return { pages, after: error.after }
      }
    }
    // Nothing matches: two searches of 6 messages, then the position behind them.
    expect(await pagesOf('no such text')).toEqual({ pages: [[], []], after: all.at(-12)?.id })
    const recipient = '+255700000001'
    const expected = all.filter((message) => message.recipient === recipient).reverse()
    const found: string[] = []
    let after: string | undefined
    do {
      const part = await pagesOf(recipient, after)
      found.push(...part.pages.flat())
      after = part.after ?? undefined
    } while (after)
    expect(found).toEqual(expected.map(({ id }) => id))
  })

  it('counts the newest messages by place, of one mode and of a time', async () => {
    const workspaceId = await bench.workspace()
    const { messages } = bench.storage.read
    const all = await manyMessages(workspaceId)
    const other = await bench.workspace()
    await bench.queued(other)
    const period = { since: new Date(0), first_id: '', livemode: true, examine: 100 }
    const counted = (rows: readonly MessageRow[]) => {
      const counts = new Map<string, number>()
      for (const { channel, recipient, status } of rows) {
        const place = channel === 'email' ? '' : recipient.slice(0, 4)
        const key = `${channel} ${place} ${status}`
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
      return [...counts].sort()
    }
    const found = async (change: Partial<typeof period>) => {
      const rows = await messages.newestByPlace(workspaceId, { ...period, ...change })
      return rows
        .map(({ channel, place, status, count }) => [`${channel} ${place} ${status}`, count])
        .sort()
    }
    const live = all.filter(({ livemode }) => livemode)
    expect(await found({})).toEqual(counted(live))
    expect(await found({ livemode: false })).toEqual(counted(all.filter((m) => !m.livemode)))
    expect(await found({ since: from })).toEqual(counted(live.filter((m) => m.created_at >= from)))
    // Messages of the other mode count for the bound too.
    const newest = all.slice(-6)
    expect(await found({ examine: 6 })).toEqual(counted(newest.filter(({ livemode }) => livemode)))
    expect(await found({ first_id: newest[0]?.id ?? '' })).toEqual(
      counted(newest.filter(({ livemode }) => livemode)),
    )
  })

  it('sums the credits of messages by place, and tells canceled ones from failed ones', async () => {
    const workspace_id = await bench.workspace()
    const [kept, canceled] = [await bench.queued(workspace_id), await bench.queued(workspace_id)]
    await bench.storage.hot.cancel({
      ...{ workspace_id, message_ids: [canceled.id], at: bench.clock.now() },
    })
    const period = { since: new Date(0), first_id: '', livemode: true, examine: 100 }
    const rows = await bench.storage.read.messages.newestByPlace(workspace_id, period)
    const price = kept.credits_used
    expect(rows.sort((a, b) => a.status.localeCompare(b.status))).toMatchObject([
      { status: 'canceled', count: 1, credits_used: price, credits_refunded: price },
      { status: 'queued', count: 1, credits_used: price, credits_refunded: 0 },
    ])
  })

  const pageable: [string, Pick<MessageFilter, 'livemode' | 'channel'>][] = [
    ['all', {}],
    ['test messages', { livemode: false }],
    ['test messages of a channel', { livemode: false, channel: 'sms' }],
  ]

  it('pages by offset and by the last id seen, without gaps or repeats', async () => {
    const workspaceId = await bench.workspace()
    const rows = await manyMessages(workspaceId)
    const { messages } = bench.storage.read
    for (const [name, only] of pageable) {
      const all = rows
        .filter((m) => (only.livemode ?? m.livemode) === m.livemode)
        .filter((m) => (only.channel ?? m.channel) === m.channel)
        .reverse()
        .map(({ id }) => id)
      const byOffset: string[] = []
      const byId: string[] = []
      for (let offset = 0; offset < 30; offset += 2) {
        const page = await messages.list(workspaceId, only, { limit: 2, offset })
        byOffset.push(...page.map(({ id }) => id))
        const filter = { ...only, before_id: byId.at(-1) }
        const next = await messages.list(workspaceId, filter, { limit: 2, offset: 0 })
        byId.push(...next.map(({ id }) => id))
      }
      expect.soft(byOffset, name).toEqual(all)
      expect.soft(byId, name).toEqual(all)
    }
  })
}
