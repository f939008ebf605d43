import { type Actor, type AuditedChange, auditRow, SERVICE } from '../audit/entry.ts'
import type { Slice } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { formatCredits, type Units } from '../contract/fields/units.ts'
import { availableOf, type Entry, spendingDay, spentOn } from '../rules/decide.ts'
import { burn, CONSUMING } from '../rules/lots.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { AccountRecord, Terms } from '../storage/ports/stores.ts'
import { type Adjustment, adjust, type Booked, type Grant, give } from './bookings.ts'
import { createHolding, type Holding } from './holding.ts'

/** The current state of an account. */
export interface CreditAccount extends AccountRecord {
  /** The balance without the held credits. */
  available: Units
  /** The credits spent since midnight UTC; `daily_limit` is their maximum. */
  spent_today: Units
}

/** Credits reserved for a message until its price is known. */
export interface Hold {
  workspace_id: string
  /** The id of the hold's ledger entry. */
  id: string
  message_id: string
  /** The number of this hold among the holds of the message, from 0. */
  n: number
  amount: Units
  /** When the hold ends without a settlement. */
  expires_at: Date
  created_at: Date
}

/** A grant that expires. */
export interface CreditLot {
  workspace_id: string
  /** The id of the grant's ledger entry. */
  id: string
  amount: Units
  remaining: Units
  granted_seq: number
  /** The sequence number of the last entry that `remaining` includes. */
  counted_seq: number
  expires_at: Date
  ended_at: Date | null
  created_at: Date
}

/** The credit accounts of workspaces and their ledger. Amounts are whole micro-credits. */
export interface Credits extends Holding {
  /**
   * Gives credits to a workspace. With the `id` of an earlier grant, gives nothing and returns the earlier entry, whose
   * expiry does not change.
   * @throws SvcError `not_found`; `validation_error` for an amount of 0 or less, another amount than the earlier grant, a
   * balance above 500,000,000 credits, or an expiry that is not in the future.
   */
  grant(workspaceId: string, grant: Grant, actor?: Actor): Promise<Booked>
  /**
   * Corrects a balance.
   * @throws SvcError `not_found`; `validation_error` for an amount of 0, an empty reason, another amount than an earlier
   * adjustment with the same id, a balance further from 0 than 500,000,000 credits, or, without `force`, for taking more
   * than is available.
   */
  adjust(workspaceId: string, adjustment: Adjustment): Promise<Booked>
  /**
   * Changes the spending terms of a workspace, from the next request on.
   * @throws SvcError `not_found`; `validation_error` for amounts below 0, a freeze without a reason, or an empty change.
   */
  setTerms(workspaceId: string, change: TermsChange, actor?: Actor): Promise<CreditAccount>
  /** Balance, holds and spending terms of a workspace, in whole micro-credits. @throws SvcError `not_found`. */
  account(workspaceId: string): Promise<CreditAccount>
  /** The entries of the ledger, newest first. */
  entries(workspaceId: string, page: Slice): Promise<Entry[]>
  /** The open holds, ordered by expiry. */
  holds(workspaceId: string, page: Slice): Promise<Hold[]>
  /** The grants that will expire, ordered by expiry, with their remaining credits. */
  lots(workspaceId: string): Promise<CreditLot[]>
}

export function createCredits(options: {
  storage: Storage
  runtime: Runtime
  /** The service's threshold for a low balance, which `default` sets; if undefined, the workspaces keep their thresholds. */
  lowBalance?: Units | null | undefined
}): Credits {
  const { storage, runtime, lowBalance } = options
  const { read } = storage

  async function account(workspaceId: string): Promise<CreditAccount> {
    const found = await read.credits.account(workspaceId)
    if (!found) throw notFound()
    const spent_today = spentOn(found, spendingDay(found, runtime.now()))
    return { ...found, available: availableOf(found), spent_today }
  }

  /** Audits an entry unless an earlier call booked it. */
  async function recordBooked(
    { audit }: Writes,
    action: 'credits.granted' | 'credits.adjusted',
    by: Pick<Actor, 'id'> & Partial<Actor>,
    { entry, repeated }: Booked,
  ): Promise<void> {
    if (repeated) return
    const actor: Actor = { ...SERVICE, kind: 'operator', ...by }
    const booked = {
      workspace_id: entry.workspace_id,
      action,
      target: { type: 'transaction', id: entry.id },
      details: {
        credits: formatCredits(entry.amount),
        ...(entry.description && { reason: entry.description }),
      },
    }
    await audit.record(auditRow(runtime, actor, booked))
  }

  return {
    ...createHolding(options),
    grant: (workspaceId, grant, actor) =>
      storage.write(async (stores) => {
        await assertThere(stores, workspaceId)
        const booked = await give(stores, workspaceId, { grant, runtime })
        await recordBooked(stores, 'credits.granted', actor ?? { id: grant.actor }, booked)
        return booked
      }),
    adjust: (workspaceId, adjustment) =>
      storage.write(async (stores) => {
        await assertThere(stores, workspaceId)
        const booked = await adjust(stores, workspaceId, adjustment, runtime)
        await recordBooked(stores, 'credits.adjusted', { id: adjustment.actor }, booked)
        return booked
      }),
    async setTerms(workspaceId, change, actor = SERVICE) {
      const terms = termsOf(change)
      const isThere = await storage.write(async (stores) => {
        const at = runtime.now()
        if (!(await setTerms(stores, workspaceId, terms, { lowBalance, at }))) return false
        const audited = { workspace_id: workspaceId, ...auditedTerms(change) }
        await stores.audit.record(auditRow(runtime, actor, audited))
        return true
      })
      if (!isThere) throw notFound()
      const { frozen_reason: _, ...changed } = terms
      runtime.log.info({ workspace_id: workspaceId, ...changed }, 'terms of a workspace changed')
      return account(workspaceId)
    },
    account,
    entries: (workspaceId, page) => read.credits.entries(workspaceId, page),
    holds: (workspaceId, page) => read.creditHolds.open(workspaceId, page),
    async lots(workspaceId) {
      const lots = await read.creditLots.open(workspaceId)
      const [first] = lots
      if (!first) return []
      const { seq } = await account(workspaceId)
      const span = { after: first.counted_seq, up_to: seq, kinds: CONSUMING }
      return burn(lots, await read.creditLots.consumed(workspaceId, span))
    },
  }
}

