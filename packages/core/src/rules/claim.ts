import type { MessageAttemptRow, MessageQueueRow, MessageRow } from '../rows/rows.ts'
import { isDue, isReply, suppressedAddress, suppressionKey } from './recipients.ts'

/** The columns of `message_queue` and of `messages` that a claim reads. */
export const CLAIMED_QUEUE_COLUMNS = [
  'message_id',
  'workspace_id',
  'task',
  'token',
  'attempt',
  'unknown_since',
] as const satisfies (keyof MessageQueueRow)[]
export const CLAIMED_MESSAGE_COLUMNS = [
  'api_key_id',
  'bulk_id',
  'credits_used',
  'channel',
  'sender',
  'recipient',
  'recipients',
  'content',
  'livemode',
  'status',
  'accepted',
  'provider',
  'provider_message_id',
  'created_at',
  'scheduled_at',
  'expires_at',
  'sent_at',
] as const satisfies (keyof MessageRow)[]

/** A due message, read under the claim's locks. `token` is set if the previous claim did not settle. */
export type DueMessage = Pick<MessageQueueRow, (typeof CLAIMED_QUEUE_COLUMNS)[number]> &
  Pick<MessageRow, (typeof CLAIMED_MESSAGE_COLUMNS)[number]>

/** A message that a claim leased to this process. */
export interface ClaimedMessage extends DueMessage {
  token: string
  /** Whether the previous claim did not settle: its attempt may have reached the provider. */
  interrupted: boolean
  /**
   * The provider and sender for the next attempt, or the provider of the interrupted attempt. Without a provider, no
   * attempt is journalled and the row keeps no token.
   */
  route: Route | null
  /** Whether the recipient opted out during the wait. If so, no attempt is journalled and the row keeps no token. */
  suppressed: boolean
  /** Those of several recipients who opted out, if not all did: the mail is sent to the others. */
  left_out: string[]
}

/**
 * The columns that routing reads. `provider` got the last attempt. No other provider may get the message while
 * `unknown_since` is set (`provider` may have it) or `accepted` is true (`provider` has a part of it).
 */
export type Routed = Pick<
  MessageRow,
  'workspace_id' | 'channel' | 'sender' | 'livemode' | 'provider' | 'accepted'
> &
  Pick<MessageQueueRow, 'attempt' | 'unknown_since'>

/** The provider and sender of a message; or the reason why no provider can take it now, and the time to wait. */
export type Route =
  | { provider: string; sender: string | null }
  | { provider: null; wait_ms: number; error_message: string }

/** The due messages for which the storage reads more rows before it plans the claim. */
export interface ClaimLookups {
  /** Messages whose recipients may have opted out after the messages were accepted. */
  waited: DueMessage[]
  /** Messages whose last attempt was interrupted. The row of the attempt names the provider. */
  interrupted: DueMessage[]
  /** Messages that a pause of their bulk or broadcast holds. */
  holdable: (DueMessage & { bulk_id: string })[]
}

export interface ClaimContext {
  now: Date
  token: string
  /** The suppressed recipients of `waited` messages, as keys of `suppressionKey`. */
  suppressed: ReadonlySet<string>
  /** The provider of each interrupted attempt; the keys of this map are message ids. */
  interrupted: ReadonlyMap<string, string>
  /** The paused bulk or broadcast of `holdable` messages; the keys of this map are ids of bulks. */
  held: ReadonlyMap<string, string>
  route(message: Routed): Route
}

/** The rows that the storage writes, in the transaction that locked the rows. `claimed` has the order of `due`. */
export interface ClaimPlan {
  claimed: ClaimedMessage[]
  /** The tokens and attempts of queue rows. A null token releases a row whose message is not sent now. */
  leases: { message_id: string; token: string | null; attempt: number }[]
  attempts: MessageAttemptRow[]
  /** The columns of queue rows whose messages wait until their bulk or broadcast is resumed. */
  holds: Hold[]
}

/** The columns that hold a message in the queue. */
export const HELD_COLUMNS = ['due_at', 'set_at', 'held_by'] as const
export type Hold = Pick<MessageQueueRow, 'message_id' | (typeof HELD_COLUMNS)[number]>

/** When a held message would be due: later than any other, so that no claim reads it again. */
export const HELD_UNTIL = new Date('9999-12-31T00:00:00.000Z')

/** Whether a pause holds the message: no worker has begun to send it. */
export function isHoldable({
  task,
  status,
  token,
  accepted,
  unknown_since,
}: Pick<MessageQueueRow, 'task' | 'token' | 'unknown_since'> &
  Pick<MessageRow, 'status' | 'accepted'>): boolean {
  return (
    task === 'send' && status === 'queued' && token === null && !accepted && unknown_since === null
  )
}

