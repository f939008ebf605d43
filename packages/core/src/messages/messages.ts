import { createHash } from 'node:crypto'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Price } from '../channels/price.ts'
import type { Channel, Content } from '../contract/content.ts'
import type { Data, Query } from '../contract/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import { messages as endpoints, type Message } from '../contract/messages.ts'
import type { SendRequest } from '../contract/send-request.ts'
import { formatCredits, type Units, units } from '../contract/units.ts'
import type { Operation } from '../credits/decide.ts'
import type { Runtime } from '../runtime.ts'
import type { MessageRow, Storage } from '../storage/storage.ts'
import type { AcceptRequest, AcceptResult } from './accept.ts'
import { type TimelineEntry, timelineOf } from './timeline.ts'

type Sent = Data<typeof endpoints.send>

export interface Messages {
  /**
   * Accepts one message. When this resolves, message and debit are on disk; it will be `delivered`, `failed` or `sent`.
   * @throws SvcError `insufficient_credits` or `validation_error`; nothing is written then.
   */
  send(
    identity: KeyIdentity,
    request: SendRequest,
    options?: { idempotency_key?: string | undefined },
  ): Promise<{ data: Sent; replayed: boolean }>
  /** @throws SvcError `not_found`, also for another workspace's message. */
  get(workspaceId: string, messageId: string): Promise<Message>
  list(
    workspaceId: string,
    query: Query<typeof endpoints.list>,
  ): Promise<{ messages: Message[]; total: number; next_cursor: string | null }>
  /** What happened to a message, oldest first. */
  timeline(workspaceId: string, messageId: string): Promise<TimelineEntry[]>
}

export function createMessages({
  storage,
  runtime,
  priceOf,
  onAccepted,
}: {
  storage: Storage
  runtime: Runtime
  priceOf: (channel: Channel, content: Content) => Price
  /** Told after a commit that there is something to send. */
  onAccepted: () => void
}): Messages {
  async function byId(workspaceId: string, messageId: string): Promise<Message> {
    const row = await storage.read.messages.byId(workspaceId, messageId)
    if (!row) throw new SvcError('not_found', 'Message not found')
    return row
  }

  return {
    async send(identity, request, { idempotency_key } = {}) {
      const at = runtime.now()
      const price = priceOf(request.channel, request.content)
      const message = newMessage(identity, request, price, { id: runtime.id(), at })
      const data: Sent = {
        message_id: message.id,
        status: 'queued',
        credits_used: message.credits_used,
        created_at: at,
      }
      const idempotency = idempotency_key
        ? {
            // A rehearsal with a test key must not swallow the real thing.
            route: identity.mode === 'test' ? 'messages.send test' : 'messages.send',
            key: idempotency_key,
            request_hash: requestHash(request),
            response: JSON.stringify(endpoints.send.data.encode(data)),
          }
        : null
      const debit = message.credits_used > 0 ? debitFor(message, price, runtime.id()) : null
      const result = await acceptOne(storage, {
        workspace_id: identity.workspace_id,
        debit,
        messages: [message],
        idempotency,
      })
      if (result.outcome === 'replayed') {
        return { data: endpoints.send.data.decode(JSON.parse(result.response)), replayed: true }
      }
      onAccepted()
      return { data, replayed: false }
    },
    get: byId,
    async list(workspaceId, query) {
      const filter = {
        channel: query.channel,
        status: query.status,
        from: query.startDate,
        until: query.endDate,
        bulk_id: query.bulk_id,
        recipient: query.recipient,
      }
      const page = { limit: query.limit, offset: query.cursor ? 0 : (query.page - 1) * query.limit }
      const before_id = query.cursor ? readCursor(query.cursor) : undefined
      const [messages, total] = await Promise.all([
        storage.read.messages.list(workspaceId, { ...filter, before_id }, page),
        storage.read.messages.count(workspaceId, filter),
      ])
      const last = messages.length === query.limit ? messages.at(-1) : undefined
      return { messages, total, next_cursor: last ? cursorAfter(last.id) : null }
    },
    async timeline(workspaceId, messageId) {
      const message = await byId(workspaceId, messageId)
      return timelineOf(storage, message)
    },
  }
}

/** Hands one request to the storage and turns a refusal into the contract's error. */
async function acceptOne(
  storage: Storage,
  request: AcceptRequest,
): Promise<Extract<AcceptResult, { outcome: 'accepted' | 'replayed' }>> {
  const [result] = await storage.hot.accept([request])
  switch (result?.outcome) {
    case 'accepted':
    case 'replayed':
      return result
    case 'key_reused':
      throw new SvcError(
        'validation_error',
        'This Idempotency-Key was used with another request body',
      )
    case 'account_frozen':
      throw new SvcError('forbidden', 'This workspace is frozen. Please contact support.')
    case 'insufficient_credits':
      throw new SvcError(
        'insufficient_credits',
        `Not enough credits. You need ${formatCredits(result.required)} credits but have ${formatCredits(result.available)}.`,
      )
    default:
      throw new Error('the storage answered nothing')
  }
}

function newMessage(
  identity: KeyIdentity,
  request: SendRequest,
  price: Price,
  { id, at }: { id: string; at: Date },
): MessageRow {
  const { expires_in } = request
  // A time that has passed means now.
  const scheduled_at =
    request.scheduled_at && request.scheduled_at > at ? request.scheduled_at : null
  if (scheduled_at && scheduled_at.getTime() > at.getTime() + LIMITS.schedule_ahead_s * 1000) {
    throw new SvcError('validation_error', 'scheduled_at must be at most 35 days ahead')
  }
  const due = scheduled_at ?? at
  return {
    id,
    workspace_id: identity.workspace_id,
    api_key_id: identity.api_key_id,
    bulk_id: null,
    channel: request.channel,
    sender: request.from ?? null,
    recipient: request.to,
    content: request.content,
    metadata: request.metadata ?? {},
    livemode: identity.mode === 'live',
    status: 'queued',
    accepted: false,
    credits_used: identity.mode === 'live' ? price.credits : units(0),
    credits_refunded: units(0),
    segments: price.segments,
    encoding: price.encoding,
    provider: null,
    provider_message_id: null,
    error_code: null,
    error_message: null,
    sequence: 0,
    created_at: at,
    updated_at: at,
    scheduled_at,
    expires_at: expires_in ? new Date(due.getTime() + expires_in * 1000) : null,
    sent_at: null,
    delivered_at: null,
    read_at: null,
    failed_at: null,
  }
}

function debitFor(message: MessageRow, price: Price, id: string): Operation {
  return {
    id,
    kind: 'send',
    amount: -message.credits_used as Units,
    held_delta: units(0),
    counter_account: `revenue:${message.channel}`,
    reference: { type: 'message', id: message.id, n: 0 },
    channel: message.channel,
    quantity: price.quantity,
    unit_price: price.unit_price,
    actor: message.api_key_id,
    description: null,
    at: message.created_at,
  }
}

/** Recognises a repeated request whatever the order of its fields. */
function requestHash(request: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(request)))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return { object: entries.map(([key, inner]) => [key, sorted(inner)]) }
}

function cursorAfter(messageId: string): string {
  return Buffer.from(messageId).toString('base64url')
}

function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!/^[0-9a-f-]{36}$/.test(id)) throw new SvcError('validation_error', 'Invalid cursor')
  return id
}
