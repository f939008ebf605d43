import type { Operation } from '../../src/rules/decide.ts'
import {
  accountOf,
  type LedgerModel,
  type ModelAccount,
  type ModelEntry,
  type ModelPosted,
  post,
} from '../storage/ledger-model.ts'

/** What the model knows besides accounts, entries and messages. */
export interface Books {
  /** By workspace and message, oldest first. */
  holds: Map<string, ModelHold[]>
  lots: ModelLot[]
  purchases: ModelPurchase[]
}

export interface ModelHold {
  workspace_id: string
  message_id: string
  n: number
  amount: number
  expires_ms: number
  state: 'open' | 'settled' | 'void'
}

export interface ModelLot {
  workspace_id: string
  /** Which grant it is, by the fact. */
  fact: string
  amount: number
  remaining: number
  granted_seq: number
  expires_ms: number
  ended: boolean
}

export interface ModelPurchase {
  workspace_id: string
  id: string
  credits: number
  /** How often it was corrected. */
  corrections: number
  paid: boolean
  /** Whether anything was ever booked for it. */
  booked: boolean
  /** What is booked for it. */
  sum: number
}

export function newBooks(): Books {
  return { holds: new Map(), lots: [], purchases: [] }
}

type About = { workspace_id: string; message_id: string }

export function holdsOf(books: Books, { workspace_id, message_id }: About): ModelHold[] {
  const key = `${workspace_id} ${message_id}`
  const known = books.holds.get(key) ?? []
  books.holds.set(key, known)
  return known
}

const isAbout = (fact: string, kind: string, messageId: string) =>
  fact.startsWith(`${kind} message ${messageId} `)

/** What was settled for a message so far; null when nothing was. */
function settledOf(model: LedgerModel, { workspace_id, message_id }: About): number | null {
  const found = accountOf(model, workspace_id).entries.filter(({ fact }) =>
    isAbout(fact, 'settle', message_id),
  )
  return found.length === 0 ? null : found.reduce((sum, { amount }) => sum - amount, 0)
}

export function hold(
  { model, books }: { model: LedgerModel; books: Books },
  about: About,
  { n, amount, expires_ms, at }: { n: number; amount: number; expires_ms: number; at: Date },
): ModelPosted | 'settled' {
  const holds = holdsOf(books, about)
  const isThere = holds.some((known) => known.n === n)
  if (!isThere && settledOf(model, about) !== null) return 'settled'
  const posted = post(model, about.workspace_id, moving('hold', [0, amount], about, { n, at }))
  if (posted === 'booked') holds.push({ ...about, n, amount, expires_ms, state: 'open' })
  return posted
}

/** Ends the holds of a message: `amount` is consumed and the rest released; null releases everything. */
export function end(
  { model, books }: { model: LedgerModel; books: Books },
  about: About,
  { amount, at }: { amount: number | null; at: Date },
): 'not_held' | 'repeated' | 'ref_conflict' | 'booked' {
  const holds = holdsOf(books, about)
  const last = holds.at(-1)
  if (!last) return 'not_held'
  const open = holds.filter(({ state }) => state === 'open')
  const settled = settledOf(model, about)
  if (amount !== null && settled !== null) return settled === amount ? 'repeated' : 'ref_conflict'
  if (open.length === 0) {
    if (!amount) return 'repeated'
    must(post(model, about.workspace_id, moving('settle', [-amount, 0], about, { n: last.n, at })))
    return 'booked'
  }
  let left = amount ?? 0
  for (const one of open) {
    // Overage goes on the last; and that nothing was consumed.
    const isLast = one === open.at(-1)
    const share = isLast ? left : Math.min(left, one.amount)
    left -= share
    release({ model }, one, share > 0 || (isLast && amount === 0) ? share : null, at)
  }
  return 'booked'
}

/** Releases the expired holds; returns their number. */
export function reap({ model, books }: { model: LedgerModel; books: Books }, now: Date): number {
  const overdue = [...books.holds.values()]
    .flat()
    .filter(({ state, expires_ms }) => state === 'open' && expires_ms <= now.getTime())
    .sort((a, b) => a.expires_ms - b.expires_ms)
  // Message by message, those of one in the order in which they began.
  for (const about of overdue) {
    const own = holdsOf(books, about).filter((one) => one.state === 'open' && overdue.includes(one))
    for (const one of own) release({ model }, one, null, now)
  }
  return overdue.length
}