export function claimLookups(due: readonly DueMessage[], now: Date): ClaimLookups {
  return {
    waited: due.filter((message) => isSendable(message) && hasWaited(message, now)),
    interrupted: due.filter(({ token, task }) => token !== null && task === 'send'),
    holdable: due.filter(isOfBulk).filter(isHoldable),
  }
}

function isOfBulk(message: DueMessage): message is DueMessage & { bulk_id: string } {
  return message.bulk_id !== null
}

/** Decides for each due message whether it is held, or sent now and through which provider, and journals its attempt. */
export function planClaim(due: readonly DueMessage[], context: ClaimContext): ClaimPlan {
  const plan: ClaimPlan = { claimed: [], leases: [], attempts: [], holds: [] }
  for (const message of due) {
    const held_by = isHoldable(message) ? context.held.get(message.bulk_id ?? '') : undefined
    if (held_by !== undefined) {
      // Without `set_at`, a change of the clock does not move the time.
      plan.holds.push({ ...HOLD, message_id: message.message_id, held_by })
      continue
    }
    const { claimed, lease, attempt } = claimOne(message, context)
    plan.leases.push(lease)
    if (attempt) plan.attempts.push(attempt)
    plan.claimed.push(claimed)
  }
  return plan
}

const HOLD = { due_at: HELD_UNTIL, set_at: null }

/** The claim of new messages in the transaction that queues them. */
export interface ClaimOfNew extends Pick<ClaimContext, 'now' | 'token' | 'route'> {
  lease_ms: number
}

/** The queue row of a new message. */
export type NewQueueRow = MessageQueueRow & { set_at: Date }

/** The rows of new messages, written in the transaction that accepts the messages. */
export interface QueuePlan {
  /** The queue rows, in the order of the messages. */
  queue: NewQueueRow[]
  attempts: MessageAttemptRow[]
  claimed: ClaimedMessage[]
  /** The messages that are due now and that no claim holds. */
  waiting: MessageRow[]
}

/** Whether a new message may be claimed as it is queued. The messages of a bulk wait for the lane's next claims. */
export function isDueAtOnce({
  scheduled_at,
  bulk_id,
}: Pick<MessageRow, 'scheduled_at' | 'bulk_id'>): boolean {
  return scheduled_at === null && bulk_id === null
}

/**
 * Queues new messages, and claims those that are due at once, may be claimed and have a provider. The suppressions of the
 * recipients were checked in the same transaction. Without `context` no message is claimed.
 */
export function planQueue(
  messages: readonly MessageRow[],
  context: ClaimOfNew | null,
  mayClaim: (message: MessageRow) => boolean = isDueAtOnce,
): QueuePlan {
  const plan: QueuePlan = { queue: [], attempts: [], claimed: [], waiting: [] }
  const claiming = context && { ...context, ...NONE }
  for (const message of messages) {
    const queued = queuedRow(message)
    const claim = claiming && mayClaim(message) ? claimNew(message, queued, claiming) : null
    plan.queue.push(claim?.queued ?? queued)
    if (claim) {
      plan.attempts.push(claim.attempt)
      plan.claimed.push(claim.claimed)
    } else if (message.scheduled_at === null) plan.waiting.push(message)
  }
  return plan
}

/** A new message's row in the queue. It is due at the time of creation or at the scheduled time. */
export function queuedRow(message: MessageRow): NewQueueRow {
  return {
    message_id: message.id,
    workspace_id: message.workspace_id,
    channel: message.channel,
    task: 'send',
    due_at: message.scheduled_at ?? message.created_at,
    set_at: message.created_at,
    token: null,
    attempt: 0,
    is_bulk: message.bulk_id !== null,
    unknown_since: null,
    held_by: null,
  }
}

const NONE = {
  suppressed: new Set<string>(),
  interrupted: new Map<string, string>(),
  held: new Map<string, string>(),
}

/** Claims a new message as a claim of its queue row would; null if no provider can take the message now. */
function claimNew(message: MessageRow, queued: NewQueueRow, context: ClaimOfNew & ClaimContext) {
  const { claimed, lease, attempt } = claimOne(dueMessage(message, queued), context)
  if (attempt === null) return null
  const { now, lease_ms } = context
  const { token, attempt: number } = lease
  const due_at = new Date(now.getTime() + lease_ms)
  return { claimed, attempt, queued: { ...queued, token, attempt: number, due_at, set_at: now } }
}

