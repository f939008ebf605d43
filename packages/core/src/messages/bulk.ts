import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Bulk } from '../contract/resources/bulk.ts'
import type { BulkRequest } from '../contract/resources/bulk-request.ts'
import type { BulkRow, MessageRow } from '../rows/rows.ts'
import type { Accepted } from '../runtime/tracing.ts'
import { type Answered, answerBefore } from './acceptance.ts'
import type { BulkParts } from './bulk-accept.ts'
import { acceptBulk, type BulkDraft, replay, type SentBulk } from './bulk-accept.ts'
import { againOf, canGoAgain } from './bulk-again.ts'
import { recipientsOf } from './bulk-recipients.ts'
import { scheduleOf } from './new-message.ts'
import { watchAccepts } from './watched-accept.ts'

/** Many messages of one request. */
export interface Bulks {
  /**
   * Accepts a message for each recipient. When this resolves, all of them and their one debit are on disk.
   * @throws SvcError `insufficient_credits` or `validation_error`; nothing is written then.
   */
  send(
    identity: KeyIdentity,
    request: BulkRequest,
    options?: { idempotency_key?: string | undefined },
  ): Promise<Answered<SentBulk>>
  /** @throws SvcError `not_found`, also for a bulk that the viewer does not see. */
  get(viewer: Viewer, bulkId: string): Promise<Bulk>
  /**
   * Fails what nobody has begun to send, as `canceled`, and gives its credits back.
   * @throws SvcError as `get`.
   */
  cancel(viewer: Viewer, bulkId: string): Promise<{ bulk: Bulk; canceled: number }>
  /**
   * Sends again, as a new bulk, each message that failed before a provider took it and was refunded. Not again: what was
   * canceled or erased, what a provider took and then failed to deliver, and what a provider may have
   * (`outcome_unknown`); those two were paid for. Each costs what its text costs now, in one debit for all; its text and metadata are those of the
   * first time, at once, and worth as long. Who is suppressed by now is left out. Each bulk is sent again once: whoever
   * asks again within 24 hours gets the same answer.
   * @throws SvcError as `get` and `send`; `validation_error` when there is nothing to send again, or not all of it was
   * tried yet.
   */
  retry(identity: KeyIdentity, bulkId: string): Promise<Answered<SentBulk>>
}

