import type { LedgerModel } from '../storage/ledger-model.ts'
import type { Books } from './books.ts'
import { msOf, type Rows } from './rows.ts'

const isNull = (value: unknown) => value === null || value === undefined

/** The part of the rows that the model foretells, a line each. */
export function linesOf(rows: Rows): string[] {
  const names = new Map(rows.entries.map((entry) => [entry.id, factOf(entry)]))
  return [
    ...rows.accounts.map((a) =>
      accountLine(a.workspace_id, [
        ...[a.balance, a.held, a.credit_limit, a.seq, a.status, a.daily_limit],
        ...[a.spent_on, a.spent, a.low_balance, a.low_state],
      ]),
    ),
    ...rows.entries.map((e) =>
      entryLine(e.workspace_id, [
        ...[e.seq, e.amount, e.held_delta, e.balance_after, e.held_after, factOf(e)],
      ]),
    ),
    ...rows.messages.map((m) =>
      line('message', m.id, m.credits_used, m.credits_refunded, m.status === 'queued'),
    ),
    ...rows.holds.map((h) =>
      line('hold', h.workspace_id, h.message_id, h.n, h.amount, msOf(h.expires_at)),
    ),
    ...rows.lots.map((l) =>
      line(
        'lot',
        l.workspace_id,
        names.get(l.id),
        l.remaining,
        msOf(l.expires_at),
        !isNull(l.ended_at),
      ),
    ),
    ...rows.purchases.map((p) => line('purchase', p.id, !isNull(p.paid_at))),
  ].sort()
}

/** What the model says that `linesOf` the rows must be. */
export function linesOfModel(model: LedgerModel, books: Books): string[] {
  return [
    ...[...model.accounts].flatMap(([id, a]) => [
      accountLine(id, [
        ...[a.balance, a.held, a.limit, a.entries.length, a.frozen ? 'frozen' : 'active'],
        ...[a.daily_limit, a.day, a.spent, a.low_balance, a.low_state],
      ]),
      ...a.entries.map((e) =>
        entryLine(id, [e.seq, e.amount, e.held_delta, e.balance_after, e.held_after, e.fact]),
      ),
    ]),
    ...[...model.messages].map(([id, m]) =>
      line('message', id, m.cost, m.refunded, m.state === 'open'),
    ),
    ...[...books.holds.values()]
      .flat()
      .filter(({ state }) => state === 'open')
      .map((h) => line('hold', h.workspace_id, h.message_id, h.n, h.amount, h.expires_ms)),
    ...books.lots.map((l) =>
      line('lot', l.workspace_id, l.fact, l.remaining, l.expires_ms, l.ended),
    ),
    ...books.purchases.map((p) => line('purchase', p.id, p.paid)),
  ].sort()
}

const accountLine = (id: string, values: unknown[]) => line('account', id, ...values)
/** By which number a correction of a purchase is known is the service's own affair. */
const entryLine = (id: string, values: unknown[]) =>
  line('entry', id, ...values).replace(/(purchase_adjust purchase \S+) \d+$/, '$1')

function line(...values: unknown[]): string {
  return values.map((value) => (isNull(value) ? '-' : String(value))).join(' ')
}

type Fact = Pick<Rows['entries'][number], 'kind' | 'ref_type' | 'ref_id' | 'ref_n'>

function factOf({ kind, ref_type, ref_id, ref_n }: Fact): string {
  return `${kind} ${ref_type} ${ref_id} ${ref_n}`
}
