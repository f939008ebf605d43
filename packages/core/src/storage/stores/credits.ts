import { and, asc, desc, eq, inArray, lte } from 'drizzle-orm'
import { isFunding } from '../../rows/credits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import { decide, type Entry, isRepetition, newAccount } from '../../rules/decide.ts'
import type { AccountRecord, CreditReads, CreditWrites } from '../ports/credits.ts'

export function creditStore(
  db: Db,
  { credit_accounts: accounts, ledger_entries: entries }: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
): CreditReads & CreditWrites {
  async function find(workspaceId: string, lock: boolean): Promise<AccountRecord | null> {
    const query = db.select().from(accounts).where(eq(accounts.workspace_id, workspaceId))
    const [row] = await (lock ? locked(query) : query)
    return (row as AccountRecord | undefined) ?? null
  }
  return {
    account: (workspaceId) => find(workspaceId, false),
    async entries(workspaceId, { limit, offset }) {
      const mine = db.select().from(entries).where(eq(entries.workspace_id, workspaceId))
      return (await mine.orderBy(desc(entries.seq)).limit(limit).offset(offset)) as Entry[]
    },
    async entriesAbout(workspaceId, referenceIds) {
      const about = and(
        eq(entries.workspace_id, workspaceId),
        inArray(entries.ref_id, referenceIds),
      )
      return (await db.select().from(entries).where(about).orderBy(asc(entries.seq))) as Entry[]
    },
    async entriesFrom(workspaceId, { seq, limit, is_funding }) {
      const older = and(
        eq(entries.workspace_id, workspaceId),
        lte(entries.seq, seq),
        is_funding ? isFunding(entries.kind) : undefined,
      )
      const found = db.select().from(entries).where(older)
      return (await found.orderBy(desc(entries.seq)).limit(limit)) as Entry[]
    },
    async open(workspaceId, at, limits = {}) {
      await db.insert(accounts).values({ ...newAccount(workspaceId), ...limits, updated_at: at })
    },
    lock: (workspaceId) => find(workspaceId, true),
    async setTerms(workspaceId, terms, at) {
      const thawed = terms.status === 'active' ? { frozen_reason: null } : {}
      const changed = await db
        .update(accounts)
        .set({ ...terms, ...thawed, updated_at: at })
        .where(eq(accounts.workspace_id, workspaceId))
        .returning({ workspace_id: accounts.workspace_id })
      return changed.length === 1
    },
    async post(workspaceId, operation) {
      const account = await find(workspaceId, true)
      if (!account) throw new Error(`workspace ${workspaceId} has no credit account`)
      const { reference, kind } = operation
      const [standing] = (await db
        .select()
        .from(entries)
        .where(
          and(
            eq(entries.workspace_id, workspaceId),
            eq(entries.ref_id, reference.id),
            eq(entries.kind, kind),
            eq(entries.ref_type, reference.type),
            eq(entries.ref_n, reference.n),
          ),
        )) as Entry[]
      if (standing) {
        return isRepetition(standing, operation)
          ? { ok: true, repeated: standing }
          : { ok: false, reason: 'ref_conflict', standing }
      }
      const decision = decide(account, operation)
      if (!decision.ok) return decision
      await db.insert(entries).values(decision.entry)
      const { balance, held, seq, spent_on, spent, low_state } = decision.account
      await db
        .update(accounts)
        .set({ balance, held, seq, spent_on, spent, low_state, updated_at: operation.at })
        .where(eq(accounts.workspace_id, workspaceId))
      return decision
    },
  }
}
