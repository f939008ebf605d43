import { noteFaults } from '../stage/rules.ts'
import type { Violations } from '../stage/violations.ts'
import type { Evidence, Stored, StoredEntry, StoredEvent, StoredMessage } from './evidence.ts'

import { idsAnswered, isUnsure, type Operation } from './operations.ts'
import type { Fate } from './recipients.ts'

/** Checks all rules that must hold after any number of kills. */
export function check(evidence: Evidence, violations: Violations): void {
  const { rule } = violations
  checkMessages(evidence, violations)
  checkAnswers(
    evidence,
    rule('each stored answer names the message of its key, and each key has one'),
  )
  checkCodes(evidence, rule('a code and its message are stored together'))
  checkCredits(evidence, violations)
  checkEvents(evidence, violations)
  if (evidence.calls) checkCalls(evidence.stored, evidence.calls, violations)
  const { faults, damage } = evidence.stored
  noteFaults(faults, violations)
  damage.forEach(rule('the database finds no damage in itself'))
}

function checkCodes({ operations, stored }: Evidence, wrong: (example: string) => void): void {
  const keyOf = ({ workspace_id, id }: { workspace_id: string; id: string }) =>
    `${workspace_id} ${id}`
  const isCode = ({ op }: StoredMessage) => operations[op]?.door === 'codes'
  const messages = new Set(stored.messages.filter(isCode).map(keyOf))
  for (const { workspace_id, id, message_id } of stored.verifications) {
    if (!messages.delete(keyOf({ workspace_id, id: message_id }))) {
      wrong(`verification ${id} has no message ${message_id} of its own`)
    }
  }
  for (const key of messages) wrong(`message ${key} has no verification`)
}

function checkAnswers(
  { operations, accounts, stored }: Evidence,
  wrong: (example: string) => void,
): void {
  const due = new Map(
    stored.messages.flatMap(({ id, op, workspace_id }) => {
      const key = operations[op]?.idempotency_key
      return key ? [[`${workspace_id} ${key}`, id] as const] : []
    }),
  )
  for (const { workspace_id, key, message_id } of stored.answers) {
    const id = due.get(`${workspace_id} ${key}`)
    if (id !== message_id) wrong(`${key} is answered with ${message_id}, its message is ${id}`)
    due.delete(`${workspace_id} ${key}`)
  }
  for (const [key, id] of due) wrong(`message ${id} of ${key} has no stored answer`)
  for (const { number, account, idempotency_key, tries } of operations) {
    const replayed = tries.some((each) => each.outcome === 'ok' && each.replayed)
    if (replayed && idempotency_key === null) {
      wrong(`operation ${number} of ${accounts[account]?.workspace_id} has no key and was replayed`)
    }
  }
}

/** Checks that each 201 is stored once and in its final state, and that no refused request is stored. */
function checkMessages(
  { operations, accounts, stored, outages }: Evidence,
  { rule }: Violations,
): void {
  const lost = rule('every 201 is in the database')
  const twice = rule(
    'one operation with an Idempotency-Key is one message, for any number of tries',
  )
  const answered = rule('one operation with an Idempotency-Key gets one id in all answers')
  const ruleOfRefused = rule('no refused request is in the database')
  const refused = rule('a valid request is refused only for overload')
  const failed = rule('no request fails while the database is available')
  const wrong = rule("each message ends in its recipient's status")
  const strange = rule('every message belongs to an operation of its workspace')

  const byOperation = new Map<number, StoredMessage[]>()
  for (const message of stored.messages) {
    const operation = operations[message.op]
    const workspace = operation && accounts[operation.account]?.workspace_id
    if (workspace !== message.workspace_id) {
      strange(`message ${message.id} of operation ${message.op}`)
      continue
    }
    byOperation.set(message.op, [...(byOperation.get(message.op) ?? []), message])
    const { recipient } = operation as Operation
    if (message.recipient !== recipient.to || !isItsEnd(message, recipient.fate)) {
      const { id, status, error_code } = message
      wrong(`message ${id} to ${recipient.to} is ${status}, ${error_code}`)
    }
  }

  for (const operation of operations) {
    const name = nameOf(operation)
    const found = (byOperation.get(operation.number) ?? []).map(({ id }) => id)
    const ids = idsAnswered(operation)
    for (const id of ids) if (!found.includes(id)) lost(`${name}: ${id}`)
    if (ids.length > 1 && operation.idempotency_key) answered(`${name}: ${ids.join(', ')}`)
    if (found.length > 1) twice(`${name}: ${found.join(', ')}`)
    if (found.length > 0 && ids.length === 0 && !isUnsure(operation) && !isInFlight(operation)) {
      ruleOfRefused(`${name}: ${found.join(', ')}`)
    }
    for (const each of operation.tries) {
      if (each.outcome === 'info' && each.status !== undefined && !(outages && each.status === 500))
        failed(`${name}: ${each.status} ${each.text}`)
      if (each.outcome !== 'fail') continue
      // An overloaded service refuses before it reads the recipient.
      const isRefusal =
        each.status === 429 || (operation.recipient.fate === null && each.status === 400)
      if (!isRefusal) refused(`${name}: ${each.status} ${each.text}`)
    }
  }
}

