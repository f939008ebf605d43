import {
  and,
  asc,
  desc,
  eq,
  exists,
  gt,
  gte,
  inArray,
  lt,
  lte,
  notExists,
  type SQL,
  sql,
} from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { ContactRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import { hasWords, wordKey, wordKeyEnd, wordsOf } from '../../rules/contact-words.ts'
import { blocksOf, filledUp, includes, isBelow } from './queries.ts'

/** Selects contacts; an absent field does not restrict the list. */
export interface ContactFilter {
  /** A part of `search_text`, also in lower case. */
  search?: string | undefined
  tag?: string | undefined
  /** Only contacts that are newer than the contact with this id: of these, the oldest. */
  newer_than?: string | undefined
}

/** Selects contacts by their tags. */
export interface AudienceFilter {
  /** At least one of these; empty: any contact. */
  tags: readonly string[]
  /** None of these. */
  exclude_tags: readonly string[]
}

/** The keys that are unique among the contacts of a workspace. */
export interface ContactKeys {
  phones: readonly string[]
  email_keys: readonly string[]
  external_ids: readonly string[]
}

/** Selects a page of the tags of a workspace, in their order. */
export interface TagPage {
  limit: number
  /** Only tags after this one. */
  after?: string | undefined
  /** Only tags before this one: of these, the last. */
  before?: string | undefined
}

/** A tag, and the oldest contact that has it. */
export interface TagRow {
  tag: string
  oldest_id: string
}

/** What a list shows of a contact. */
export type ContactName = Pick<ContactRow, 'id' | 'name' | 'phone' | 'email_key'>

type IndexedContact = Pick<ContactRow, 'workspace_id' | 'id' | 'search_text'>

/** The entries of the index of words that one search reads: about 10 ms. */
const ENTRIES_EXAMINED = 5_000

/** The contacts that one search reads: more than it returns, because one with two such words is found twice. */
const CONTACTS_EXAMINED = 200

export function contactStore(
  db: Db,
  { contacts: t, contact_tags: tags, contact_words: words, workspaces }: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
) {
  const mine = (workspaceId: string, contactId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, contactId))
  const { workspace_id, id, search_text } = t
  const indexed = { workspace_id, id, search_text }
  const tagsOf = ({ workspace_id, id }: Pick<ContactRow, 'workspace_id' | 'id'>) =>
    and(eq(tags.workspace_id, workspace_id), eq(tags.contact_id, id))

  function matching(workspaceId: string, { search, tag, newer_than }: ContactFilter) {
    const tagged = db
      .select({ id: tags.contact_id })
      .from(tags)
      .where(and(eq(tags.workspace_id, workspaceId), eq(tags.tag, tag ?? '')))
    return and(
      eq(t.workspace_id, workspaceId),
      tag ? inArray(t.id, tagged) : undefined,
      search ? includes(t.search_text, search) : undefined,
      newer_than ? gt(t.id, newer_than) : undefined,
    )
  }

  const taggedWith = (names: readonly string[]) =>
    db
      .select({ id: tags.contact_id })
      .from(tags)
      .where(
        and(
          eq(tags.workspace_id, t.workspace_id),
          inArray(tags.tag, filledUp(names)),
          eq(tags.contact_id, t.id),
        ),
      )

  const inAudience = (
    workspaceId: string,
    { tags: wanted, exclude_tags: unwanted }: AudienceFilter,
    until: string,
  ) =>
    and(
      eq(t.workspace_id, workspaceId),
      lte(t.id, until),
      wanted.length > 0 ? exists(taggedWith(wanted)) : undefined,
      unwanted.length > 0 ? notExists(taggedWith(unwanted)) : undefined,
    )

  const isAmong = (workspaceId: string, column: PgColumn, values: readonly string[]) =>
    and(eq(t.workspace_id, workspaceId), inArray(column, filledUp(values)))

  /** One query for each column: no index serves a condition on several columns. */
  async function among(workspaceId: string, column: PgColumn, values: readonly string[]) {
    if (values.length === 0) return []
    return db
      .select()
      .from(t)
      .where(isAmong(workspaceId, column, values))
  }

  async function namesAmong(workspaceId: string, column: PgColumn, values: readonly string[]) {
    if (values.length === 0) return []
    const { id, name, phone, email_key } = t
    const shown = { id, name, phone, email_key }
    return db
      .select(shown)
      .from(t)
      .where(isAmong(workspaceId, column, values))
  }

  async function attributesAmong(workspaceId: string, column: PgColumn, values: readonly string[]) {
    if (values.length === 0) return []
    const { phone, email_key, attributes } = t
    return db
      .select({ phone, email_key, attributes })
      .from(t)
      .where(isAmong(workspaceId, column, values))
  }

  async function insertTags(contacts: readonly ContactRow[]): Promise<void> {
    const rows = contacts.flatMap(({ workspace_id, id, tags }) =>
      tags.map((tag) => ({ workspace_id, tag, contact_id: id })),
    )
    for (const block of blocksOf(rows)) await db.insert(tags).values(block)
  }

  async function insertWords(contacts: readonly IndexedContact[]): Promise<void> {
    const rows = contacts.flatMap(({ workspace_id, id, search_text }) =>
      wordsOf(search_text).map((word) => ({ workspace_id, word: wordKey(word), contact_id: id })),
    )
    for (const block of blocksOf(rows)) await db.insert(words).values(block).onConflictDoNothing()
  }

  async function removeWords({ workspace_id, id, search_text }: IndexedContact): Promise<void> {
    const keys = wordsOf(search_text).map(wordKey)
    if (keys.length === 0) return
    const own = and(
      eq(words.workspace_id, workspace_id),
      inArray(words.word, filledUp(keys)),
      eq(words.contact_id, id),
    )
    await db.delete(words).where(own)
  }

  /** The entries of words with this beginning. */
  const beginningWith = (workspaceId: string, word: string) =>
    and(
      eq(words.workspace_id, workspaceId),
      gte(words.word, wordKey(word)),
      lt(words.word, wordKeyEnd(wordKey(word))),
    )

  /** The word with the fewest entries; all with at least `ENTRIES_EXAMINED` count alike. */
  async function rarestOf(workspaceId: string, given: readonly string[]): Promise<string> {
    let [rarest = ''] = given
    let least = Number.POSITIVE_INFINITY
    if (given.length === 1) return rarest
    for (const word of given) {
      const some = db
        .select({ word: words.word })
        .from(words)
        .where(beginningWith(workspaceId, word))
        .limit(ENTRIES_EXAMINED)
        .as('some')
      const n = (await db.select({ n: rowCount }).from(some))[0]?.n ?? 0
      if (n < least) [rarest, least] = [word, n]
    }
    return rarest
  }

  return {
    reads: {
      async byId(workspaceId: string, contactId: string): Promise<ContactRow | null> {
        const [row] = await db.select().from(t).where(mine(workspaceId, contactId))
        return row ?? null
      },
      /** The contacts with these ids that exist, in any order. */
      byIds: (workspaceId: string, contactIds: readonly string[]): Promise<ContactRow[]> =>
        among(workspaceId, t.id, contactIds),
      /** The contacts that have one of the keys. */
      async holding(
        workspaceId: string,
        { phones, email_keys, external_ids }: ContactKeys,
      ): Promise<ContactRow[]> {
        const found = [
          ...(await among(workspaceId, t.phone, phones)),
          ...(await among(workspaceId, t.email_key, email_keys)),
          ...(await among(workspaceId, t.external_id, external_ids)),
        ]
        return [...new Map(found.map((row) => [row.id, row])).values()]
      },
      /** The attributes of the contacts that have one of the addresses. */
      async attributes(
        workspaceId: string,
        { phones, email_keys }: Pick<ContactKeys, 'phones' | 'email_keys'>,
      ): Promise<Pick<ContactRow, 'phone' | 'email_key' | 'attributes'>[]> {
        return [
          ...(await attributesAmong(workspaceId, t.phone, phones)),
          ...(await attributesAmong(workspaceId, t.email_key, email_keys)),
        ]
      },
      /** The names of the contacts that have one of the addresses, without the rest of the contacts. */
      async names(
        workspaceId: string,
        { phones, email_keys }: Pick<ContactKeys, 'phones' | 'email_keys'>,
      ): Promise<ContactName[]> {
        return [
          ...(await namesAmong(workspaceId, t.phone, phones)),
          ...(await namesAmong(workspaceId, t.email_key, email_keys)),
        ]
      },
      /**
       * Contacts in which each of the words begins a word, in the order of the rarest word, so that the whole word comes before
       * longer ones. Of its entries the first 5,000 are read, whatever the number of contacts.
       */
      async withWords(
        workspaceId: string,
        given: readonly string[],
        limit: number,
      ): Promise<ContactRow[]> {
        if (given.length === 0) return []
        const rarest = await rarestOf(workspaceId, given)
        const entries = db
          .select({ word: words.word, contact_id: words.contact_id })
          .from(words)
          .where(beginningWith(workspaceId, rarest))
          .orderBy(asc(words.word), asc(words.contact_id))
          .limit(ENTRIES_EXAMINED)
          .as('entries')
        // The index would be read once for each entry to look for the other words in it.
        const others = given.filter((word) => word !== rarest)
        const found = await db
          .select({ contact: t })
          .from(entries)
          .innerJoin(t, and(eq(t.workspace_id, workspaceId), eq(t.id, entries.contact_id)))
          .where(and(...others.map((word) => includes(t.search_text, word))))
          .orderBy(asc(entries.word), asc(entries.contact_id))
          .limit(CONTACTS_EXAMINED)
        const rows = new Map(found.map(({ contact }) => [contact.id, contact]))
        const matching = [...rows.values()].filter((row) => hasWords(row.search_text, given))
        return matching.slice(0, limit)
      },
      /** Returns the newest first. */
      async list(
        workspaceId: string,
        filter: ContactFilter,
        { limit, offset, after }: Slice,
      ): Promise<ContactRow[]> {
        const found = db
          .select()
          .from(t)
          .where(and(matching(workspaceId, filter), isBelow(t.id, after)))
        if (filter.newer_than) {
          const rows = await found.orderBy(asc(t.id)).limit(limit).offset(offset)
          return rows.reverse()
        }
        return found.orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      /** The contacts with these tags, oldest first, after one id and up to another. */
      audience: (
        workspaceId: string,
        filter: AudienceFilter,
        { after, until, limit }: { after: string; until: string; limit: number },
      ): Promise<ContactRow[]> =>
        db
          .select()
          .from(t)
          .where(and(inAudience(workspaceId, filter, until), gt(t.id, after)))
          .orderBy(asc(t.id))
          .limit(limit),
      /** The number of contacts with these tags, up to an id. */
      async countAudience(
        workspaceId: string,
        filter: AudienceFilter,
        until: string,
      ): Promise<number> {
        const found = db.select({ n: rowCount }).from(t)
        return (await found.where(inAudience(workspaceId, filter, until)))[0]?.n ?? 0
      },
      /** The id of the newest contact; empty without contacts. */
      async newestId(workspaceId: string): Promise<string> {
        const found = db.select({ id: t.id }).from(t).where(eq(t.workspace_id, workspaceId))
        return (await found.orderBy(desc(t.id)).limit(1))[0]?.id ?? ''
      },
      async count(workspaceId: string, filter: ContactFilter): Promise<number> {
        const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
        return (await found)[0]?.n ?? 0
      },
      /** Each tag once, in the order of the database. */
      async tags(workspaceId: string, { limit, after, before }: TagPage): Promise<TagRow[]> {
        const mine = sql`from ${tags} where ${tags.workspace_id} = ${workspaceId}`
        const isBackward = before !== undefined
        const order = isBackward ? sql`desc` : sql`asc`
        const beyond = (tag: SQL) =>
          isBackward ? sql`${tags.tag} < ${tag}` : sql`${tags.tag} > ${tag}`
        const next = (tag: SQL) =>
          sql`(select ${tags.tag} ${mine} and ${beyond(tag)} order by ${tags.tag} ${order} limit 1)`
        // A step of the index for each tag: `distinct` would read the entries of all contacts.
        const found = sql`(
        with recursive names(tag, n) as (
          select ${next(sql`${before ?? after ?? ''}`)}, 1
          union all
          select ${next(sql`names.tag`)}, n + 1 from names where names.tag is not null and n < ${sql.raw(`${limit}`)}
        )
        select names.tag as tag,
          (select min(${tags.contact_id}) ${mine} and ${tags.tag} = names.tag) as oldest_id
        from names where names.tag is not null
      ) as found`
        const rows = await db
          .select({ tag: sql<string>`found.tag`, oldest_id: sql<string>`found.oldest_id` })
          .from(found)
          .orderBy(sql`found.tag`)
        return rows satisfies TagRow[]
      },
    },
    writes: {
      /** Blocks other changes of the workspace's contacts until the transaction ends, so that a free key stays free. */
      async lock(workspaceId: string): Promise<void> {
        const workspace = db.select({ id: workspaces.id }).from(workspaces)
        await locked(workspace.where(eq(workspaces.id, workspaceId)))
      },
      async insert(contacts: readonly ContactRow[]): Promise<void> {
        for (const block of blocksOf(contacts)) await db.insert(t).values(block)
        await insertTags(contacts)
        await insertWords(contacts)
      },
      async update(contact: ContactRow): Promise<void> {
        const { workspace_id, id, created_at: _, ...fields } = contact
        const [before] = await db.select(indexed).from(t).where(mine(workspace_id, id))
        if (before && before.search_text !== contact.search_text) {
          await removeWords(before)
          await insertWords([contact])
        }
        await db.update(t).set(fields).where(mine(workspace_id, id))
        await db.delete(tags).where(tagsOf(contact))
        await insertTags([contact])
      },
      /** Returns false when there is no such contact. */
      async remove(workspaceId: string, contactId: string): Promise<boolean> {
        const [gone] = await db.delete(t).where(mine(workspaceId, contactId)).returning(indexed)
        if (!gone) return false
        await removeWords(gone)
        await db.delete(tags).where(tagsOf({ workspace_id: workspaceId, id: contactId }))
        return true
      },
    },
  }
}
