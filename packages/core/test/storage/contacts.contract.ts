import { describe, expect, it } from 'vitest'
import type { Slice } from '../../src/contract/endpoints/paging.ts'
import type { ContactRow } from '../../src/rows/rows.ts'
import type { ContactFilter } from '../../src/storage/ports/stores.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

/** Contacts: kept whole, found by what is theirs, and one key for one contact. */
export function contactsContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const insert = (...rows: ContactRow[]) =>
    bench.storage.write(({ contacts }) => contacts.insert(rows))

  it('gives a contact back as it was put in, with every field and with none', async () => {
    const workspaceId = await bench.workspace()
    const full = bench.make.contact(workspaceId, {
      name: 'Żółw 🐢',
      phone: '+255700000001',
      email: 'Asha@Example.com',
      email_key: 'asha@example.com',
      external_id: "crm-'1",
      tags: ['vip', 'Ünïcode'],
      attributes: JSON.parse('{"z":1,"a":[null,{"b":0.1}],"__proto__":{"polluted":true}}'),
      subscriptions: { email: 'unsubscribed' },
      search_text: 'żółw',
    })
    const bare = bench.make.contact(workspaceId)
    await insert(full, bare)
    const { contacts } = bench.storage.read
    const stored = await contacts.byId(workspaceId, full.id)
    expect(stored).toEqual(full)
    expect(JSON.stringify(stored?.attributes)).toBe(JSON.stringify(full.attributes))
    expect(await contacts.byId(workspaceId, bare.id)).toEqual(bare)
  })

  it('puts in as many at once as there are, with all their tags, and finds them by id', async () => {
    const workspaceId = await bench.workspace()
    const tags = Array.from({ length: 50 }, (_, i) => `tag ${i}`)
    const rows = Array.from({ length: 133 }, () => bench.make.contact(workspaceId, { tags }))
    await insert(...rows)
    const { contacts } = bench.storage.read
    expect(await contacts.count(workspaceId, { tag: 'tag 49' })).toBe(133)
    const ids = rows.map(({ id }) => id)
    const found = await contacts.byIds(workspaceId, [...ids, 'missing', ids[0] ?? ''])
    expect(found.map(({ id }) => id).sort()).toEqual(ids)
    expect(await contacts.byIds(workspaceId, [])).toEqual([])
  })

  it('lists each tag once, in pages in both directions, with the oldest contact that has it', async () => {
    const workspaceId = await bench.workspace()
    const stranger = await bench.workspace()
    const make = (tags: string[], of = workspaceId) => bench.make.contact(of, { tags })
    const rows = [make(['b', 'a']), make(['a', 'd']), make(['c', 'a']), make(['x'], stranger)]
    await insert(...rows)
    const { tags } = bench.storage.read.contacts
    const [first, second, third] = rows.map(({ id }) => id)
    const all = [
      { tag: 'a', oldest_id: first },
      { tag: 'b', oldest_id: first },
      { tag: 'c', oldest_id: third },
      { tag: 'd', oldest_id: second },
    ]
    expect(await tags(workspaceId, { limit: 10 })).toEqual(all)
    expect(await tags(workspaceId, { limit: 2 })).toEqual(all.slice(0, 2))
    expect(await tags(workspaceId, { limit: 2, after: 'b' })).toEqual(all.slice(2))
    expect(await tags(workspaceId, { limit: 2, before: 'd' })).toEqual(all.slice(1, 3))
    expect(await tags(workspaceId, { limit: 10, before: 'a' })).toEqual([])
    expect(await tags(workspaceId, { limit: 10, after: 'd' })).toEqual([])
  })

  describe('found by the beginnings of words', () => {
    const named = (search_text: string, workspaceId: string) =>
      bench.make.contact(workspaceId, { search_text })
    const found = async (workspaceId: string, ...words: string[]) => {
      const rows = await bench.storage.read.contacts.withWords(workspaceId, words, 10)
      return rows.map(({ search_text }) => search_text.split('\n')[0])
    }

    it('needs each word, puts whole words first, and finds no contact of another workspace', async () => {
      const workspaceId = await bench.workspace()
      const stranger = await bench.workspace()
      await insert(
        named("alice o'hara\n+255700000001\nalice@example.com", workspaceId),
        named('ali hassan\n+255700000002', workspaceId),
        named('natalia haan', workspaceId),
        named('żółw-straße müller', workspaceId),
        named('ali stranger', stranger),
      )
      expect(await found(workspaceId, 'ali')).toEqual(['ali hassan', "alice o'hara"])
      expect(await found(workspaceId, 'ali', 'ha')).toEqual(['ali hassan', "alice o'hara"])
      expect(await found(workspaceId, 'ha', 'ali')).toEqual(["alice o'hara", 'ali hassan'])
      expect(await found(workspaceId, 'ali', 'hass')).toEqual(['ali hassan'])
      expect(await found(workspaceId, '2557')).toEqual(["alice o'hara", 'ali hassan'])
      expect(await found(workspaceId, 'alice@ex')).toEqual(["alice o'hara"])
      expect(await found(workspaceId, 'stra')).toEqual(['żółw-straße müller'])
      expect(await found(workspaceId, 'żó', 'mü')).toEqual(['żółw-straße müller'])
      expect(await found(workspaceId, 'alia')).toEqual([])
      expect(await found(workspaceId)).toEqual([])
    })

    it('finds a changed name, not the one before, and no removed contact', async () => {
      const workspaceId = await bench.workspace()
      const one = named('asha mwangi', workspaceId)
      await insert(one)
      await bench.storage.write(({ contacts }) =>
        contacts.update({ ...one, search_text: 'asha otieno' }),
      )
      expect(await found(workspaceId, 'mwangi')).toEqual([])
      expect(await found(workspaceId, 'otieno', 'asha')).toEqual(['asha otieno'])
      await bench.storage.write(({ contacts }) => contacts.remove(workspaceId, one.id))
      expect(await found(workspaceId, 'asha')).toEqual([])
      await insert(named('asha again', workspaceId))
      expect(await found(workspaceId, 'asha')).toEqual(['asha again'])
    })
  })

  it('says who has a phone, an address or an id, each once', async () => {
    const workspaceId = await bench.workspace()
    const one = bench.make.contact(workspaceId, {
      phone: '+255700000001',
      email_key: 'a@x.example',
    })
    const two = bench.make.contact(workspaceId, { phone: '+255700000002', external_id: 'two' })
    const three = bench.make.contact(workspaceId, { phone: '+255700000003' })
    await insert(one, two, three)
    const found = await bench.storage.read.contacts.holding(workspaceId, {
      phones: ['+255700000001', '+255700000009'],
      email_keys: ['a@x.example'],
      external_ids: ['two'],
    })
    expect(found.map(({ id }) => id).sort()).toEqual([one.id, two.id])
    const named = ({ id, name, phone, email_key }: typeof one) => ({ id, name, phone, email_key })
    const names = await bench.storage.read.contacts.names(workspaceId, {
      phones: ['+255700000002', '+255700000009'],
      email_keys: ['a@x.example'],
    })
    expect(names).toEqual([named(two), named(one)])
  })

  it.each([
    ['phone', '+255700000001'],
    ['email_key', 'asha@example.com'],
    ['external_id', 'crm-1'],
  ])('refuses a second contact with the same %s', async (field, value) => {
    const workspaceId = await bench.workspace()
    const other = await bench.workspace()
    await insert(bench.make.contact(workspaceId, { [field]: value }))
    await insert(bench.make.contact(other, { [field]: value }))
    await expect(insert(bench.make.contact(workspaceId, { [field]: value }))).rejects.toThrow()
    expect(await bench.storage.read.contacts.count(workspaceId, {})).toBe(1)
  })

  it('changes every field but the time of its making, tags too', async () => {
    const workspaceId = await bench.workspace()
    const before = bench.make.contact(workspaceId, { phone: '+255700000001', tags: ['a', 'b'] })
    const bystander = bench.make.contact(workspaceId, { tags: ['a'] })
    await insert(before, bystander)
    const after = { ...before, phone: null, email: 'A@x.example', email_key: 'a@x.example' }
    const changed = { ...after, tags: ['b', 'c'], updated_at: bench.clock.advance(1_000) }
    await bench.storage.write(({ contacts }) => contacts.update(changed))
    const { contacts } = bench.storage.read
    expect(await contacts.byId(workspaceId, before.id)).toEqual(changed)
    const tagged = async (tag: string) =>
      (await contacts.list(workspaceId, { tag }, EVERYTHING)).map(({ id }) => id)
    expect(await tagged('a')).toEqual([bystander.id])
    expect(await tagged('c')).toEqual([before.id])
  })

  it('removes one contact with its tags, once', async () => {
    const workspaceId = await bench.workspace()
    const stranger = await bench.workspace()
    const gone = bench.make.contact(workspaceId, { tags: ['a'] })
    const kept = bench.make.contact(workspaceId, { tags: ['a'] })
    await insert(gone, kept)
    const remove = (asker: string) =>
      bench.storage.write(({ contacts }) => contacts.remove(asker, gone.id))
    expect(await remove(stranger)).toBe(false)
    expect(await remove(workspaceId)).toBe(true)
    expect(await remove(workspaceId)).toBe(false)
    const { contacts } = bench.storage.read
    expect(await contacts.byId(workspaceId, gone.id)).toBeNull()
    expect(await contacts.list(workspaceId, { tag: 'a' }, EVERYTHING)).toEqual([kept])
  })

  describe('a list', () => {
    const names = ['100%', '100 percent', 'a_b', 'axb', "o'hara", 'żółw', '!%_!', 'back\\slash']

    async function listed(filter: ContactFilter): Promise<(string | null)[]> {
      const workspaceId = await bench.workspace()
      for (const name of names) {
        await insert(bench.make.contact(workspaceId, { name, search_text: name }))
      }
      const { contacts } = bench.storage.read
      const rows = await contacts.list(workspaceId, filter, EVERYTHING)
      expect(await contacts.count(workspaceId, filter)).toBe(rows.length)
      return rows.map(({ name }) => name)
    }

    it('is newest first, in pages, or from a contact on', async () => {
      expect(await listed({})).toEqual(names.toReversed())
      const workspaceId = await bench.workspace()
      const rows = names.map(() => bench.make.contact(workspaceId))
      await insert(...rows)
      const ids = rows.map(({ id }) => id).reverse()
      const page = async (slice: Slice) =>
        (await bench.storage.read.contacts.list(workspaceId, {}, slice)).map(({ id }) => id)
      expect(await page({ limit: 2, offset: 1 })).toEqual(ids.slice(1, 3))
      expect(await page({ limit: 3, offset: 0, after: ids[2] })).toEqual(ids.slice(3, 6))
    })

    it.each([
      ['100%', ['100%']],
      ['%', ['!%_!', '100%']],
      ['_', ['!%_!', 'a_b']],
      ['!', ['!%_!']],
      ['\\', ['back\\slash']],
      ["'", ["o'hara"]],
      ['żół', ['żółw']],
      ['Ż', []],
      ['missing', []],
    ])('searched for %s takes every character for itself', async (search, found) => {
      expect(await listed({ search })).toEqual(found)
    })
  })

  it('counts exactly while many change the same contacts at once', async () => {
    const workspaceId = await bench.workspace()
    const takeFree = () =>
      bench.storage.write(async ({ contacts }) => {
        await contacts.lock(workspaceId)
        const phones = ['+255700000001']
        const found = await contacts.holding(workspaceId, {
          phones,
          email_keys: [],
          external_ids: [],
        })
        if (found.length > 0) return false
        await contacts.insert([bench.make.contact(workspaceId, { phone: '+255700000001' })])
        return true
      })
    const answers = await Promise.all(Array.from({ length: 20 }, takeFree))
    expect(answers.filter(Boolean)).toEqual([true])
  })
}