/** Ends a hold of which `share` was consumed; null gives it back. */
function release(
  { model }: { model: LedgerModel },
  one: ModelHold,
  share: number | null,
  at: Date,
): void {
  const kind = share === null ? 'void' : 'settle'
  const { workspace_id, amount, n } = one
  must(post(model, workspace_id, moving(kind, [0 - (share ?? 0), -amount], one, { n, at })))
  one.state = share === null ? 'void' : 'settled'
}

/** Begins a lot for a grant that was booked just now. */
export function beginLot(
  { model, books }: { model: LedgerModel; books: Books },
  workspaceId: string,
  expires_ms: number,
): void {
  countLots({ model, books }, workspaceId)
  const grant = accountOf(model, workspaceId).entries.at(-1)
  if (!grant) throw new Error('no grant was booked')
  const { fact, amount, seq: granted_seq } = grant
  const lot = { workspace_id: workspaceId, fact, amount, remaining: amount, granted_seq }
  books.lots.push({ ...lot, expires_ms, ended: false })
}

/** Takes the credits consumed since the last call off the open lots, earliest expiry first; counts from the first entry on. */
function countLots({ model, books }: { model: LedgerModel; books: Books }, workspaceId: string) {
  const account = accountOf(model, workspaceId)
  const open = openLots(books, workspaceId)
  const since = account.counted_seq
  account.counted_seq = account.entries.length
  const isCounted = (entry: ModelEntry) => {
    if (entry.seq <= since) return false
    if (entry.kind === 'refund') return debitSeqOf(model, account, entry) > since
    return entry.kind === 'send' || entry.kind === 'settle'
  }
  let left = account.entries.filter(isCounted).reduce((sum, { amount }) => sum - amount, 0)
  for (const lot of open) {
    const burnt = Math.max(0, Math.min(left, lot.remaining))
    lot.remaining -= burnt
    left -= burnt
  }
}

/** Which entry a refund gives something back of; 0 where none is known. */
function debitSeqOf(model: LedgerModel, account: ModelAccount, { fact }: ModelEntry): number {
  const [, messageId] = /^refund message (.+) 0$/.exec(fact) ?? []
  const message = messageId === undefined ? undefined : model.messages.get(messageId)
  if (!message) return 0
  const about = message.bulk_id === null ? `message ${messageId}` : `bulk ${message.bulk_id}`
  return account.entries.find((entry) => entry.fact === `send ${about} 0`)?.seq ?? 0
}

function openLots({ lots }: Books, workspaceId: string): ModelLot[] {
  return lots
    .filter((lot) => lot.workspace_id === workspaceId && !lot.ended)
    .sort((a, b) => a.expires_ms - b.expires_ms || a.granted_seq - b.granted_seq)
}

/** Ends the expired lots; returns their number. `entryId` returns the id of the entry that booked the grant of a fact. */
export function expire(
  { model, books }: { model: LedgerModel; books: Books },
  now: Date,
  entryId: (workspaceId: string, fact: string) => string,
): number {
  let count = 0
  for (const workspaceId of model.accounts.keys()) {
    const due = openLots(books, workspaceId).filter(({ expires_ms }) => expires_ms <= now.getTime())
    if (due.length > 0) countLots({ model, books }, workspaceId)
    for (const lot of due) {
      const { balance, held } = accountOf(model, workspaceId)
      const amount = Math.min(lot.remaining, Math.max(0, balance - held))
      const reference = { type: 'lot', id: entryId(workspaceId, lot.fact), n: 0 }
      if (amount > 0) {
        const operation = { kind: 'expire', amount: -amount, held_delta: 0, reference, at: now }
        must(post(model, workspaceId, operation as Operation))
      }
      lot.ended = true
      count += 1
    }
  }
  return count
}

function moving(
  kind: Operation['kind'],
  [amount, held_delta]: [number, number],
  { message_id }: { message_id: string },
  { n, at }: { n: number; at: Date },
): Operation {
  const reference = { type: 'message', id: message_id, n }
  return { kind, amount, held_delta, reference, at } as Operation
}

function must(posted: ModelPosted): void {
  if (posted !== 'booked') throw new Error(`the model cannot book: ${JSON.stringify(posted)}`)
}
