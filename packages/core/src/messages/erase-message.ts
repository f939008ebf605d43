import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, auditRow } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Writes } from '../storage/ports/stores.ts'
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
  const found = await find(parts, viewer, messageId)
  const { workspace_id, is_received } = found
  const erasing = { found, actor, action: 'message.erased', without: erasedBody } as const
  await rewrite(parts, erasing, async ({ erasure, messages }) => {
    if (is_received) {
      await erasure.removeReceived(workspace_id, [messageId])
      return
    }
    const erased = await erasure.messages(workspace_id, [messageId], parts.runtime.now())
    const row = erased.length === 0 ? await messages.byId(workspace_id, messageId) : null
    if (row && row.erased_at === null) throw stillQueued('erased')
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
  const found = await find(parts, viewer, messageId)
  const { workspace_id, is_received } = found
  const redacting = { found, actor, action: 'message.redacted', without: redactedBody } as const
  await rewrite(parts, redacting, async ({ erasure }) => {
    if (is_received) await erasure.redactReceived(workspace_id, messageId)
    else if (!(await erasure.redact(workspace_id, messageId))) throw stillQueued('redacted')
  })
}

interface Removal {
  found: Found
  actor: Actor
  action: 'message.erased' | 'message.redacted'
  /** The body of an event without the removed parts; null if it has none of them. */
  without: (body: string) => string | null
}

/** Changes the message with `removeFrom`, and its events, answers of receivers and the audit log with it, in one commit. */
async function rewrite(
  { storage, runtime }: Parts,
  { found, actor, action, without }: Removal,
  removeFrom: (stores: Writes) => Promise<void>,
): Promise<void> {
  const { workspace_id, message_id, is_received, until } = found
  const events = await storage.read.erasure.eventsOf(workspace_id, message_id, until)
  const type = is_received ? 'received_message' : 'message'
  const change = { workspace_id, action, target: { type, id: message_id } } as const
  await storage.write(async (stores) => {
    await removeFrom(stores)
    const rewritten = events.flatMap(({ id, body }) => {
      const rest = without(body)
      return rest === null ? [] : [{ id, body: rest }]
    })
    await stores.erasure.rewriteEvents(workspace_id, rewritten)
    await stores.erasure.forgetResponsesAbout(workspace_id, [message_id])
    await stores.audit.record(auditRow(runtime, actor, change))
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

function stillQueued(done: 'erased' | 'redacted'): SvcError {
  return invalid('id', `Message cannot be ${done}: it is still queued`)
}
