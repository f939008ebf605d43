import type { Violations } from '../stage/violations.ts'
import type { Evidence, StoredEvent } from './evidence.ts'
import type { Fate } from './recipients.ts'

/** Checks that each change of a message raised one event, and that its receiver got exactly these events. */
export function checkEvents(evidence: Evidence, violations: Violations): void {
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
    if (!isSame(announced(fate), events)) {
      once(`message ${id}: ${events.join(', ') || 'none'}`)
    }
  }
  const found = stored.events.filter(({ event }) => event === 'message.received').length
  if (found !== repliesDue) replies(`${found} events for ${repliesDue} replies`)
}

function announced(fate: Fate | null): string[] {
  if (!fate) return []
  return [...(fate.is_accepted ? ['message.sent'] : []), `message.${fate.status}`]
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join()
}
