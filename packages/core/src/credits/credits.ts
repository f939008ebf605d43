import { type Actor, type AuditedChange, auditRow, SERVICE } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { formatCredits, type Units } from '../contract/fields/units.ts'
import { availableOf, type Entry, spendingDay, spentOn } from '../rules/decide.ts'
import { burn, CONSUMING } from '../rules/lots.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { AccountRecord } from '../storage/ports/credits.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { type Adjustment, adjust } from './adjust.ts'
import { openLot } from './count-lots.ts'
import { grantOperation } from './grant.ts'
import { createHolding, type Holding } from './holding.ts'
import { assertRoom } from './room.ts'
import { setTerms, type TermsChange, termsOf } from './terms.ts'

/** Credits given without payment. */
export interface Grant {
  amount: Units
  /** A grant with the id of an earlier one gives nothing again. */
  id?: string | undefined
  actor: string
  description?: string | undefined
  /** When what is left of it expires; never unless told. */
  expires_at?: Date | undefined
}

/** An entry, and whether it stood already. */
export interface Booked {
  entry: Entry
  repeated: boolean
}

/** An account as it stands now. */
export interface CreditAccount extends AccountRecord {
  /** What may be spent: the balance without what is held. */
  available: Units
  /** Since midnight UTC; what `daily_limit` bounds. */
  spent_today: Units
}

/** Credits that are set aside for a message until its price is known. */
export interface Hold {
  workspace_id: string
  /** The id of the ledger entry that holds. */
  id: string
  message_id: string
  /** Counts the holds of one message from 0. */
  n: number
  amount: Units
  /** When the hold ends without a settlement. */
  expires_at: Date
  created_at: Date
}

/** A grant that expires. */
export interface CreditLot {
  workspace_id: string
  /** The id of the ledger entry that granted it. */
  id: string
  amount: Units
  remaining: Units
  granted_seq: number
  /** The last entry that `remaining` has counted. */
  counted_seq: number
  expires_at: Date
  ended_at: Date | null
  created_at: Date
}

/** The accounts of workspaces and their ledger. Amounts are whole micro-credits. */
export interface Credits extends Holding {
  /**
   * Gives credits to a workspace. With the `id` of an earlier grant nothing is given again: the entry that stands is
   * answered, and expires when it did.
   * @throws SvcError `not_found`; `validation_error` for an amount of 0 or below, another than the earlier grant's, one
   * that brings the balance above `GIVEN_BALANCE_MAX`, or an expiry that is not to come.
   */
  grant(workspaceId: string, grant: Grant): Promise<Booked>
  /**
   * Corrects a balance.
   * @throws SvcError as `adjust`, and `not_found`.
   */
  adjust(workspaceId: string, adjustment: Adjustment): Promise<Booked>
  /**
   * Changes on what terms a workspace spends, from the next request on.
   * @throws SvcError as `termsOf`, and `not_found`.
   */
  setTerms(workspaceId: string, change: TermsChange, actor?: Actor): Promise<CreditAccount>
  /** @throws SvcError `not_found` */
  account(workspaceId: string): Promise<CreditAccount>
  /** The ledger, newest first. */
  entries(workspaceId: string, page: { limit: number; offset: number }): Promise<Entry[]>
  /** What is held just now, the first to run out first. */
  holds(workspaceId: string, page: { limit: number; offset: number }): Promise<Hold[]>
  /** Grants that will expire, the first first, with what is left of each just now. */
  lots(workspaceId: string): Promise<CreditLot[]>
}

export function createCredits(given: {
  storage: Storage
  runtime: Runtime
  /** The service's own threshold for a low balance, for whoever chooses it again; as it was unless told. */
  lowBalance?: Units | null | undefined
}): Credits {
  const { storage, runtime, lowBalance } = given
  const { read } = storage

  async function account(workspaceId: string): Promise<CreditAccount> {
    const found = await read.credits.account(workspaceId)
    if (!found) throw notFound()
    const spent_today = spentOn(found, spendingDay(found, runtime.now()))
    return { ...found, available: availableOf(found), spent_today }
  }

  /** An entry that stood already changed nothing. */
  async function recordBooked(
    { audit }: Writes,
    action: 'credits.granted' | 'credits.adjusted',
    operator: string,
    { entry, repeated }: Booked,
  ): Promise<void> {
    if (repeated) return
    const actor: Actor = { ...SERVICE, kind: 'operator', id: operator }
    const booked = {
      workspace_id: entry.workspace_id,
      action,
      target: { type: 'transaction', id: entry.id },
      details: { credits: formatCredits(entry.amount) },
    }
    await audit.record(auditRow(runtime, actor, booked))
  }

  return {
    ...createHolding(given),
    grant: (workspaceId, grant) =>
      storage.write(async (stores) => {
        await assertThere(stores, workspaceId)
        const booked = await give(stores, workspaceId, { grant, runtime })
        await recordBooked(stores, 'credits.granted', grant.actor, booked)
        return booked
      }),
    adjust: (workspaceId, adjustment) =>
      storage.write(async (stores) => {
        await assertThere(stores, workspaceId)
        const booked = await adjust(stores, workspaceId, adjustment, runtime)
        await recordBooked(stores, 'credits.adjusted', adjustment.actor, booked)
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
      const { frozen_reason: _, ...told } = terms
      runtime.log.info({ workspace_id: workspaceId, ...told }, 'terms of a workspace changed')
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

async function give(
  stores: Writes,
  workspaceId: string,
  { grant, runtime }: { grant: Grant; runtime: Pick<Runtime, 'id' | 'now'> },
): Promise<Booked> {
  const { amount, id, actor, description, expires_at } = grant
  if (amount <= 0) throw invalid('amount', 'A grant must be above 0 credits')
  const operation = grantOperation(runtime, {
    amount,
    reference: { type: 'grant', id: id ?? runtime.id(), n: 0 },
    campaign: 'operator',
    actor,
    description: description ?? null,
  })
  await assertRoom(stores, workspaceId, operation)
  const posted = await stores.credits.post(workspaceId, operation)
  if (!posted.ok) {
    if (posted.reason !== 'ref_conflict') throw new Error(`a grant was refused: ${posted.reason}`)
    const given = formatCredits(posted.standing.amount)
    throw invalid('id', `Grant ${id} was given before, of ${given} credits`)
  }
  if ('repeated' in posted) return { entry: posted.repeated, repeated: true }
  if (expires_at) {
    if (expires_at <= operation.at) {
      throw invalid('expires_at', 'A grant must expire in the future')
    }
    await openLot(stores, posted.entry, expires_at)
  }
  return { entry: posted.entry, repeated: false }
}

/** A freeze and its end are actions of their own; the reason is the operator's own text. */
function auditedTerms(change: TermsChange): Pick<AuditedChange, 'action' | 'details'> {
  if (change.status === 'frozen') {
    return { action: 'workspace.frozen', details: { reason: change.reason ?? '' } }
  }
  if (change.status === 'active') return { action: 'workspace.unfrozen' }
  return { action: 'terms.updated', details: { changed: Object.keys(change) } }
}

async function assertThere({ workspaces }: Writes, workspaceId: string): Promise<void> {
  if (!(await workspaces.byId(workspaceId))) throw notFound()
}

function notFound(): SvcError {
  return new SvcError('not_found', 'Workspace not found')
}
