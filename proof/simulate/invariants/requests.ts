import { messagesWithCodes } from './codes.ts'
import type { MessageRow, Stage } from './rows.ts'

/** A 201 is on disk with its debit; one key, one message. */
export function checkAnswers(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  const ofBroadcasts = new Set(
    database.prepare('select id from bulks where broadcast_id is not null').pluck().all(),
  )
  const byId = new Map(messages.map((row) => [row.id, row]))
  // The messages of a code are claimed by its verification, which another rule checks.
  const claimed = messagesWithCodes({ database })
  const unclaimed = [0, 0]
  for (const asked of model.asked) {
    for (const id of asked.ids) {
      claimed.add(id)
      const row = byId.get(id)
      const place = model.places[asked.place]
      if (!row) world.violate('a 201 is on disk with its debit', `${world.nameOf('m', id)} is gone`)
      else if (row.workspace_id !== place?.id) {
        world.violate(
          'no row of another workspace',
          `${world.nameOf('m', id)} is in another workspace`,
        )
      }
    }
    const size =
      asked.kind === 'bulk' ? (asked.body as { recipients: unknown[] }).recipients.length : 1
    if (asked.ids.length === 0 && asked.kind !== 'code')
      unclaimed[asked.place] = (unclaimed[asked.place] ?? 0) + asked.lost * size
    if (asked.key && asked.answer === null && asked.refusals.length === 0) {
      world.violate('nothing is stuck', `${asked.key} never got an answer`)
    }
  }
  for (const [place, { id }] of model.places.entries()) {
    // The service's answers to STOP and START have no key and cost nothing.
    // An erasure removes verifications, and their messages with them.
    const isErased = (row: MessageRow) => row.erased_at !== null
    const isReply = (row: MessageRow) => row.api_key_id === null && row.credits_used === 0
    const more = messages.filter(
      (row) =>
        row.workspace_id === id &&
        !claimed.has(row.id) &&
        !isReply(row) &&
        !isErased(row) &&
        !ofBroadcasts.has(row.bulk_id),
    ).length
    const possible = (unclaimed[place] ?? 0) + (model.replies[place] ?? 0)
    if (more > possible) {
      const text = `${more} messages without an answer, ${possible} possible`
      world.violate('a request is accepted once', text)
    }
  }
}
