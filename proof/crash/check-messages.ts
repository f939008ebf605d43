import type { Violations } from '../stage/violations.ts'
import type { Evidence, StoredMessage } from './evidence.ts'
import { idsAnswered, isUnsure, type Operation } from './operations.ts'
import type { Fate } from './recipients.ts'

/** Checks that each 201 is stored once and in its final state, and that no refused request is stored. */
export function checkMessages(
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
export function nameOf({ number, idempotency_key, recipient, tries }: Operation): string {
  const outcomes = tries.map(({ outcome }) => outcome).join(', ')
  return `operation ${number} to ${recipient.to}${idempotency_key ? ', keyed' : ''} (${outcomes})`
}