/** A freeze and its end have their own actions. */
function auditedTerms(change: TermsChange): Pick<AuditedChange, 'action' | 'details'> {
  const { reason: _, ...fields } = change
  const reason = change.reason?.trim() ? { reason: change.reason.trim() } : {}
  if (change.status === 'frozen') return { action: 'workspace.frozen', details: reason }
  if (change.status === 'active') return { action: 'workspace.unfrozen', details: reason }
  return { action: 'terms.updated', details: { changed: Object.keys(fields), ...reason } }
}

async function assertThere({ workspaces }: Writes, workspaceId: string): Promise<void> {
  if (!(await workspaces.byId(workspaceId))) throw notFound()
}

function notFound(): SvcError {
  return new SvcError('not_found', 'Workspace not found')
}

/** A change of a workspace's terms by the operator. Absent fields do not change. */
export interface TermsChange {
  /** How far below 0 the balance may go. */
  credit_limit?: Units | undefined
  /** Maximum spending on one day (UTC); null: no limit. */
  daily_limit?: Units | null | undefined
  /** The owner is notified below this amount; null: never; `default`: the threshold of the service. */
  low_balance?: Units | null | 'default' | undefined
  /** A frozen workspace spends nothing; its accepted messages are sent. */
  status?: 'active' | 'frozen' | undefined
  /** The reason, for the audit log; each freeze requires one. */
  reason?: string | undefined
}

/**
 * Sets terms. `lowBalance` is the service's threshold, or undefined if it is not known. Returns false if there is no account.
 */
async function setTerms(
  { credits, lowBalances }: Pick<Writes, 'credits' | 'lowBalances'>,
  workspaceId: string,
  terms: Terms,
  { lowBalance, at }: { lowBalance: Units | null | undefined; at: Date },
): Promise<boolean> {
  const threshold = terms.low_balance_default ? lowBalance : terms.low_balance
  if (threshold !== undefined) await lowBalances.set(workspaceId, threshold, at)
  return credits.setTerms(workspaceId, terms, at)
}

/**
 * The columns that a change sets.
 * @throws SvcError `validation_error` for amounts below 0, a freeze without a reason, or an empty change.
 */
export function termsOf(change: TermsChange): Terms {
  const terms: Terms = {}
  if (change.credit_limit !== undefined) {
    terms.credit_limit = atLeastZero('credit_limit', change.credit_limit)
  }
  if (change.daily_limit !== undefined) {
    terms.daily_limit = atLeastZero('daily_limit', change.daily_limit)
  }
  if (change.low_balance === 'default') terms.low_balance_default = true
  else if (change.low_balance !== undefined) {
    terms.low_balance = atLeastZero('low_balance', change.low_balance)
    terms.low_balance_default = false
  }
  if (change.status === 'active') Object.assign(terms, { status: 'active', frozen_reason: null })
  if (change.status === 'frozen') {
    const reason = change.reason?.trim()
    if (!reason) throw invalid('reason', 'Freezing a workspace needs a reason')
    Object.assign(terms, { status: 'frozen', frozen_reason: reason })
  }
  if (Object.keys(terms).length === 0) throw invalid('', 'The request changes nothing')
  return terms
}

function atLeastZero<T extends Units | null>(path: string, amount: T): T {
  if (amount !== null && amount < 0) throw invalid(path, `${path} must be 0 or above`)
  return amount
}
