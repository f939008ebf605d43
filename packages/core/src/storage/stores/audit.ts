import { and, desc, eq, gte, inArray, isNull, lt, lte, ne, sql } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { ActorKind, AuditAction } from '../../contract/resources/audit.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { AuditEntryRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { idFloor } from '../../runtime/runtime.ts'
import { isBelow, removeOldest } from './queries.ts'

/** Selects entries of a list; an absent field does not restrict it. */
export interface AuditFilter {
  action?: AuditAction | undefined
  from?: Date | undefined
  until?: Date | undefined
}

/** Selects entries of the operator's list: all entries, or the entries of one workspace. */
export interface OperatorAuditFilter extends AuditFilter {
  workspace_id?: string | undefined
}

/** A workspace with too many entries of an action. */
export interface OverfullAudit {
  workspace_id: string
  action: AuditAction
  /** The id of the oldest entry to keep. */
  oldest_kept: string
}

/** The present names of an entry's workspace and actor; null without one, and after its removal. */
export interface AuditNames {
  workspace_name: string | null
  /** The e-mail address of a login, or the name of an API key. */
  actor_name: string | null
}

export function auditStore(db: Db, tables: Tables) {
  const { audit_entries: t, workspaces, users, members, api_keys } = tables
  const matching = ({ action, from, until }: AuditFilter) =>
    and(
      action && eq(t.action, action),
      from && gte(t.created_at, from),
      until && lte(t.created_at, until),
    )

  return {
    reads: {
      /** Returns the newest first. The empty workspace id selects the entries about the service. */
      async list(
        workspaceId: string,
        filter: AuditFilter,
        { limit, offset, after }: Slice,
      ): Promise<AuditEntryRow[]> {
        const own = and(eq(t.workspace_id, workspaceId), matching(filter), isBelow(t.id, after))
        const found = db.select().from(t).where(own)
        return found.orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      async count(workspaceId: string, filter: AuditFilter): Promise<number> {
        const own = and(eq(t.workspace_id, workspaceId), matching(filter))
        return (await db.select({ n: rowCount }).from(t).where(own))[0]?.n ?? 0
      },
      /** The operator's list: entries of all workspaces and of the service, newest first. */
      async ofAll(
        { workspace_id, ...filter }: OperatorAuditFilter,
        { limit, offset, after }: Slice,
      ): Promise<AuditEntryRow[]> {
        const own = workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id)
        const found = db
          .select()
          .from(t)
          .where(and(own, matching(filter), isBelow(t.id, after)))
        return found.orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      /**
       * The names for entries, in their order. `only_members`: for a list that members read, of which a login that left the workspace has no
       * name: its present address is not theirs to see.
       */
      async namesOf(
        entries: readonly Pick<AuditEntryRow, 'workspace_id' | 'actor_kind' | 'actor_id'>[],
        { only_members }: { only_members: boolean },
      ): Promise<AuditNames[]> {
        const idsOf = (...kinds: ActorKind[]) =>
          entries.flatMap((one) =>
            kinds.includes(one.actor_kind) && one.actor_id ? [one.actor_id] : [],
          )
        // A client has an id when it became a member with the request.
        const [logins, keyIds] = [idsOf('session', 'client'), idsOf('api_key')]
        const own = entries.map(({ workspace_id }) => workspace_id)
        const [spaces, people, keys, present] = await Promise.all([
          db
            .select({ id: workspaces.id, name: workspaces.name, email: workspaces.email })
            .from(workspaces)
            .where(inArray(workspaces.id, [...new Set([...own, ...logins])])),
          db
            .select({ id: users.id, email: users.email })
            .from(users)
            .where(inArray(users.id, [...new Set(logins)])),
          db
            .select({ workspace_id: api_keys.workspace_id, id: api_keys.id, name: api_keys.name })
            .from(api_keys)
            .where(
              and(
                inArray(api_keys.workspace_id, [...new Set(own)]),
                inArray(api_keys.id, [...new Set(keyIds)]),
              ),
            ),
          db
            .select({ workspace_id: members.workspace_id, id: members.user_id })
            .from(members)
            .where(
              and(
                inArray(members.workspace_id, [...new Set(own)]),
                inArray(members.user_id, [...new Set(logins)]),
              ),
            ),
        ])
        return entries.map(({ workspace_id, actor_kind, actor_id }) => {
          const byId = <One extends { id: string }>(rows: readonly One[], id: string | null) =>
            rows.find((one) => one.id === id)
          const space = byId(spaces, workspace_id)
          const key = keys.find((one) => one.id === actor_id && one.workspace_id === workspace_id)
          // The owner of a workspace has no id, and signs in with the address of the workspace; also as a member of another.
          const isMember = present.some(
            (one) => one.id === actor_id && one.workspace_id === workspace_id,
          )
          const isNamed = isMember || !only_members
          const login =
            actor_id === null
              ? actor_kind === 'session' && space
              : isNamed && (byId(people, actor_id) ?? byId(spaces, actor_id))
          const name = key?.name ?? (login ? login.email : null)
          return { workspace_name: space?.name ?? null, actor_name: name }
        })
      },
      /** The workspaces that have more than `max` entries of an action, each with the id of the oldest entry to keep. */
      async overfull(max: number): Promise<OverfullAudit[]> {
        const full = await db
          .select({ workspace_id: t.workspace_id, action: t.action })
          .from(t)
          .groupBy(t.workspace_id, t.action)
          .having(sql`count(*) > ${max}`)
        const found: OverfullAudit[] = []
        for (const { workspace_id, action } of full) {
          const own = and(eq(t.workspace_id, workspace_id), eq(t.action, action))
          const newest = db.select({ id: t.id }).from(t).where(own).orderBy(desc(t.id))
          const [kept] = await newest.limit(1).offset(max - 1)
          if (kept) found.push({ workspace_id, action, oldest_kept: kept.id })
        }
        return found
      },
    },
    writes: {
      async record(entry: AuditEntryRow): Promise<void> {
        await db.insert(t).values(entry)
      },
      /**
       * Gives the acts of a login in a workspace, and the acts upon it, to the login's new id. The acts of the owner have no id; as a
       * target, the owner has the id of the workspace.
       */
      async moveLogin(workspaceId: string, from: string | null, to: string | null): Promise<void> {
        const own = eq(t.workspace_id, workspaceId)
        const isOwner = and(isNull(t.actor_id), eq(t.actor_kind, 'session'))
        const acts = and(own, from === null ? isOwner : eq(t.actor_id, from))
        await db.update(t).set({ actor_id: to }).where(acts)
        const isTarget = eq(t.target_id, from ?? workspaceId)
        const upon = and(own, inArray(t.target_type, ['member', 'login']), isTarget)
        await db
          .update(t)
          .set({ target_id: to ?? workspaceId })
          .where(upon)
      },
      /** The workspaces of which a login was a member before, as far as the log knows. */
      async leftBy(userId: string): Promise<string[]> {
        const removed = and(eq(t.action, 'member.removed'), eq(t.target_id, userId))
        const found = db.selectDistinct({ id: t.workspace_id }).from(t).where(removed)
        return (await found).map(({ id }) => id)
      },
      /** Removes at most `limit` entries that are older than `before`; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        // Entries about settings stay, because the next start compares the settings with the newest such entry.
        const condition = and(lt(t.id, idFloor(before)), ne(t.action, 'settings.changed'))
        return removeOldest(db, { from: t, by: t.id, condition }, limit)
      },
      /** Removes at most `limit` entries of an action that are older than `oldest_kept`; returns their number. */
      async trim(
        { workspace_id, action, oldest_kept }: OverfullAudit,
        limit: number,
      ): Promise<number> {
        const own = and(eq(t.workspace_id, workspace_id), eq(t.action, action))
        const condition = and(own, lt(t.id, oldest_kept))
        return removeOldest(db, { from: t, by: t.id, condition }, limit)
      },
    },
  }
}