export function createBulks(parts: BulkParts): Bulks {
  const { storage, runtime, senders, sequences, onQueued } = parts
  const watched = watchAccepts(runtime.telemetry, parts.tracing)

  async function find(viewer: Viewer, bulkId: string): Promise<BulkRow> {
    const view = viewOf(viewer)
    const row = seen(view, await storage.read.bulks.byId(view.workspace_id, bulkId))
    if (!row) throw new SvcError('not_found', 'Bulk not found')
    return row
  }

  async function recordOf(row: BulkRow): Promise<Bulk> {
    const progress = await storage.read.bulks.progress(row.workspace_id, row.id)
    return { ...row, status: statusOf(row, progress.counts), ...progress }
  }

  async function before(
    identity: KeyIdentity,
    { key, ...of }: BulkDraft['answer'],
  ): Promise<Answered<SentBulk> | null> {
    const response = await answerBefore(storage, identity, key, of)
    return response === null ? null : replay(response)
  }

  async function accept(identity: KeyIdentity, draft: BulkDraft): Promise<Answered<SentBulk>> {
    const { channel, reached, refused, isStrict } = draft
    if (sequences && !(isStrict && refused.length > 0)) {
      await sequences.look(
        identity,
        channel,
        reached.map(({ to }) => to),
      )
    }
    const answered = await acceptBulk(parts, identity, draft)
    if (!answered.replayed) onQueued()
    return answered
  }

  /** @throws SvcError `validation_error` for a bulk that was sent again, or is not all tried. */
  async function assertRetryable(workspaceId: string, bulkId: string): Promise<void> {
    const later = await storage.read.bulks.retryOf(workspaceId, bulkId)
    if (later) throw invalid('id', `This bulk was sent again already, as bulk ${later.id}`)
    const { counts } = await storage.read.bulks.progress(workspaceId, bulkId)
    if (counts.queued > 0) {
      throw invalid(
        'id',
        'This bulk is not all sent yet: send again what failed once none is queued',
      )
    }
  }

  async function send(
    identity: KeyIdentity,
    request: BulkRequest,
    key: string | undefined,
  ): Promise<Answered<SentBulk>> {
    const answer = { route: 'bulks.send', request, key }
    const known = await before(identity, answer)
    if (known) return known
    const schedule = scheduleOf(request, runtime.now())
    const wrongSender = senders.fault(identity, request)
    if (wrongSender !== null) throw invalid('from', wrongSender)
    const sender = await senders.of(identity.workspace_id, request)
    const { reached, refused, duplicates } = await recipientsOf(parts, identity, request)
    return accept(identity, {
      channel: request.channel,
      total: request.recipients.length,
      reached,
      sendingOf: () => ({ schedule, sender }),
      refused,
      duplicates: duplicates.length,
      isStrict: request.validation === 'strict',
      answer,
      retry_of: null,
    })
  }

  async function retry(identity: KeyIdentity, row: BulkRow): Promise<Answered<SentBulk>> {
    const { workspace_id, mode } = identity
    const bulkId = row.id
    // Whoever heard no answer asks again: the bulk itself is the key.
    const answer = { route: 'bulks.retry', request: { bulk_id: bulkId }, key: bulkId }
    const known = await before(identity, answer)
    if (known) return known
    if (!row.livemode && mode === 'live') throw ofTestKey()
    await assertRetryable(workspace_id, bulkId)
    const failed = await storage.read.messages.ofBulk(workspace_id, bulkId, 'failed')
    const again = failed.filter(canGoAgain)
    if (again.length === 0) {
      throw nothingAgain(failed)
    }
    return accept(identity, {
      channel: row.channel,
      ...againOf(parts, again, runtime.now()),
      answer,
      retry_of: bulkId,
    })
  }

  return {
    send: (identity, request, { idempotency_key: key } = {}) =>
      watched(request.channel, () => send(identity, request, key), madeBy),
    get: async (viewer, bulkId) => recordOf(await find(viewer, bulkId)),
    async cancel(viewer, bulkId) {
      const row = await find(viewer, bulkId)
      const { workspace_id } = row
      const queued = await storage.read.messages.ofBulk(workspace_id, bulkId, 'queued')
      const outcomes = await storage.hot.cancel({
        workspace_id,
        message_ids: queued.map(({ id }) => id),
        at: runtime.now(),
      })
      onQueued()
      const canceled = outcomes.filter((outcome) => outcome === 'canceled').length
      return { bulk: await recordOf(row), canceled }
    },
    async retry(identity, bulkId) {
      const row = await find(identity, bulkId)
      return watched(row.channel, () => retry(identity, row), madeBy)
    },
  }
}

function madeBy({ bulk_id, messages }: SentBulk): Accepted {
  return { message_ids: messages.map(({ message_id }) => message_id), bulk_id }
}

function statusOf({ accepted }: BulkRow, { queued }: Bulk['counts']): Bulk['status'] {
  if (queued === 0) return 'completed'
  return queued === accepted ? 'queued' : 'processing'
}

function nothingAgain(failed: readonly Pick<MessageRow, 'erased_at'>[]): SvcError {
  return invalid(
    'id',
    failed.some(({ erased_at }) => erased_at !== null)
      ? 'This bulk cannot be sent again: whom its failed messages went to was erased'
      : 'This bulk has no failed messages to send again',
  )
}

function ofTestKey(): SvcError {
  return invalid('id', 'This bulk was sent with a test key: send it again with one')
}
