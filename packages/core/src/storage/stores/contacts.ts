import { and, asc, desc, eq, gt, inArray, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { ContactRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { ContactFilter, ContactReads, ContactWrites, TagRow } from '../ports/contacts.ts'
import { blocksOf, filledUp } from './batches.ts'
import { includes } from './dialect.ts'
import { isBelow } from './pages.ts'

export function contactStore(
  db: Db,
  { contacts: t, contact_tags: tags, workspaces }: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
): ContactReads & ContactWrites {
  const mine = (workspaceId: string, contactId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, contactId))
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

  async function insertTags(contacts: readonly ContactRow[]): Promise<void> {
    const rows = contacts.flatMap(({ workspace_id, id, tags }) =>
      tags.map((tag) => ({ workspace_id, tag, contact_id: id })),
    )
    for (const block of blocksOf(rows)) await db.insert(tags).values(block)
  }

  return {
    async byId(workspaceId, contactId) {
      const [row] = await db.select().from(t).where(mine(workspaceId, contactId))
      return row ?? null
    },
    byIds: (workspaceId, contactIds) => among(workspaceId, t.id, contactIds),
    async holding(workspaceId, { phones, email_keys, external_ids }) {
      const found = [
        ...(await among(workspaceId, t.phone, phones)),
        ...(await among(workspaceId, t.email_key, email_keys)),
        ...(await among(workspaceId, t.external_id, external_ids)),
      ]
      return [...new Map(found.map((row) => [row.id, row])).values()]
    },
    async names(workspaceId, { phones, email_keys }) {
      return [
        ...(await namesAmong(workspaceId, t.phone, phones)),
        ...(await namesAmong(workspaceId, t.email_key, email_keys)),
      ]
    },
    async list(workspaceId, filter, { limit, offset, after }) {
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
    async count(workspaceId, filter) {
      const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
      return (await found)[0]?.n ?? 0
    },
    async tags(workspaceId, { limit, after, before }) {
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
    async lock(workspaceId) {
      const workspace = db.select({ id: workspaces.id }).from(workspaces)
      await locked(workspace.where(eq(workspaces.id, workspaceId)))
    },
    async insert(contacts) {
      for (const block of blocksOf(contacts)) await db.insert(t).values(block)
      await insertTags(contacts)
    },
    async update(contact) {
      const { workspace_id, id, created_at: _, ...fields } = contact
      await db.update(t).set(fields).where(mine(workspace_id, id))
      await db.delete(tags).where(tagsOf(contact))
      await insertTags([contact])
    },
    async remove(workspaceId, contactId) {
      const gone = await db.delete(t).where(mine(workspaceId, contactId)).returning({ id: t.id })
      if (gone.length === 0) return false
      await db.delete(tags).where(tagsOf({ workspace_id: workspaceId, id: contactId }))
      return true
    },
  }
}
