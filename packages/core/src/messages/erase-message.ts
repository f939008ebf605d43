import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, auditRow } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { erasedBody, redactedBody } from '../webhooks/erased-body.ts'

/** The time after a message's last change within which its last event was stored. */
const EVENT_MS = 60_000

interface Parts {
  storage: Storage
  runtime: Pick<Runtime, 'id' | 'now'>
}

interface Found {
  workspace_id: string
  message_id: string
  is_received: boolean
  /** All events of the message were stored before this time, except events with a delivery. */
  until: Date
}

/**
 * Erases a sent message, or removes a received one, and rewrites its events. An event that is stored between the search and
 * the erasure keeps the recipient; another call erases it.
 * @throws SvcError `not_found`; `validation_error` while the message is queued.
 */
export async function eraseMessage(
  parts: Parts,
  viewer: Viewer,
  messageId: string,
  actor: Actor,
): Promise<void> {
  const { storage, runtime } = parts
  const found = await find(parts, viewer, messageId)
  const { workspace_id } = found
  const events = await storage.read.erasure.eventsOf(workspace_id, messageId, found.until)
  await storage.write(async ({ erasure, messages, audit }) => {
    if (found.is_received) await erasure.removeReceived(workspace_id, [messageId])
    else {
      const erased = await erasure.messages(workspace_id, [messageId], runtime.now())
      const row = erased.length === 0 ? await messages.byId(workspace_id, messageId) : null
      if (row && row.erased_at === null) throw stillQueued('erased')
    }
    await erasure.rewriteEvents(workspace_id, rewritten(events, erasedBody))
    await erasure.forgetResponsesAbout(workspace_id, [messageId])
    await audit.record(auditRow(runtime, actor, change(found, 'message.erased')))
  })
}

/**
 * Removes the content of a sent or a received message; everything else stays.
 * @throws SvcError in the same cases as `eraseMessage`.
 */
export async function redactMessage(
  parts: Parts,
  viewer: Viewer,
  messageId: string,
  actor: Actor,
): Promise<void> {
  const { storage, runtime } = parts
  const found = await find(parts, viewer, messageId)
  const { workspace_id } = found
  const events = found.is_received
    ? await storage.read.erasure.eventsOf(workspace_id, messageId, found.until)
    : []
  await storage.write(async ({ erasure, audit }) => {
    if (found.is_received) await erasure.redactReceived(workspace_id, messageId)
    else if (!(await erasure.redact(workspace_id, messageId))) throw stillQueued('redacted')
    await erasure.rewriteEvents(workspace_id, rewritten(events, redactedBody))
    await erasure.forgetResponsesAbout(workspace_id, [messageId])
    await audit.record(auditRow(runtime, actor, change(found, 'message.redacted')))
  })
}

async function find({ storage }: Parts, viewer: Viewer, message_id: string): Promise<Found> {
  const view = viewOf(viewer)
  const { workspace_id } = view
  const { messages, receivedMessages } = storage.read
  const sent = seen(view, await messages.byId(workspace_id, message_id))
  const one = sent ?? seen(view, await receivedMessages.byId(workspace_id, message_id))
  if (!one) throw new SvcError('not_found', 'Message not found')
  const last = sent?.updated_at ?? one.created_at
  const until = new Date(last.getTime() + EVENT_MS)
  return { workspace_id, message_id, is_received: sent === null, until }
}

function rewritten(
  events: readonly { id: string; body: string }[],
  without: (body: string) => string | null,
): { id: string; body: string }[] {
  return events.flatMap(({ id, body }) => {
    const rest = without(body)
    return rest === null ? [] : [{ id, body: rest }]
  })
}

function change(
  { workspace_id, message_id, is_received }: Found,
  action: 'message.erased' | 'message.redacted',
) {
  const type = is_received ? 'received_message' : 'message'
  return { workspace_id, action, target: { type, id: message_id } } as const
}

function stillQueued(done: 'erased' | 'redacted'): SvcError {
  return invalid('id', `Message cannot be ${done}: it is still queued`)
}
