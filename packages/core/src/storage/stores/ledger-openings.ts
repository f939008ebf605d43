import { and, asc, eq, gt, inArray, isNull, lt, min, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Db } from '../../rows/dialect.ts'
import type { LedgerOpeningRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { Entry } from '../../rules/decide.ts'
import { extended, isNextEntry, isThere, newOpening } from '../../rules/fold.ts'
import { isSigned, nextOfChain, signatureOf, startOfChain } from '../ledger-chain.ts'
import { filledUp, type StoreDialect } from './queries.ts'

/** One step of a fold. */
export interface FoldStep {
  /** Only entries before this moment are folded. */
  until: Date
  /** An entry whose message or bulk exists is kept if it is older than this; a younger one waits for the end of its message. */
  kept_until: Date
  /** The maximum number of entries. */
  limit: number
  /** The id of the opening if the workspace has none. */
  id: string
  at: Date
  /** The key of the signature. */
  key: string
}

/** The result of one step: the number of removed entries, and what the next step needs. */
export interface Folded {
  removed: number
  /**
   * `more`: another step may fold more; `done`: nothing is left; `lots`: the open lots must first count the entries up to
   * `lots_seq`; `invalid`: the signature of the opening is not valid, so that nothing may be built on it; `moving`: a month is half
   * detached or attached, so that it is unknown which messages and bulks exist.
   */
  next: 'more' | 'done' | 'lots' | 'invalid' | 'moving'
  lots_seq: number
}

/** The number of openings of one query. */
const SIGNED_ROWS = 500

/** The openings of ledgers. A fold changes no balance: an opening has the sums of the entries that it replaces. */
export function ledgerOpeningStore(
  db: Db,
  tables: Tables,
  { hold, mayFold }: Pick<StoreDialect, 'hold' | 'mayFold'>,
) {
  const { ledger_openings: openings, ledger_entries: entries, removed_history: removed } = tables
  const { credit_lots: lots, credit_marks: marks, messages, bulks } = tables

  async function of(workspaceId: string): Promise<LedgerOpeningRow | null> {
    const [row] = await db.select().from(openings).where(eq(openings.workspace_id, workspaceId))
    return row ?? null
  }

  /** The ids among these that the workspace's rows of a table have. */
  async function existing(
    { id, workspace_id }: { id: PgColumn; workspace_id: PgColumn },
    workspaceId: string,
    ids: readonly string[],
  ): Promise<Set<unknown>> {
    if (ids.length === 0) return new Set()
    const some = and(eq(workspace_id, workspaceId), inArray(id, filledUp(ids)))
    return new Set((await db.select({ id }).from(id.table).where(some)).map((row) => row.id))
  }

  /** The last entry that the sums by day include, and the last one that all open lots have counted; null without lots. */
  async function bounds(workspaceId: string): Promise<{ summed: number; counted: number | null }> {
    const [mark] = await db.select().from(marks).where(eq(marks.workspace_id, workspaceId))
    const open = and(eq(lots.workspace_id, workspaceId), isNull(lots.ended_at))
    const [lot] = await db
      .select({ counted: min(lots.counted_seq) })
      .from(lots)
      .where(open)
    const counted = lot?.counted ?? null
    return { summed: mark?.seq ?? 0, counted: counted === null ? null : Number(counted) }
  }

  return {
    reads: {
      /** The opening of a workspace's ledger; null if no entry was removed. */
      of,
    },
    writes: {
      /** Workspaces with removed history whose next entry is before `until`, sorted by id, with ids above `after`. */
      async due(
        until: Date,
        { after, limit }: { after: string; limit: number },
      ): Promise<string[]> {
        const found = await db
          .select({ id: removed.workspace_id })
          .from(removed)
          .leftJoin(openings, eq(openings.workspace_id, removed.workspace_id))
          .innerJoin(
            entries,
            and(
              eq(entries.workspace_id, removed.workspace_id),
              sql`${entries.seq} = coalesce(${openings.seq}, 0) + 1`,
            ),
          )
          .where(and(gt(removed.workspace_id, after), lt(entries.created_at, until)))
          .orderBy(asc(removed.workspace_id))
          .limit(limit)
        return found.map(({ id }) => id)
      },
      /**
       * Folds at most the next `limit` entries into the opening: removes those of them that were caused by a removed message
       * or bulk, and keeps the others. Stops at an entry that does not follow from the entry before it, that the sums by
       * day do not include, that an open lot has not counted, or whose message exists and may still end.
       */
      async fold(workspaceId: string, step: FoldStep): Promise<Folded> {
        // The name of the sums by day: they are made again from an opening and the entries after it.
        await hold(db, `credit sums ${workspaceId}`)
        const done: Folded = { removed: 0, next: 'done', lots_seq: 0 }
        if (!(await mayFold(db))) return { ...done, next: 'moving' }
        const standing = await of(workspaceId)
        if (standing && !isSigned(step.key, standing)) return { ...done, next: 'invalid' }
        const opening = standing ?? newOpening(workspaceId, step.id, startOfChain(workspaceId))
        const { summed, counted } = await bounds(workspaceId)
        const next = (await db
          .select()
          .from(entries)
          .where(and(eq(entries.workspace_id, workspaceId), gt(entries.seq, opening.seq)))
          .orderBy(asc(entries.seq))
          .limit(step.limit)) as Entry[]
        const old: Entry[] = []
        for (const entry of next) {
          if (entry.created_at >= step.until || entry.seq > summed) break
          if (!isNextEntry(old.at(-1) ?? null, entry, opening)) break
          old.push(entry)
        }
        const last = old.at(-1)
        if (!last) return done
        // Before anything else: a message whose refund the lots must count is removed only after that.
        if (counted !== null && counted < last.seq) {
          return { ...done, next: 'lots', lots_seq: last.seq }
        }
        const idsOf = (type: string) =>
          old.flatMap(({ ref_type, ref_id }) => (ref_type === type ? [ref_id] : []))
        const there = {
          message: await existing(messages, workspaceId, idsOf('message')),
          bulk: await existing(bulks, workspaceId, idsOf('bulk')),
        }
        const open = old.findIndex(
          (entry) => isThere(entry, there) && entry.created_at >= step.kept_until,
        )
        const taken = open === -1 ? old : old.slice(0, open)
        if (taken.length === 0) return done
        const [history] = await db
          .select({ last_id: removed.last_id })
          .from(removed)
          .where(eq(removed.workspace_id, workspaceId))
        const folded = extended(opening, taken, {
          last_id: history?.last_id ?? '',
          there,
          chain: nextOfChain,
          at: step.at,
        })
        const isFull = taken.length === step.limit
        // A few grants need no opening.
        if (folded.gone.length === 0 && !isFull) return done
        const row = { ...folded.opening, signature: signatureOf(step.key, folded.opening) }
        await db
          .insert(openings)
          .values(row)
          .onConflictDoUpdate({ target: openings.workspace_id, set: row })
        if (folded.gone.length > 0) {
          const gone = inArray(entries.seq, filledUp(folded.gone))
          await db.delete(entries).where(and(eq(entries.workspace_id, workspaceId), gone))
        }
        return { removed: folded.gone.length, next: isFull ? 'more' : 'done', lots_seq: 0 }
      },
      /** Signs all openings with another key, after the key that signed them was lost. */
      async signAgain(key: string): Promise<void> {
        for (let after = ''; ; ) {
          const next = db.select().from(openings).where(gt(openings.workspace_id, after))
          const found = await next.orderBy(asc(openings.workspace_id)).limit(SIGNED_ROWS)
          for (const { signature: _, ...opening } of found) {
            const signature = signatureOf(key, opening)
            const mine = eq(openings.workspace_id, opening.workspace_id)
            await db.update(openings).set({ signature }).where(mine)
          }
          const last = found.at(-1)
          if (!last || found.length < SIGNED_ROWS) return
          after = last.workspace_id
        }
      },
    },
  }
}