function dueMessage(message: MessageRow, queued: MessageQueueRow): DueMessage {
  return {
    message_id: message.id,
    workspace_id: message.workspace_id,
    task: queued.task,
    token: queued.token,
    attempt: queued.attempt,
    unknown_since: queued.unknown_since,
    api_key_id: message.api_key_id,
    bulk_id: message.bulk_id,
    credits_used: message.credits_used,
    channel: message.channel,
    sender: message.sender,
    recipient: message.recipient,
    recipients: message.recipients,
    content: message.content,
    livemode: message.livemode,
    status: message.status,
    accepted: message.accepted,
    provider: message.provider,
    provider_message_id: message.provider_message_id,
    created_at: message.created_at,
    scheduled_at: message.scheduled_at,
    expires_at: message.expires_at,
    sent_at: message.sent_at,
  }
}

interface OneClaim {
  claimed: ClaimedMessage
  lease: ClaimPlan['leases'][number]
  /** The journalled attempt; null if no provider is called. */
  attempt: MessageAttemptRow | null
}

function claimOne(found: DueMessage, context: ClaimContext): OneClaim {
  const { now, token } = context
  const { message_id, workspace_id } = found
  const sendable = isSendable(found)
  const gone = sendable && hasWaited(found, now) ? suppressedAmong(found, context) : []
  const suppressed = gone.length > 0 && gone.length === dueAddresses(found).length
  const chosen = sendable && !suppressed ? context.route(found) : null
  const provider = chosen?.provider ?? null
  const number = provider === null ? found.attempt : found.attempt + 1
  const isReleased = suppressed || (chosen !== null && provider === null)
  const interrupted = found.token !== null
  const route = chosen ?? interruptedRoute(found, context)
  return {
    // Without a spread: Node 20 takes 20 µs for a literal that adds properties to this number of others.
    claimed: {
      message_id,
      workspace_id,
      task: found.task,
      token,
      attempt: number,
      unknown_since: found.unknown_since,
      api_key_id: found.api_key_id,
      bulk_id: found.bulk_id,
      credits_used: found.credits_used,
      channel: found.channel,
      sender: found.sender,
      recipient: found.recipient,
      recipients: found.recipients,
      content: found.content,
      livemode: found.livemode,
      status: found.status,
      accepted: found.accepted,
      provider: found.provider,
      provider_message_id: found.provider_message_id,
      created_at: found.created_at,
      scheduled_at: found.scheduled_at,
      expires_at: found.expires_at,
      sent_at: found.sent_at,
      interrupted,
      suppressed,
      left_out: suppressed ? [] : gone,
      route,
    },
    lease: { message_id, token: isReleased ? null : token, attempt: number },
    attempt: provider === null ? null : startedAttempt(found, number, provider, now),
  }
}

function startedAttempt(
  { workspace_id, message_id }: DueMessage,
  number: number,
  provider: string,
  now: Date,
): MessageAttemptRow {
  return {
    workspace_id,
    message_id,
    number,
    provider,
    outcome: 'started',
    provider_message_id: null,
    error_code: null,
    error_message: null,
    started_at: now,
    finished_at: null,
  }
}

function isSendable({ task, status, token }: DueMessage): boolean {
  return task === 'send' && status === 'queued' && token === null
}

/** The recipients who opted out, of those that still have no result. */
function suppressedAmong(message: DueMessage, { suppressed }: ClaimContext): string[] {
  const { workspace_id, channel } = message
  return dueAddresses(message).filter((recipient) => {
    const address = suppressedAddress({ channel, recipient })
    return suppressed.has(suppressionKey({ workspace_id, channel, address }))
  })
}

function dueAddresses({ recipient, recipients }: DueMessage): string[] {
  return recipients === null ? [recipient] : recipients.filter(isDue).map(({ address }) => address)
}

function interruptedRoute({ message_id }: DueMessage, { interrupted }: ClaimContext): Route | null {
  const provider = interrupted.get(message_id)
  return provider === undefined ? null : { provider, sender: null }
}

/** A message below this age counts as sent at once. Its recipient is not checked again. */
const SOON_MS = 60_000

/** The same for a message of a bulk: the recipients of the first ones opt out while the last ones wait. */
const SOON_OF_BULK_MS = 2_000

/**
 * Whether the recipient may have opted out since the message was accepted: it was scheduled or retried, or waited in a
 * backlog. False for test messages and for answers to STOP, which suppressed recipients get too.
 */
export function hasWaited(
  message: Pick<
    MessageRow,
    'scheduled_at' | 'created_at' | 'bulk_id' | 'api_key_id' | 'credits_used' | 'livemode'
  >,
  now: Date,
): boolean {
  const { scheduled_at, created_at, bulk_id, livemode } = message
  const soon_ms = bulk_id === null ? SOON_MS : SOON_OF_BULK_MS
  const isSoon = scheduled_at === null && now.getTime() - created_at.getTime() <= soon_ms
  return !isSoon && livemode && !isReply(message)
}