/** A request with a key is answered with 429 after 9.5 s, and its work continues. */
function isInFlight({ idempotency_key, tries }: Operation): boolean {
  return (
    idempotency_key !== null && tries.some((each) => each.outcome === 'fail' && each.status === 429)
  )
}

function isItsEnd({ status, error_code }: StoredMessage, fate: Fate | null): boolean {
  return status === fate?.status && error_code === fate.error_code
}

/** A short description of an operation. */
function nameOf({ number, idempotency_key, recipient, tries }: Operation): string {
  const outcomes = tries.map(({ outcome }) => outcome).join(', ')
  return `operation ${number} to ${recipient.to}${idempotency_key ? ', keyed' : ''} (${outcomes})`
}

/** Checks that each message was debited and refunded as its recipient demands. */
function checkCredits({ operations, stored }: Evidence, violations: Violations): void {
  const byMessage = new Map<string, StoredEntry[]>()
  for (const entry of stored.entries) {
    if (entry.kind !== 'send' && entry.kind !== 'refund') continue
    byMessage.set(entry.ref_id, [...(byMessage.get(entry.ref_id) ?? []), entry])
  }
  const check = messageRules(violations)
  for (const message of stored.messages) {
    check(message, byMessage.get(message.id) ?? [], operations[message.op])
  }
}

function messageRules({ rule }: Violations) {
  const debited = rule('a live message is debited once, at its price; a test message never')
  const refunded = rule('a message that no provider accepted is refunded once, and no other')
  return (message: StoredMessage, entries: readonly StoredEntry[], operation?: Operation): void => {
    const { id, livemode, credits_used } = message
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
  }
}

/** Checks that each change of a message raised one event, and that its receiver got exactly these events. */
function checkEvents(evidence: Evidence, violations: Violations): void {
  const { operations, accounts, received, stored } = evidence
  const once = violations.rule('each change of a message raises one event')
  const reached = violations.rule('each event is delivered once, to its webhook')
  const seen = violations.rule('the receiver got each event, in the stored bytes')
  const unknown = violations.rule('the receiver got no event that the database does not have')
  const replies = violations.rule('each reply of a recipient raises one event')

  const byMessage = new Map<string, StoredEvent[]>()
  for (const event of stored.events) {
    byMessage.set(event.message_id, [...(byMessage.get(event.message_id) ?? []), event])
    if (event.deliveries !== 1 || event.delivered !== 1) {
      reached(`${event.event} ${event.id}: ${event.delivered} of ${event.deliveries}`)
    }
    const account = accounts.find(({ workspace_id }) => workspace_id === event.workspace_id)
    const there = received.get(event.id)
    if (there?.body !== event.body || there.path !== account?.webhook.path) {
      seen(`${event.event} ${event.id}: ${there ? 'another body or place' : 'never'}`)
    }
  }
  const known = new Set(stored.events.map(({ id }) => id))
  for (const [id, { event }] of received) if (!known.has(id)) unknown(`${event} ${id}`)

  let repliesDue = 0
  for (const { id, op } of stored.messages) {
    const fate = operations[op]?.recipient.fate ?? null
    if (fate?.replies) repliesDue += 1
    const events = (byMessage.get(id) ?? []).map(({ event }) => event)
    // The report of a provider outside may overtake its answer.
    const isOvertaken = evidence.calls?.has(id) && isSame([`message.${fate?.status}`], events)
    if (!isOvertaken && !isSame(announced(fate), events)) {
      once(`message ${id}: ${events.join(', ') || 'none'}`)
    }
  }
  const found = stored.events.filter(({ event }) => event === 'message.received').length
  if (found !== repliesDue) replies(`${found} events for ${repliesDue} replies`)
}

/**
 * Checks that a provider outside the service got each message at most once for each stored attempt. The order of the outcomes proves no
 * more: an answer is stored also when it arrives after the end of its lease, when the next attempt has begun.
 */
export function checkCalls(
  { attempts }: Pick<Stored, 'attempts'>,
  calls: ReadonlyMap<string, number>,
  { rule }: Violations,
): void {
  const unknown = rule('the provider gets a message only for an attempt that is stored')
  const stored = new Map<string, string[]>()
  for (const { message_id, outcome } of attempts) {
    stored.set(message_id, [...(stored.get(message_id) ?? []), outcome])
  }
  for (const [id, times] of calls) {
    const outcomes = stored.get(id) ?? []
    if (times > outcomes.length) unknown(`${id}: ${times} calls, ${outcomes.join(', ') || 'none'}`)
  }
}

function announced(fate: Fate | null): string[] {
  if (!fate) return []
  return [...(fate.is_accepted ? ['message.sent'] : []), `message.${fate.status}`]
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join()
}
