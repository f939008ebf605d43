import type { Violations } from '../stage/violations.ts'
import type { Evidence, StoredEntry, StoredMessage } from './evidence.ts'
import type { Operation } from './operations.ts'

/** Checks debits, refunds, balances and the numbering of ledger entries. */
export function checkCredits({ operations, stored }: Evidence, violations: Violations): void {
  checkBooks(stored.entries, stored.balances, violations)
  const byMessage = new Map<string, StoredEntry[]>()
  const stray = violations.rule('every debit and refund names an existing message')
  const messages = new Map(stored.messages.map((message) => [message.id, message]))
  for (const entry of stored.entries) {
    if (entry.kind !== 'send' && entry.kind !== 'refund') continue
    if (!messages.has(entry.ref_id)) stray(`${entry.kind} of ${entry.amount} for ${entry.ref_id}`)
    byMessage.set(entry.ref_id, [...(byMessage.get(entry.ref_id) ?? []), entry])
  }
  const check = messageRules(violations)
  for (const message of stored.messages) {
    check(message, byMessage.get(message.id) ?? [], operations[message.op])
  }
}

function checkBooks(
  entries: readonly StoredEntry[],
  balances: Evidence['stored']['balances'],
  { rule }: Violations,
): void {
  const gap = rule('the entries of a workspace are numbered without a gap')
  const sum = rule('each entry has the balance that follows from the entries before it')
  const last = rule('the balance of an account is that of its last entry')
  const running = new Map<string, { seq: number; balance: number }>()
  for (const { workspace_id, seq, amount, balance_after } of entries) {
    const before = running.get(workspace_id) ?? { seq: 0, balance: 0 }
    const balance = before.balance + amount
    if (seq !== before.seq + 1) gap(`${workspace_id}: ${seq} after ${before.seq}`)
    if (balance_after !== balance) sum(`${workspace_id} ${seq}: ${balance_after}, not ${balance}`)
    running.set(workspace_id, { seq, balance })
  }
  for (const { workspace_id, balance, held, seq } of balances) {
    const total = running.get(workspace_id)
    if (balance !== total?.balance || seq !== total.seq || held !== 0) {
      last(`${workspace_id}: ${balance} after ${seq} (${held} held), not ${total?.balance}`)
    }
  }
}

function messageRules({ rule }: Violations) {
  const debited = rule('a live message is debited once, at its price; a test message never')
  const refunded = rule('a message that no provider accepted is refunded once, and no other')
  const noted = rule('a message has the amount of its refund')
  return (message: StoredMessage, entries: readonly StoredEntry[], operation?: Operation): void => {
    const { id, livemode, credits_used, credits_refunded } = message
    const amounts = (kind: string) =>
      entries.filter((entry) => entry.kind === kind).map(({ amount }) => amount)
    const price = operation?.recipient.channel === 'email' ? 100_000 : 1_000_000
    const debits = amounts('send')
    const refunds = amounts('refund')
    const isRight = livemode === 1 ? debits.length === 1 && debits[0] === -price : !debits.length
    if (!isRight || credits_used !== (livemode === 1 ? price : 0)) {
      debited(`message ${id}: ${credits_used}, entries ${debits.join(', ') || 'none'}`)
    }
    const fate = operation?.recipient.fate
    const due = livemode === 1 && fate?.is_accepted === false ? [price] : []
    if (refunds.join() !== due.join()) {
      refunded(`message ${id} to ${message.recipient}: ${refunds.join(', ') || 'none'}`)
    }
    const back = refunds.reduce((sum, amount) => sum + amount, 0)
    if (credits_refunded !== back) noted(`message ${id}: ${credits_refunded}, entries ${back}`)
  }
}
