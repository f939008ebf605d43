import type { MessageRow } from '../../src/rows/rows.ts'
import type { Account, Entry } from '../../src/rules/decide.ts'
import { accountOf, factOf, type LedgerModel } from './ledger-model.ts'

/** What a storage has of one workspace. */
export interface LedgerRows {
  account: Account
  /** Oldest first. */
  entries: Entry[]
  /** Oldest first. */
  messages: MessageRow[]
}

/** The part of the rows that the model foretells. */
export function factsOf({ account, entries, messages }: LedgerRows) {
  const { balance, held, credit_limit, seq, status, daily_limit, spent_on, spent, low_state } =
    account
  return {
    account: { balance, held, credit_limit, seq, status, daily_limit, spent_on, spent, low_state },
    entries: entries.map((entry) => ({
      seq: entry.seq,
      kind: entry.kind,
      amount: entry.amount,
      held_delta: entry.held_delta,
      balance_after: entry.balance_after,
      held_after: entry.held_after,
      fact: factOfEntry(entry),
    })),
    messages: messages.map(({ id, credits_used, credits_refunded, status }) => ({
      id,
      cost: credits_used,
      refunded: credits_refunded,
      open: status === 'queued',
    })),
  }
}

/** What the model says that `factsOf` the rows of a workspace must be. */
export function foretoldOf(model: LedgerModel, workspaceId: string): ReturnType<typeof factsOf> {
  const { balance, held, limit, frozen, daily_limit, day, spent, low_state, entries } = accountOf(
    model,
    workspaceId,
  )
  return {
    account: {
      balance,
      held,
      credit_limit: limit,
      seq: entries.length,
      status: frozen ? 'frozen' : 'active',
      daily_limit,
      spent_on: day,
      spent,
      low_state,
    } as ReturnType<typeof factsOf>['account'],
    entries: entries.map(({ floor: _, ...entry }) => entry) as ReturnType<
      typeof factsOf
    >['entries'],
    messages: [...model.messages]
      .filter(([, message]) => message.workspace_id === workspaceId)
      .map(([id, { cost, refunded, state }]) => ({ id, cost, refunded, open: state === 'open' }))
      .sort((a, b) => (a.id < b.id ? -1 : 1)) as ReturnType<typeof factsOf>['messages'],
  }
}

function factOfEntry({ kind, ref_type, ref_id, ref_n }: Entry): string {
  return factOf(kind, { type: ref_type, id: ref_id, n: ref_n })
}

/**
 * What must be true of the rows by themselves, whatever the model says. `floors` says of each entry how low a debit
 * could bring what was available. Answers what is not.
 */
export function faultsOf({ account, entries, messages }: LedgerRows, floors: number[]): string[] {
  const faults: string[] = []
  const must = (condition: boolean, fault: string) => {
    if (!condition) faults.push(`${fault} in workspace ${account.workspace_id}`)
  }
  let balance = 0
  let held = 0
  for (const [i, entry] of entries.entries()) {
    balance += entry.amount
    held += entry.held_delta
    must(entry.seq === i + 1, `a gap before seq ${entry.seq}`)
    must(entry.balance_after === balance, `another balance after entry ${entry.seq}`)
    must(entry.held_after === held, `another hold after entry ${entry.seq}`)
    must(held >= 0, `more released than held by entry ${entry.seq}`)
    if (entry.kind === 'send' || entry.kind === 'hold') {
      must(balance - held >= (floors[i] ?? 0), `entry ${entry.seq} spends what is not there`)
    }
  }
  must(account.balance === balance, 'the balance is not the sum of the entries')
  must(account.held === held, 'what is held is not the sum of the entries')
  must(account.seq === entries.length, 'the number of entries is another')
  must(new Set(entries.map(factOfEntry)).size === entries.length, 'a fact is booked twice')
  return [...faults, ...messageFaults(entries, messages)]
}

/** Each message was charged once, alone or with its bulk, and refunded at most once, with its price. */
function messageFaults(entries: readonly Entry[], messages: readonly MessageRow[]): string[] {
  const faults: string[] = []
  const costs = new Map<string, number>()
  for (const { id, bulk_id, credits_used } of messages) {
    const paid = bulk_id ? `bulk ${bulk_id}` : `message ${id}`
    costs.set(paid, (costs.get(paid) ?? 0) + credits_used)
  }
  for (const [what, cost] of costs) {
    const debits = entries.filter(
      (entry) => entry.kind === 'send' && `${entry.ref_type} ${entry.ref_id}` === what,
    )
    const amounts = debits.map(({ amount }) => amount)
    if (amounts.length !== (cost > 0 ? 1 : 0) || (amounts[0] ?? 0) + cost !== 0) {
      faults.push(`${what} of ${cost} was paid by ${JSON.stringify(amounts)}`)
    }
  }
  const refunds = entries.filter((entry) => entry.kind === 'refund' && entry.ref_type === 'message')
  for (const { id, credits_used, credits_refunded } of messages) {
    const mine = refunds.filter((entry) => entry.ref_id === id)
    const sum = mine.reduce((total, { amount }) => total + amount, 0)
    if (mine.length > 1 || sum > credits_used || sum !== credits_refunded) {
      faults.push(`message ${id} of ${credits_used} got ${sum} back in ${mine.length} refunds`)
    }
  }
  return faults
}
