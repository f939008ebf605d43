import type { Violations } from '../stage/violations.ts'
import { checkCredits } from './check-credits.ts'
import { checkEvents } from './check-events.ts'
import { checkMessages } from './check-messages.ts'
import type { Evidence } from './evidence.ts'

/** Checks all rules that must hold after any number of kills. */
export function check(evidence: Evidence, violations: Violations): void {
  const { rule } = violations
  checkMessages(evidence, violations)
  checkAnswers(
    evidence,
    rule('each stored answer names the message of its key, and each key has one'),
  )
  checkCredits(evidence, violations)
  checkEvents(evidence, violations)
  const { waiting, open_attempts, damage } = evidence.stored
  const left = rule('the queues are empty')
  if (waiting.messages > 0) left(`${waiting.messages} messages`)
  if (waiting.deliveries > 0) left(`${waiting.deliveries} deliveries`)
  open_attempts.forEach(rule('every attempt has an outcome'))
  damage.forEach(rule('the database finds no damage in itself'))
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
