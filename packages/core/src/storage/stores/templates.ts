import { and, desc, eq, getTableColumns, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { TemplateRow, TemplateVersionRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { isBelow, type StoreDialect } from './queries.ts'

/** The columns of a template that change. */
export type TemplateChange = Partial<Omit<TemplateRow, 'workspace_id' | 'name'>>

/** A template in a list. */
export type ListedTemplateRow = Omit<TemplateRow, 'variables' | 'variants'>

/** A version in a list. */
export type ListedVersionRow = Omit<
  TemplateVersionRow,
  'variables' | 'variants' | 'plain_texts' | 'htmls'
>

export function templateStore(
  db: Db,
  { templates: t, template_versions: v }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  const named = (workspaceId: string, name: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.name, name))
  const live = (workspaceId: string) => and(eq(t.workspace_id, workspaceId), isNull(t.deleted_at))
  const versionsOf = (workspaceId: string, name: string) =>
    and(eq(v.workspace_id, workspaceId), eq(v.name, name))
  const { variables: _, variants: __, ...listed } = getTableColumns(t)
  const {
    variables: ___,
    variants: ____,
    plain_texts: _____,
    htmls: ______,
    ...listedVersion
  } = getTableColumns(v)
  return {
    reads: {
      /** The template, also a deleted one. */
      async byName(workspaceId: string, name: string): Promise<TemplateRow | null> {
        return (await db.select().from(t).where(named(workspaceId, name)))[0] ?? null
      },
      /** Returns the newest first, without deleted ones. */
      async list(
        workspaceId: string,
        { limit, offset, after }: Slice,
      ): Promise<ListedTemplateRow[]> {
        const own = and(live(workspaceId), isBelow(t.id, after))
        const found = db.select(listed).from(t).where(own).orderBy(desc(t.id))
        return found.limit(limit).offset(offset)
      },
      async count(workspaceId: string): Promise<number> {
        return (await db.select({ n: rowCount }).from(t).where(live(workspaceId)))[0]?.n ?? 0
      },
      async version(
        workspaceId: string,
        name: string,
        version: number,
      ): Promise<TemplateVersionRow | null> {
        const one = and(versionsOf(workspaceId, name), eq(v.version, version))
        return (await db.select().from(v).where(one))[0] ?? null
      },
      /** The version of a template that is not deleted; default: the latest. */
      async usable(
        workspaceId: string,
        name: string,
        version: number | undefined,
      ): Promise<TemplateVersionRow | null> {
        const wanted = version === undefined ? eq(v.version, t.version) : eq(v.version, version)
        const own = and(eq(v.workspace_id, t.workspace_id), eq(v.name, t.name), wanted)
        const found = db.select(getTableColumns(v)).from(t).innerJoin(v, own)
        const mine = and(named(workspaceId, name), isNull(t.deleted_at))
        return (await found.where(mine))[0] ?? null
      },
      /** Returns the newest first; `below`: only versions with lower numbers. */
      async versions(
        workspaceId: string,
        name: string,
        { limit, offset, below }: Omit<Slice, 'after'> & { below?: number | undefined },
      ): Promise<ListedVersionRow[]> {
        const own = and(
          versionsOf(workspaceId, name),
          below === undefined ? undefined : lt(v.version, below),
        )
        const found = db.select(listedVersion).from(v).where(own).orderBy(desc(v.version))
        return found.limit(limit).offset(offset)
      },
      async countVersions(workspaceId: string, name: string): Promise<number> {
        const own = versionsOf(workspaceId, name)
        return (await db.select({ n: rowCount }).from(v).where(own))[0]?.n ?? 0
      },
      /** The size of all versions of a workspace. */
      async sizeOfVersions(workspaceId: string): Promise<number> {
        const sum = sql<number | null>`cast(sum(${v.size_bytes}) as bigint)`.mapWith(Number)
        const own = db.select({ sum }).from(v).where(eq(v.workspace_id, workspaceId))
        return (await own)[0]?.sum ?? 0
      },
    },
    writes: {
      async insert(template: TemplateRow): Promise<void> {
        await db.insert(t).values(template)
      },
      /** The template, locked until the transaction ends; also a deleted one. */
      async lock(workspaceId: string, name: string): Promise<TemplateRow | null> {
        return (await locked(db.select().from(t).where(named(workspaceId, name))))[0] ?? null
      },
      async change(workspaceId: string, name: string, change: TemplateChange): Promise<void> {
        await db.update(t).set(change).where(named(workspaceId, name))
      },
      async remove(workspaceId: string, name: string): Promise<void> {
        await db.delete(t).where(named(workspaceId, name))
      },
      async insertVersion(version: TemplateVersionRow): Promise<void> {
        await db.insert(v).values(version)
      },
      /** Removes the versions of deleted templates, and these templates. */
      async removeDeleted(workspaceId: string): Promise<void> {
        const mine = and(eq(t.workspace_id, workspaceId), isNotNull(t.deleted_at))
        const names = db.select({ name: t.name }).from(t).where(mine)
        await db.delete(v).where(and(eq(v.workspace_id, workspaceId), inArray(v.name, names)))
        await db.delete(t).where(mine)
      },
    },
  }
}
