import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { WebhookRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { StoreDialect } from './queries.ts'

/** A webhook about which its owner must be notified. */
export type WebhookNotice = Pick<
  WebhookRow,
  'id' | 'url' | 'notice' | 'failing_since' | 'consecutive_failures' | 'disabled_reason'
>

/** The notices of one mail; the rest is due with the next mail. */
const NOTICES_MAX = 200

/** The notices to owners about webhooks that fail or were disabled. The results of deliveries make them due. */
export function webhookNoticeStore(
  db: Db,
  { webhooks: t, workspaces, owner_mails: mails }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  // The condition is a literal: with a parameter, no engine uses the partial index. Hidden webhooks have no page.
  const isDue = sql`${t.notice} in ('failing_due', 'disabled_due') and ${t.callback_origin} is null`

  async function told(workspaceId: string, notices: readonly WebhookNotice[]): Promise<void> {
    for (const notice of ['failing', 'disabled'] as const) {
      const ids = notices.filter((one) => one.notice === `${notice}_due`).map(({ id }) => id)
      if (ids.length === 0) continue
      const same = and(
        eq(t.workspace_id, workspaceId),
        inArray(t.id, ids),
        eq(t.notice, `${notice}_due`),
      )
      // The webhooks are locked in the same order as by delivery results.
      await locked(db.select({ id: t.id }).from(t).where(same).orderBy(asc(t.id)))
      await db
        .update(t)
        .set({ notice: `${notice}_told` })
        .where(same)
    }
  }

  return {
    reads: {
      /** Workspaces with due notices whose last mail is `every_ms` old, sorted by id, with ids above `after`. */
      async due({
        now,
        every_ms,
        limit,
        after,
      }: {
        now: Date
        every_ms: number
        limit: number
        after?: string | undefined
      }): Promise<string[]> {
        const from = new Date(now.getTime() - every_ms)
        const until = new Date(now.getTime() + every_ms)
        // A time that is so far in the future means that the clock was set back.
        const isRecent = sql`exists (select 1 from ${mails} where ${mails.workspace_id} = ${t.workspace_id}
          and ${mails.kind} = 'webhook_failure' and ${gt(mails.mailed_at, from)} and not ${gt(mails.mailed_at, until)})`
        const found = await db
          .selectDistinct({ id: t.workspace_id })
          .from(t)
          .where(
            and(
              isDue,
              sql`not ${isRecent}`,
              after === undefined ? undefined : gt(t.workspace_id, after),
            ),
          )
          .orderBy(asc(t.workspace_id))
          .limit(limit)
        return found.map(({ id }) => id)
      },
    },
    writes: {
      /**
       * The due notices of a workspace. Those that its owner must not get count as told: of an owner who turned the mails off or
       * has no verified address, and of webhooks that were disabled by a member while they failed.
       */
      async take(workspaceId: string): Promise<WebhookNotice[]> {
        const { id, url, notice, failing_since, consecutive_failures, disabled_reason } = t
        const due = await db
          .select({
            ...{ id, url, notice, failing_since, consecutive_failures, disabled_reason },
            is_active: t.is_active,
          })
          .from(t)
          .where(and(eq(t.workspace_id, workspaceId), isDue))
          .orderBy(asc(id))
          .limit(NOTICES_MAX)
        const [owner] = await db
          .select({ is_verified: workspaces.email_verified, isOn: workspaces.webhook_mails })
          .from(workspaces)
          .where(eq(workspaces.id, workspaceId))
        const isWanted = (one: (typeof due)[number]) =>
          owner?.is_verified === true &&
          owner.isOn &&
          (one.notice === 'disabled_due' || one.is_active)
        await told(
          workspaceId,
          due.filter((one) => !isWanted(one)),
        )
        return due.filter(isWanted).map(({ is_active: _, ...one }) => one)
      },
      /** Records that the owner got these notices. A notice that changed since stays due. */
      told,
    },
  }
}
